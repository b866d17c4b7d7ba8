// What the ledger knows of an item, how the item stands by that, and what became of it in a run; with the words for both.
import { z } from 'zod';
import { tally } from '../util/plural.ts';
import type { ErrorCode } from './errors.ts';
import { itemKinds, kindOfKey } from './key.ts';
import { removalModes } from './policy.ts';
import { type Reason, type ReportItem, reasonSchema, reasonText, rejectedRowsSchema } from './report.ts';
import { liveVersionSchema, rowChangesSchema } from './table-history.ts';
import { nodeFieldsSchema } from './wish.ts';

/** Identity of a local file as last read: equal facts mean equal bytes, see `sources/drop/fingerprint.ts`. */
export const sourceFingerprintSchema = z.object({
  bytes: z.number().int(),
  sha256: z.string(),
  /** Stat facts as decimal strings of nanoseconds, to skip the hash of an untouched file. */
  mtimeNs: z.string(),
  ctimeNs: z.string(),
  ino: z.string(),
  hashedAt: z.number().int(),
  /** What the bytes are, as `dataset-api/file-types.ts` tells; absent where it cannot. */
  kind: z.string().exactOptional(),
});

export type SourceFingerprint = z.infer<typeof sourceFingerprintSchema>;

const portalFileSchema = z.object({
  fid: z.string(),
  name: z.string(),
  bytes: z.number().int(),
  sha256: z.string(),
  /** Of a table that was made: the bytes it was made of, and by which recipe. Absent where the source went as it is. */
  from: z.object({ sha256: z.string(), recipe: z.string() }).exactOptional(),
});

export type PortalFile = z.infer<typeof portalFileSchema>;

/** A file whose rows were proven in the datastore. */
export const goodFileSchema = portalFileSchema.extend({
  rows: z.number().int().nullable(),
  /** What separates its columns; null where it was never read. */
  delimiter: z.string().nullable(),
});

export type GoodFile = z.infer<typeof goodFileSchema>;

/** A file that a portal refused or could not import, or that the guard of its table held. */
const refusedFileSchema = z.object({
  /** sha256 of the source, and fingerprint of what was wanted of it (`importFingerprint`, `guardFingerprint`): the same is not tried again. */
  sha256: z.string(),
  importFingerprint: z.string(),
  /** What separates its columns, as it may have been set on the portal. */
  delimiter: z.string().nullable(),
  /** True once the good file is attached and imported in its place, or where there is none: nothing else is to be done. */
  isReplaced: z.boolean(),
  reason: reasonSchema,
  /** Size of a file that exceeded a limit of the portal: it is sent again where that limit is higher, or not known any more. */
  bytes: z.number().int().exactOptional(),
  /** Of a held table: what was decided. Absent where the portal could not import it. */
  guard: z.enum(['held', 'released', 'discarded']).exactOptional(),
});

const fetchedFromSchema = z.object({
  url: z.string(),
  /** The validators its server gave for the version that was fetched, to ask for another one only; see `fetch/policy.ts`. */
  etag: z.string().nullable(),
  lastModified: z.string().nullable(),
  finalUrl: z.string(),
  name: z.string(),
});

export type FetchedFrom = z.infer<typeof fetchedFromSchema>;

/** A write whose effect is not known yet; recorded before its request is sent. */
const pendingSchema = z.object({
  what: z.enum(['create', 'update', 'attach', 'import']),
  /**
   * What was true before. Of a create the highest node id ("0" on an empty portal), null where lists show the node by its uuid;
   * of an attach the id of the former file, null where there was none.
   */
  before: z.string().nullable(),
  /** What tells this write from others of the same wish: in the revision log of a node; of a file, its sha256. */
  nonce: z.string(),
  at: z.number().int(),
});

export type Pending = z.infer<typeof pendingSchema>;

