// What servers told of files whose addresses do not tell it: their names, and so what is made of them.

import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { DatasetWish, ResourceSource, ResourceWish } from '../../model/wish.ts';
import { recipeOf } from '../../sources/gather/recipe.ts';

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
  const recipe = wish.recipe ?? recipeOf({}, source, wish.import);
  return { ...wish, source, ...(recipe === null ? {} : { recipe }) };
};
