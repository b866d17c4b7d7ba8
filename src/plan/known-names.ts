// The file names that servers told, for addresses that do not tell them. Pure.
import type { LedgerEntry } from '../ledger/entry.ts';
import type { DatasetWish, ResourceWish } from '../wish.ts';

/** The wishes with the names that were found out when their addresses were fetched. */
export const withKnownNames = (wishes: DatasetWish[], entries: ReadonlyMap<string, LedgerEntry>): DatasetWish[] => {
  const named = (wish: ResourceWish): ResourceWish => {
    const { source } = wish;
    const known = entries.get(wish.key)?.fetched;
    if (source.kind !== 'url' || source.isNamed || known?.url !== source.url) return wish;
    return { ...wish, source: { ...source, name: known.name } };
  };
  return wishes.map((wish) => ({ ...wish, resources: wish.resources.map(named) }));
};
