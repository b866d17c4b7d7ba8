// What a plan learns of held tables: what somebody decided about them, and which should have had something new by now.
import type { RunData } from '../../model/job.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { Reason } from '../../model/report.ts';
import type { ResourceWish } from '../../model/wish.ts';

/** An item of a held table as the ledger shall know it from now on; the same object where nothing changes. */
export const withDecision = (
  entry: LedgerEntry,
  { key, published, guard }: Pick<ResourceWish, 'key' | 'published' | 'guard'>,
  { decision }: Pick<RunData, 'decision'>,
  now: number,
): LedgerEntry =>
  withLateness(decision?.keys.includes(key) ? decided(entry, decision.how, published, now) : entry, guard, now);

const decided = (
  entry: LedgerEntry,
  how: NonNullable<RunData['decision']>['how'],
  published: boolean,
  now: number,
): LedgerEntry => {
  const { refused, version } = entry;
  if (refused?.guard === 'held') {
    return how === 'release'
      ? { ...entry, refused: { ...refused, guard: 'released' } }
      : { ...entry, refused: { ...refused, guard: 'discarded' }, live: published, stale: false, reason: null };
  }
  // Nothing new came: somebody says that this is right.
  if (isLate(entry) && version) return { ...entry, version: { ...version, confirmed: Math.floor(now / 1000) } };
  return entry;
};

/** True for an item that is live and whose guard misses something new. */
export const isLate = ({ live, reason }: Pick<LedgerEntry, 'live' | 'reason'>): boolean =>
  live && reason?.code === 'held';

const withLateness = (entry: LedgerEntry, guard: ResourceWish['guard'], now: number): LedgerEntry => {
  const { version, live, reason, key } = entry;
  const { sameMs } = guard ?? {};
  const newest = Math.max(version?.at ?? 0, version?.confirmed ?? 0) * 1000;
  const isOverdue = live && version !== null && sameMs !== undefined && now - newest > sameMs;
  if (!isOverdue) return isLate(entry) ? { ...entry, reason: null } : entry;
  const late: Reason = {
    code: 'held',
    message: `nothing new since ${new Date(newest).toISOString().slice(0, 10)} (\`same: ${durationOf(sameMs)}\`)`,
    hint: `look at the source; \`sluice release ${key}\` says that it is right`,
  };
  return reason?.message === late.message ? entry : { ...entry, reason: late };
};

const durationOf = (ms: number): string => {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
  ] as const;
  const [unit, size] = units.find(([, each]) => ms % each === 0) ?? (['ms', 1] as const);
  return `${ms / size}${unit}`;
};
