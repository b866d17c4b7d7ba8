// The plan of a whole manifest: every item, what is missing, the guard's verdict, totals. Pure.
import { createHash } from 'node:crypto';
import type { PlanFile } from '../../model/plan-file.ts';
import type { DatasetWish } from '../../model/wish.ts';
import type { Manifest } from '../../sources/manifest/schema.ts';
import { guardVerdict } from './guard.ts';
import { withKnownUuids } from './known-wishes.ts';
import { type Knowledge, type PlannedDataset, type PlannedItem, planDataset } from './plan.ts';
import { findMissing, type Missing } from './removals.ts';

/** A plan with everything it was made of. */
export interface WholePlan {
  /** The wishes with the uuids of their nodes; one for each of `datasets`. */
  wishes: DatasetWish[];
  datasets: PlannedDataset[];
  missing: Missing;
  /** Why the run would be held, or null. */
  held: string | null;
}

/** How a manifest is planned. */
export interface PlanOptions {
  /** True for a run of some wishes only: it says nothing about what is missing. */
  limited: boolean;
  /** Unix milliseconds. */
  now: number;
  /** Counts only these items before the guard; without it all. */
  counts?: (key: string) => boolean;
  /** True for items that are there in the source but faulty: they are not missing. */
  isSpared?: (key: string) => boolean;
}

/** Plans all wishes of a manifest. */
export const planManifest = (
  manifest: Pick<Manifest, 'onMissing' | 'missingForMs' | 'guard'>,
  wishes: DatasetWish[],
  known: Knowledge,
  options: PlanOptions,
): WholePlan => {
  const rules = { onMissing: manifest.onMissing, missingForMs: manifest.missingForMs, ...options };
  const none: Missing = { renames: [], newlyMissing: [], returned: [], removals: [] };
  const missing = options.limited ? none : findMissing(wishes, known.entries, known.sources, rules);
  const renamed = applyRenames(known, missing);
  const own = withKnownUuids(wishes, renamed.entries);
  const datasets = own.map((wish) => planDataset(wish, renamed));
  const isCounted = options.counts ?? (() => true);
  const counts = {
    known: [...known.entries.values()].filter((entry) => entry.nid !== null && !entry.removed).length,
    removals: missing.removals.filter(({ key }) => isCounted(key)).length,
    updates: flatten(datasets).filter((item) => isUpdate(item) && isCounted(item.key)).length,
    wished: wishes.length,
  };
  return { wishes: own, datasets, missing, held: guardVerdict(counts, manifest.guard) };
};

const isUpdate = (item: PlannedItem): boolean =>
  item.nid !== null && item.actions.some((action) => action !== 'verify' && action !== 'fetch');

/** What is known, as if the renames were written down already. */
export const applyRenames = (known: Knowledge, missing: Missing): Knowledge => {
  if (missing.renames.length === 0) return known;
  const [entries, sent] = [new Map(known.entries), new Map(known.sent)];
  for (const { from, to } of missing.renames) {
    entries.delete(from.key);
    entries.set(to, { ...from, key: to, missingSince: null });
    const before = sent.get(from.key);
    if (before) sent.set(to, before);
  }
  return { ...known, entries, sent };
};

/** Datasets and resources of a plan as one list. */
export const flatten = (datasets: PlannedDataset[]): PlannedItem[] =>
  datasets.flatMap(({ resources, ...dataset }) => [dataset, ...resources]);

/** sha256 over the metadata of all wishes and the bytes of all files. */
export const wishesHash = (items: Pick<PlannedItem, 'key' | 'metadata' | 'sha256'>[]): string => {
  const hash = createHash('sha256');
  for (const { key, metadata, sha256 } of items) hash.update(`${key} ${metadata ?? ''} ${sha256 ?? ''}\n`);
  return hash.digest('hex');
};

/** Items of the plan file: those of the wishes, then what is taken down. */
export const planFileItems = (plan: WholePlan): PlanFile['items'] => [
  ...flatten(plan.datasets).map((item) => ({ ...item, changes: item.changes.map((change) => ({ ...change })) })),
  ...plan.missing.removals.map(({ key, kind, how, entry }) => ({
    key,
    kind,
    title: entry.title,
    uuid: entry.uuid,
    nid: entry.nid,
    vid: entry.vid,
    actions: [how],
    why: 'the manifest no longer names it',
    bytes: 0,
    changes: [],
    metadata: null,
    sha256: null,
  })),
];

/** Totals of a plan: actions by name, bytes to send. */
export const planTotals = (items: PlanFile['items']): PlanFile['totals'] => {
  const actions: Record<string, number> = {};
  let bytes = 0;
  for (const item of items) {
    bytes += item.bytes;
    for (const action of item.actions.length > 0 ? item.actions : ['none'])
      actions[action] = (actions[action] ?? 0) + 1;
  }
  return { actions, bytes };
};
