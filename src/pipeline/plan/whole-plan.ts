// Helpers of all plans: wishes completed from the ledger; items as a list, in a plan file, and counted. Pure.
import { createHash } from 'node:crypto';
import { uuidOfKey } from '../../model/key.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { PlanFile } from '../../model/plan-file.ts';
import type { DatasetWish, ResourceSource, ResourceWish } from '../../model/wish.ts';
import { recipeOf } from '../../sources/gather/dataset-wish.ts';
import type { Removal } from './missing.ts';
import type { PlannedDataset, PlannedItem } from './plan.ts';

/** Datasets and resources of a plan as one list. */
export const flatten = (datasets: PlannedDataset[]): PlannedItem[] =>
  datasets.flatMap(({ resources, ...dataset }) => [dataset, ...resources]);

/** Items of the plan file: those of the wishes, then what is taken down. */
export const planFileItems = (datasets: PlannedDataset[], removals: readonly Removal[]): PlanFile['items'] => [
  ...flatten(datasets).map((item) => ({ ...item, changes: item.changes.map((change) => ({ ...change })) })),
  ...removals.map(({ key, kind, how, entry }) => ({
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

/** Totals of a plan whose items come in parts: actions by name, bytes to send, and a hash over what is wanted. */
export class PlanTotals {
  readonly totals: PlanFile['totals'] = { actions: {}, bytes: 0 };
  items = 0;
  readonly #wishes = createHash('sha256');

  /** Counts a part. */
  add(items: PlanFile['items']): void {
    const { actions } = this.totals;
    this.items += items.length;
    for (const item of items) {
      this.totals.bytes += item.bytes;
      for (const action of item.actions.length > 0 ? item.actions : ['none'])
        actions[action] = (actions[action] ?? 0) + 1;
      if (item.metadata !== null) this.#wishes.update(`${item.key} ${item.metadata} ${item.sha256 ?? ''}\n`);
    }
  }

  /** sha256 over the metadata of all wishes and the bytes of all files; nothing can be added after it. */
  hash(): string {
    return this.#wishes.digest('hex');
  }
}

/**
 * The wishes with the uuids that their nodes have: renamed and adopted nodes keep the one they were born with. A new item
 * under a key whose former node continues under another one gets a uuid of its own, so that it never takes that node over.
 * `owners` are the keys of all nodes of the target by uuid, see {@link ownersOf}.
 */
export const withKnownUuids = (
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  owners: ReadonlyMap<string, string>,
): DatasetWish[] => {
  const uuidOf = (wish: { key: string; uuid: string }): string => {
    const entry = entries.get(wish.key);
    if (entry?.nid) return entry.uuid;
    const owner = owners.get(wish.uuid);
    return owner === undefined || owner === wish.key ? wish.uuid : uuidOfKey(`${wish.key}#beside#${owner}`);
  };
  return wishes.map((wish) => ({
    ...wish,
    uuid: uuidOf(wish),
    resources: wish.resources.map((resource) => ({ ...resource, uuid: uuidOf(resource) })),
  }));
};

/** The wishes with the names that were found out when their addresses were fetched. */
export const withKnownNames = (wishes: DatasetWish[], entries: ReadonlyMap<string, LedgerEntry>): DatasetWish[] => {
  const named = (wish: ResourceWish): ResourceWish => {
    const { source } = wish;
    const known = entries.get(wish.key)?.fetched;
    if (source.kind !== 'url' || source.isNamed || known?.url !== source.url) return wish;
    return withSource(wish, { ...source, name: known.name });
  };
  return wishes.map((wish) => ({ ...wish, resources: wish.resources.map(named) }));
};

/** The wish with the source that was found out. A name such as `.xlsx` may say that a table is to be made of it. */
export const withSource = (wish: ResourceWish, source: ResourceSource): ResourceWish => {
  const recipe = wish.recipe ?? recipeOf(wish.reading ?? {}, source, wish.import);
  return { ...wish, source, ...(recipe === null ? {} : { recipe }) };
};

/** Keys of all entries that have a node, by uuid. */
export const ownersOf = (entries: Iterable<Pick<LedgerEntry, 'key' | 'uuid' | 'nid'>>): Map<string, string> => {
  const owners = new Map<string, string>();
  for (const { key, uuid, nid } of entries) if (nid !== null) owners.set(uuid, key);
  return owners;
};