export const ledgerEntrySchema = z.object({
  key: z.string(),
  kind: z.enum(itemKinds),
  uuid: z.string(),
  /** Node id; null while the node was never created. */
  nid: z.string().nullable().default(null),
  /** Revision after our last write or look. */
  vid: z.string().nullable().default(null),
  /** When the portal says that the node was changed last, Unix seconds, as of our last look; null where unknown. */
  changed: z.string().nullable().default(null),
  url: z.string().nullable().default(null),
  title: z.string(),
  /** Name of the dataset at its source, such as the identifier in a catalogue, and another one that it has there. */
  identifier: z.string().nullable().default(null),
  alias: z.string().nullable().default(null),
  /** Names of the node fields we sent last, so that one that leaves the wish is emptied. */
  fieldNames: z.array(z.string()).default([]),
  /** Fingerprint of the metadata that the portal was last seen to hold; null while unverified. */
  metadataFingerprint: z.string().nullable().default(null),
  /** What the proven node held beside what was sent (`baselineOf`), to see edits of it; null where it was never looked at. */
  baseline: z.record(z.string(), z.string()).nullable().default(null),
  /** What the portal made of fields that it does not hold as sent, by field name: a known difference, reported as a warning. */
  notHeld: z.record(z.string(), z.string()).default({}),
  /** Of a dataset: node ids of its resources, in order, as its list was last proven to hold them; null where it was not. */
  links: z.array(z.string()).nullable().default(null),
  source: sourceFingerprintSchema.nullable().default(null),
  /** Absolute path of the local file, as last read; the address of a fetched one. */
  sourcePath: z.string().nullable().default(null),
  /** The address that `source` was fetched from; null for a local file. */
  fetched: fetchedFromSchema.nullable().default(null),
  file: portalFileSchema.nullable().default(null),
  /** Rows that were left out of the table as bad, and the file they are in on the host that made it; null where none were. */
  rejected: rejectedRowsSchema.nullable().default(null),
  /** Fixes made in the file before it was sent, one line each. */
  fixes: z.array(z.string()).default([]),
  /** What of the source may be missing in what was sent, one line each. */
  doubts: z.array(z.string()).default([]),
  /** `pending`: a file was attached whose import is not proven yet. */
  datastore: z.enum(['none', 'imported', 'pending', 'failed']).default('none'),
  /** True where the datastore is known to hold no rows of another file than the attached one. */
  rowsAreOwn: z.boolean().default(false),
  /** Data rows (without the header) that were imported, null where nothing is imported. */
  rows: z.number().int().nullable().default(null),
  /** Rows of the file that the importer of the portal is known to drop; 0 for none. */
  rowsDropped: z.number().int().default(0),
  /** True while the current wish is verified on the portal. */
  live: z.boolean().default(false),
  /** True while the portal still serves an older version. */
  stale: z.boolean().default(false),
  reason: reasonSchema.nullable().default(null),
  removed: z.enum(removalModes).nullable().default(null),
  /** When it was first missing from the wishes, Unix milliseconds. */
  missingSince: z.number().int().nullable().default(null),
  /** The last file whose rows were proven in the datastore: what the item falls back on. Null where there was none. */
  good: goodFileSchema.nullable().default(null),
  /** A file that the portal could not import, or a held one; the good one takes or keeps its place. */
  refused: refusedFileSchema.nullable().default(null),
  /** The version of a table that was proven last, to compare the next one with; null for what is not a table. */
  version: liveVersionSchema.nullable().default(null),
  /** What changed in the last version of the table, be it live or held; null where that is not known. */
  changes: rowChangesSchema.nullable().default(null),
  pending: pendingSchema.nullable().default(null),
  runId: z.string().default(''),
  /** Unix milliseconds of the last change of this entry. */
  syncedAt: z.number().int().default(0),
});

export type LedgerEntry = z.infer<typeof ledgerEntrySchema>;

/** What a plan needs to know of every entry, also of those that it does not touch. */
export const indexedEntrySchema = ledgerEntrySchema.pick({
  key: true,
  identifier: true,
  alias: true,
  uuid: true,
  nid: true,
  live: true,
  removed: true,
  missingSince: true,
  reason: true,
  pending: true,
  syncedAt: true,
});

export type IndexedEntry = z.infer<typeof indexedEntrySchema>;

/** What we sent last for a node, to find changes field by field, and edits of others. */
export const sentNodeSchema = z.object({
  title: z.string(),
  published: z.boolean(),
  fields: nodeFieldsSchema,
  /** Fields that the last write left as others had edited them. */
  kept: z.array(z.string()).optional(),
});

export type SentNode = z.infer<typeof sentNodeSchema>;

export const newEntry = (of: z.input<typeof ledgerEntrySchema>): LedgerEntry => ledgerEntrySchema.parse(of);

type Warned = Pick<LedgerEntry, 'notHeld' | 'rows' | 'rowsDropped' | 'refused' | 'doubts'>;

/** Differences between what is live and what was wanted, as far as the ledger knows. */
export const warningsOf = ({ notHeld, rows, rowsDropped, refused, doubts }: Warned): string[] => [
  ...doubts,
  ...Object.entries(notHeld).map(([field, got]) => `the portal does not hold ${field} as sent: it holds ${got}`),
  ...(rowsDropped > 0 && rows !== null
    ? [
        `${rows} of ${rows + rowsDropped} rows: the importer of this portal drops rows that end in the same 32 bytes as every 1,000th one; rows of at least 32 bytes are kept`,
      ]
    : []),
  ...(refused?.guard === 'discarded' ? [`a newer version was discarded: ${refused.reason.message}`] : []),
];

