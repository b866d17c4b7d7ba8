// Wishes completed by what the ledger knows: the uuids of their nodes, and the names of files whose addresses do not contain them.
import { uuidOfKey } from '../../model/key.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { DatasetWish, ResourceSource, ResourceWish } from '../../model/wish.ts';
import { recipeOf } from '../../sources/gather/dataset-wish.ts';

/**
 * The wishes with the uuids that their nodes have: renamed and adopted nodes keep the one they were born with. A new item
 * under a key whose former node goes on under another one gets a uuid of its own, so that it never takes that node over.
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
