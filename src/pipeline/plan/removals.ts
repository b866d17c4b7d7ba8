// Items that the manifest no longer names: renamed, in their grace period, or due for removal; and the guard of whole
// runs. Pure.
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { OnMissing, RemovalMode } from '../../model/policy.ts';
import type { DatasetWish } from '../../model/wish.ts';
import type { Sparing } from '../../sources/gather/dataset-wish.ts';
import type { GuardRules } from '../../sources/manifest/schema.ts';
import { findRenames, type KnownItems, type Rename } from './renames.ts';

/** What is to be done about a missing item. */
export interface Removal {
  key: string;
  kind: 'dataset' | 'resource';
  how: RemovalMode;
  entry: LedgerEntry;
}

/** How missing items are treated. */
export interface RemovalRules {
  onMissing: OnMissing;
  /** Milliseconds an item must have been missing. */
  missingForMs: number;
  now: number;
  /** Whether an item is there in the source but faulty. */
  spares?: Sparing;
}

/** What the comparison found. */
export interface Missing {
  renames: Rename[];
  /** Missing for the first time: the time is written down. */
  newlyMissing: LedgerEntry[];
  /** Wished again before they were taken down: the time is forgotten. */
  returned: LedgerEntry[];
  removals: Removal[];
  /** Keys of what stays on the portal all the same. */
  staying: string[];
}

/**
 * Compares the ledger with all wishes of a manifest (never with those of a limited run). An item whose uuid, content or
 * address is under a new key is renamed, not missing. Resources of a missing dataset go with it.
 */
export const findMissing = (wishes: DatasetWish[], known: KnownItems, rules: RemovalRules): Missing => {
  const { spares = () => 'none', now, missingForMs, onMissing: how } = rules;
  const entries = [...known.entries.values()];
  const wished = new Set(wishes.flatMap((wish) => [wish, ...wish.resources]).map(({ key }) => key));
  const gone = entries
    .filter(({ key, nid, removed }) => nid !== null && removed !== 'delete' && !wished.has(key))
    .filter(({ key }) => spares(key) !== 'certain')
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const renames = findRenames(gone, wishes, known);
  const renamed = new Set(renames.map(({ from }) => from.key));
  const isThere = (key: string): boolean => wished.has(key) || spares(key) !== 'none';
  const missing = gone.filter(({ key, removed }) => !renamed.has(key) && !removed && !isThere(key));
  const due = missing.filter(({ missingSince }) => now - (missingSince ?? now) >= missingForMs);
  const removals = how === 'keep' ? [] : due.map((entry) => ({ key: entry.key, kind: entry.kind, how, entry }));
  const removed = new Set(removals.map(({ key }) => key));
  return {
    renames,
    newlyMissing: missing.filter(({ missingSince }) => missingSince === null),
    returned: entries.filter(({ key, missingSince }) => missingSince !== null && isThere(key)),
    removals,
    staying: missing.flatMap(({ key }) => (removed.has(key) ? [] : [key])),
  };
};

/** What a run is about to do. */
interface GuardedCounts {
  known: number;
  removals: number;
  updates: number;
  /** Wishes gathered; none at all never removes anything. */
  wished: number;
}

/** Why the run must be held, or null when it may go. */
export const guardVerdict = (counts: GuardedCounts, rules: GuardRules): string | null => {
  const { known, removals, updates, wished } = counts;
  if (removals > 0 && wished === 0) {
    return `the source is empty, but ${known} items are known: an empty source never removes anything`;
  }
  const mayRemove = Math.max(rules.min, Math.floor(known * rules.maxRemovals));
  if (removals > mayRemove) return `it would remove ${removals} of ${known} items, the guard allows ${mayRemove}`;
  if (rules.maxUpdates !== null) {
    const mayUpdate = Math.max(rules.min, Math.floor(known * rules.maxUpdates));
    if (updates > mayUpdate) return `it would update ${updates} of ${known} items, the guard allows ${mayUpdate}`;
  }
  return null;
};
