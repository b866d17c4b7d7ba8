// Traits of a portal: how it behaves where releases differ. Remembered, so that each is detected once.
import { z } from 'zod';

/** Everything that is learned; unknown keys are absent. */
export const traitsSchema = z.object({
  /** Size in bytes of the smallest file that was refused as too large; null after one of that size was taken. */
  tooLarge: z.number().int().nullable().exactOptional(),
  dialect: z.enum(['entity', 'form']).exactOptional(),
  /** The portal has datastore endpoints. */
  datastore: z.boolean().exactOptional(),
  /** A table is imported as soon as its file is attached. */
  importsOnAttach: z.boolean().exactOptional(),
  /** How rows can be counted: several tables in one request, one by one, or not at all. */
  counts: z.enum(['many', 'one', 'none']).exactOptional(),
  /** The list of a dataset's resources is stored as sent, and the portal sets the other side of the references. */
  linksByList: z.boolean().exactOptional(),
  /** The autocomplete addresses of the portal's forms are there. */
  suggestions: z.boolean().exactOptional(),
  /** Ids of vocabularies in which terms were seen to be visible, by machine name. */
  vocabularies: z.record(z.string(), z.string()).exactOptional(),
});

export type PortalTraits = z.infer<typeof traitsSchema>;

/**
 * `entity` portals (DKAN 7.15.2 and later, and the embedded one) store bare structures as they come; `form` portals
 * (to 7.15.1) run create and update through the editing form (recorded behaviour 0, 8a, 10).
 */
export type Dialect = NonNullable<PortalTraits['dialect']>;

export class Traits {
  #known: PortalTraits;
  readonly #learnt: (traits: PortalTraits) => void;

  /** `learnt` is called with everything that is known after each change. */
  constructor(known: PortalTraits, learnt: (traits: PortalTraits) => void) {
    this.#known = known;
    this.#learnt = learnt;
  }

  get<K extends keyof PortalTraits>(name: K): PortalTraits[K] {
    return this.#known[name];
  }

  learn(changes: PortalTraits): void {
    const entries = Object.entries(changes) as [keyof PortalTraits, unknown][];
    if (entries.every(([name, value]) => JSON.stringify(this.#known[name]) === JSON.stringify(value))) return;
    this.#known = { ...this.#known, ...changes };
    this.#learnt(this.#known);
  }
}
