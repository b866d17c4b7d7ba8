// What the wishes no longer name: renamed, waiting out its grace, or to be taken down. Pure.

import { parentKey } from '../../model/key.ts';
import type { LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { OnMissing, RemovalMode } from '../../model/policy.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import { isSent } from './plan.ts';

/** What is to be done about a missing item. */
export interface Removal {
  key: string;
  kind: 'dataset' | 'resource';
  how: RemovalMode;
  entry: LedgerEntry;
}

/** An item that goes on under another key. */
export interface Rename {
  from: LedgerEntry;
  to: string;
}

/** How missing items are treated. */
export interface RemovalRules {
  onMissing: OnMissing;
  /** Milliseconds an item must have been missing. */
  missingForMs: number;
  now: number;
  /** True for items that are there in the source but faulty. */
  isSpared?: (key: string) => boolean;
}

/** What the comparison found. */
export interface Missing {
  renames: Rename[];
  /** Missing for the first time: the time is written down. */
  newlyMissing: LedgerEntry[];
  /** Wished again before they were taken down: the time is forgotten. */
  returned: LedgerEntry[];
  removals: Removal[];
}

/**
 * Compares the ledger with all wishes of a manifest (never with those of a limited run). An item whose uuid, or whose
 * content, stands under a new key is renamed, not missing. Resources of a missing dataset go with it.
 */
export const findMissing = (
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
  rules: RemovalRules,
): Missing => {
  const wished = new Map(wishes.flatMap((wish) => [wish, ...wish.resources]).map((wish) => [wish.key, wish.uuid]));
  const isThere = (key: string): boolean => wished.has(key) || (rules.isSpared?.(key) ?? false);
  const gone = [...entries.values()]
    .filter((entry) => entry.nid !== null && !isThere(entry.key) && entry.removed !== 'delete')
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const renames = findRenames(gone, wishes, entries, sources);
  const renamed = new Set(renames.map((rename) => rename.from.key));
  const missing = gone.filter((entry) => !renamed.has(entry.key) && !entry.removed);
  const due = missing.filter((entry) => rules.now - (entry.missingSince ?? rules.now) >= rules.missingForMs);
  const how = rules.onMissing;
  return {
    renames,
    newlyMissing: missing.filter((entry) => entry.missingSince === null),
    returned: [...entries.values()].filter((entry) => entry.missingSince !== null && isThere(entry.key)),
    removals: how === 'keep' ? [] : due.map((entry) => ({ key: entry.key, kind: entry.kind, how, entry })),
  };
};

/** The same uuid goes before the same content, so that no item takes the place that another one names as its own. */
const findRenames = (
  gone: LedgerEntry[],
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
): Rename[] => {
  const free = new Map(
    wishes
      .flatMap((wish) => [wish, ...wish.resources])
      .filter((wish) => !entries.get(wish.key)?.nid)
      .map((wish) => [wish.key, wish]),
  );
  const renames: Rename[] = [];
  const pair = (rule: (entry: LedgerEntry, wish: DatasetWish | ResourceWish) => boolean): void => {
    for (const entry of gone) {
      if (renames.some(({ from }) => from === entry)) continue;
      const match = [...free.values()].find((wish) => rule(entry, wish));
      if (!match) continue;
      free.delete(match.key);
      renames.push({ from: entry, to: match.key });
    }
  };
  pair((entry, wish) => wish.uuid === entry.uuid);
  pair((entry, wish) => parentKey(wish.key) === parentKey(entry.key) && hasContentOf(entry, wish, sources));
  return renames;
};

/** The same bytes, and the same made of them, under another id of the same dataset are the same resource. */
const hasContentOf = (
  entry: LedgerEntry,
  wish: DatasetWish | ResourceWish,
  sources: ReadonlyMap<string, SourceFingerprint | null>,
): boolean => {
  const source = sources.get(wish.key);
  return entry.kind === 'resource' && !!source && 'source' in wish && isSent(entry.file, source.sha256, wish);
};
