// What a manifest no longer names and the portal still shows.

import { parentKey } from '../model/key.ts';
import type { IndexedEntry } from '../model/ledger-entry.ts';
import { plural } from '../util/plural.ts';

/** Keys that are listed; of more only their number is told. */
const shown = 5;

/** True for what its manifest no longer names although it is still on the portal. */
export const isLeftBehind = ({ nid, removed, missingSince }: IndexedEntry): boolean =>
  nid !== null && removed === null && missingSince !== null;

/** What became of the keys of a manifest, and the command that takes each down; a dataset stands for its resources. */
export const leftBehindLines = (keys: readonly string[], isWhole = false): string[] => {
  const all = new Set(keys);
  const listed = keys.filter((key) => !all.has(parentKey(key))).sort();
  if (listed.length === 0) return [];
  const named = isWhole ? listed : listed.slice(0, shown);
  return [
    `  no longer in the manifest, but still on the portal: ${plural(listed.length, 'item')}`,
    ...named.map((key) => `    ${key}  -> sluice remove ${key}`),
    ...(listed.length > named.length ? ['    …; `sluice status --all` lists the others'] : []),
  ];
};
