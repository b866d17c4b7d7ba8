// The guard: a run that would touch more than allowed is held whole. Pure.
import type { GuardRules } from '../../sources/manifest/schema.ts';

/** What a run is about to do. */
export interface GuardedCounts {
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
    return `the source names nothing at all, where ${known} items are known: an empty source never removes anything`;
  }
  const mayRemove = Math.max(rules.min, Math.floor(known * rules.maxRemovals));
  if (removals > mayRemove) return `it would remove ${removals} of ${known} items, the guard allows ${mayRemove}`;
  if (rules.maxUpdates !== null) {
    const mayUpdate = Math.max(rules.min, Math.floor(known * rules.maxUpdates));
    if (updates > mayUpdate) return `it would update ${updates} of ${known} items, the guard allows ${mayUpdate}`;
  }
  return null;
};
