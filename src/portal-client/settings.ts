// What a portal client is told: settings and hooks; and what it learns of a portal: traits.
import { z } from 'zod';
import type { Vocabulary } from '../dataset-api/fields.ts';
import type { Log } from '../model/log.ts';
import { validMs } from './read-cache.ts';

/** Where a portal is, who logs in there, and how patient the client is. */
export interface PortalSettings {
  /** The slug the portal has in the configuration; it begins every error message. */
  name: string;
  /** Address of the portal, `http:` or `https:`, may have a base path (`https://host/sub`); no trailing slash needed. */
  url: string;
  username: string;
  password: string;
  /** Sent with every request instead of a login; null or absent: username and password log in. */
  token?: string | null;
  /** True: used without a login, so that only public content is seen. */
  isAnonymous?: boolean;
  dialect: 'auto' | Dialect;
  /** Most requests in flight at once, each on a connection of its own. */
  connections: number;
  /**
   * Milliseconds: `connectMs` for a connection, `headersMs` from the request to the reply's head, `bodyMs` more for
   * the reply body, `uploadMs` for a file upload and `importMs` (as long where absent) for a datastore import as a whole.
   */
  timeouts: { connectMs: number; headersMs: number; bodyMs: number; uploadMs: number; importMs?: number };
  terms: StatedTerms;
  /** How often a read is repeated after a transient failure; writes are never repeated here. */
  readRetries: number;
}

/** Kinds of requests: `probe` checks whether the portal answers at all. */
export type RequestKind = 'login' | 'read' | 'write' | 'upload' | 'import' | 'probe';

export interface PortalHooks {
  log: Log;
  /** Awaited before every request (the token bucket of requests per second). */
  takeToken?: (signal: AbortSignal) => Promise<void>;
  /** True where no job retries: a pause of up to a minute that the portal requests is then waited out. */
  isPatient?: () => boolean;
  /** Where ids of terms are remembered; in memory when absent. */
  terms?: TermStore;
  /** What was learned about the portal earlier, to save requests. */
  traits?: PortalTraits;
  /** Called with everything that is known whenever something was learned. */
  onTraits?: (traits: PortalTraits) => void;
  /** Called after every request; `status` null: there was no answer. */
  onRequest?: (kind: RequestKind, ms: number, status: number | null) => void;
}

/** Where ids are remembered, by `<vocabulary> <name>`: those of all terms of that name, the oldest first, separated by commas. */
export interface TermStore {
  read(): Promise<Readonly<Record<string, string>>>;
  write(terms: Readonly<Record<string, string>>): Promise<void>;
}

export interface StatedTerms {
  vocabularies: Partial<Record<Vocabulary, string>>;
  /** Term ids by name. */
  terms: Partial<Record<Vocabulary, Readonly<Record<string, string>>>>;
}

/** How a portal behaves where releases differ; remembered, so that each is detected once. Unknown keys are absent. */
export const traitsSchema = z.object({
  /** Size in bytes of the smallest file that was refused as too large; null after one of that size was taken. */
  tooLarge: z.number().int().nullable().exactOptional(),
  dialect: z.enum(['entity', 'form']).exactOptional(),
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

export type Traits = ReturnType<typeof traitsOf>;

/** Parts of the API that a portal may get, or was without for a moment only. */
const absent: PortalTraits = { datastore: false, counts: 'none', suggestions: false };

/**
 * What is known of a portal; `learnt` is called with all of it after each change. A part of the API that it has offered it owes;
 * one that it was without is looked for again, after five minutes and in each process.
 */
export const traitsOf = (remembered: PortalTraits, learnt: (traits: PortalTraits) => void) => {
  let known = remembered;
  const absentUntil = new Map<keyof PortalTraits, number>();
  return {
    /** Undefined where the portal has to be asked. */
    get: <K extends keyof PortalTraits>(name: K): PortalTraits[K] | undefined =>
      known[name] === absent[name] && performance.now() >= (absentUntil.get(name) ?? 0) ? undefined : known[name],

    /** What was learned last, however long ago. */
    last: <K extends keyof PortalTraits>(name: K): PortalTraits[K] => known[name],

    forget: (): void => {
      known = {};
      learnt(known);
    },

    learn: (changes: PortalTraits): void => {
      const entries = Object.entries(changes) as [keyof PortalTraits, unknown][];
      for (const [name] of entries) absentUntil.set(name, performance.now() + validMs);
      if (entries.every(([name, value]) => JSON.stringify(known[name]) === JSON.stringify(value))) return;
      known = { ...known, ...changes };
      learnt(known);
    },
  };
};