/** Codes of what is held back until a person decides, and by what it is held. */
export const heldBy = {
  held: 'its guard',
  drift: 'an edit on the portal',
  'plan-moved': 'a change since it was planned',
} as const satisfies Partial<Record<ErrorCode, string>>;

export const isHeldBack = (code: string): code is keyof typeof heldBy => Object.hasOwn(heldBy, code);

const passing: ReadonlySet<string> = new Set<ErrorCode>([
  'machine-busy',
  'state-full',
  'portal-unreachable',
  'portal-session',
  'portal-login',
  'portal-reply',
  'portal-not-api',
  'import-timeout',
  'job-lost',
  'jobs-stuck',
  'cancelled',
  'interrupted',
]);

/** True for what is not the fault of a dropped file: it stays in the spool, for a later run or a decision. */
export const isPassing = ({ code }: Reason): boolean => passing.has(code) || isHeldBack(code);

/** How a failure is reported: faults of the file itself are quarantined, most others failed. */
export const outcomeOf = ({ code }: Pick<Reason, 'code'>): 'cancelled' | 'held' | 'quarantined' | 'failed' => {
  if (code === 'cancelled') return 'cancelled';
  if (isHeldBack(code)) return 'held';
  return code.startsWith('table-') || code === 'source-refused' || code === 'entry-fault' ? 'quarantined' : 'failed';
};

/** False where only another file helps: a faulty one that was dropped is set aside. */
export const canRetry = ({ file, code }: Reason): boolean => file === undefined && code !== 'held';

/** How an item or job ended for a reason, for its log: `failed for good: table-ragged: …`, `held by its guard: …`. */
export const endText = (reason: Reason): string => {
  const outcome = outcomeOf(reason);
  const text = reasonText(reason);
  return outcome === 'held' || outcome === 'cancelled' ? text : `failed for good: ${text}`;
};

/** States of items in the order of lists: word, tone and meaning on the pages. */
export const stateWords = {
  live: ['live', 'good', 'Published, and verified on the portal.'],
  quarantined: ['quarantined', 'bad', 'Not live.'],
  failed: ['failed', 'bad', 'Not live.'],
  held: ['held', 'wait', 'Not live.'],
  cancelled: ['cancelled', 'wait', 'Not live.'],
  draft: ['draft', '', 'On the portal, but not published.'],
  removed: ['removed', '', 'Removed from the portal.'],
  pending: ['pending', '', 'No run has processed it yet.'],
} as const;

export type ItemState = keyof typeof stateWords;

/** True for a table that a guard holds, or whose new data is overdue; it may be live. */
export const isGuarded = ({ key, reason }: Pick<IndexedEntry, 'key' | 'reason'>): boolean =>
  reason?.code === 'held' && kindOfKey(key) === 'resource';

export const itemStateOf = (entry: IndexedEntry): ItemState => {
  const { live, removed, reason, nid } = entry;
  if (isGuarded(entry)) return 'held';
  if (live) return 'live';
  if (removed !== null) return 'removed';
  if (reason !== null) return outcomeOf(reason);
  return nid === null ? 'pending' : 'draft';
};

export const itemFates = [
  'new',
  'adopted',
  'updated',
  'removed',
  'unchanged',
  'failed',
  'quarantined',
  'held',
  'cancelled',
] as const;

export type ItemFate = (typeof itemFates)[number];

type Fates = Partial<Record<ItemFate, number>> | null;

/** What became of the items: `12 new, 3 failed`. */
export const fatesText = ({ fates, failed = 0 }: { fates: Fates; failed?: number }): string => {
  const known: NonNullable<Fates> = fates ?? { failed };
  return tally(Object.fromEntries(itemFates.map((fate) => [fate, known[fate] ?? 0])));
};

const removals: ReadonlySet<string> = new Set(['orphaned', 'unpublished', 'deleted']);

export const fateOf = ({ outcome, actions }: Pick<ReportItem, 'outcome' | 'actions'>): ItemFate => {
  if (outcome !== 'done') return outcome;
  if (actions.some((action) => removals.has(action))) return 'removed';
  if (actions.includes('created')) return 'new';
  if (actions.includes('adopted')) return 'adopted';
  return actions.length > 0 ? 'updated' : 'unchanged';
};
