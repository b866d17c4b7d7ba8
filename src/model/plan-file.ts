// The plan file: what `sluice plan -o` writes, people review and `sluice apply` does.
import { z } from 'zod';
import { itemKinds } from './key.ts';
import { removalModes } from './policy.ts';
import { reasonSchema } from './report.ts';
import { rowChangesSchema } from './table-history.ts';

/** What a plan can ask of an item. `fetch` fetches a file and sends it if it has changed; `verify` only reads. */
const plannedActions = ['create', 'update', 'fetch', 'attach', 'import', 'verify', ...removalModes] as const;

export type PlannedAction = (typeof plannedActions)[number];

const planFileItemSchema = z.object({
  key: z.string(),
  kind: z.enum(itemKinds),
  title: z.string(),
  uuid: z.string(),
  /** Node and revision the plan was made for; null where there is none yet. */
  nid: z.string().nullable(),
  vid: z.string().nullable(),
  actions: z.array(z.enum(plannedActions)),
  why: z.string().nullable(),
  bytes: z.number().int(),
  /** Of updates, field by field; null stands for "nothing", and `from` is absent where it is not known what was sent before. */
  changes: z.array(z.object({ field: z.string(), from: z.unknown().optional(), to: z.unknown().optional() })),
  /** Of a table whose local file changed: its rows, where those before are known here. */
  rows: rowChangesSchema.exactOptional(),
  metadata: z.string().nullable(),
  sha256: z.string().nullable(),
  /** Version of a fetched file by its server, where the plan was made for one. */
  version: z.string().exactOptional(),
});

export type PlanFileItem = z.infer<typeof planFileItemSchema>;

/** A plan as `sluice plan -o` writes it and `sluice apply` takes it. */
export const planFileSchema = z.object({
  sluicePlan: z.literal(1),
  manifest: z.string(),
  manifestPath: z.string(),
  portal: z.string(),
  madeAt: z.string(),
  /** True when the portal's own listing was checked. */
  refreshed: z.boolean(),
  contents: z.string(),
  held: z.string().nullable(),
  /** True: when one item has moved, nothing of the plan is done. */
  strict: z.boolean().optional(),
  totals: z.object({ actions: z.record(z.string(), z.number()), bytes: z.number().int() }),
  items: z.array(planFileItemSchema),
  skipped: z.array(z.object({ key: z.string(), title: z.string(), reason: reasonSchema })).exactOptional(),
  /** Keys that the source does not name any more and that stay on the portal. */
  staying: z.array(z.string()).exactOptional(),
  /** What is not published as the source has it. */
  remarks: z.array(z.string()).exactOptional(),
});

export type PlanFile = z.infer<typeof planFileSchema>;
