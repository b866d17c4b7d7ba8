// What a plan learns of held tables: what was decided about them, and which should have had something new by now.
import { HeldError, reasonOf } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { ReportItem } from '../../model/report.ts';
import type { TableGuard } from '../../model/table-history.ts';
import type { ResourceWish } from '../../model/wish.ts';
import type { RunWork } from '../../state/runs.ts';
import { isLate } from '../plan/plan.ts';
import type { HandlerDeps } from './deps.ts';
import { itemOfEntry } from './item.ts';

/** An item of a held table as the ledger shall know it from now on; the same object where nothing changes. */
export const withDecision = (
  entry: LedgerEntry,
  wish: Pick<ResourceWish, 'key' | 'published' | 'guard'>,
  { decision }: Pick<RunData, 'decision'>,
  now: number,
): LedgerEntry => {
  const known = decision?.keys.includes(wish.key) ? decided(entry, decision.how, wish.published, now) : entry;
  return withLateness(known, wish, now);
};

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
  // Nothing new came, and that was confirmed to be right.
  if (!isLate(entry) || !version) return entry;
  return { ...timely(entry, published), version: { ...version, confirmed: Math.floor(now / 1000) } };
};

const withLateness = (
  entry: LedgerEntry,
  { guard, published }: Pick<ResourceWish, 'guard' | 'published'>,
  now: number,
): LedgerEntry => {
  const { version, live, reason, key } = entry;
  const { sameMs } = guard ?? {};
  const newest = Math.max(version?.at ?? 0, version?.confirmed ?? 0) * 1000;
  const isKnown = isLate(entry);
  if (version === null || sameMs === undefined || now - newest <= sameMs)
    return isKnown ? timely(entry, published) : entry;
  const message = `nothing new since ${new Date(newest).toISOString().slice(0, 10)} (\`same: ${durationOf(sameMs)}\`)`;
  if (!(live || isKnown) || reason?.message === message) return entry;
  const late = reasonOf(
    new HeldError(message, { hint: `look at the source; \`sluice release ${key}\` says that nothing new is right` }),
  );
  return { ...entry, live: false, stale: true, reason: late };
};

const timely = (entry: LedgerEntry, published: boolean): LedgerEntry => ({
  ...entry,
  live: published,
  stale: false,
  reason: null,
});

/**
 * Of the published tables of a watched folder those that miss something new: what no file is there for is no wish, so the
 * defaults of the manifest say how long that may be.
 */
export const lateDrops = async (
  { ledger }: Pick<HandlerDeps, 'ledger'>,
  request: RunData,
  { guard, wished }: { guard: TableGuard | null; wished: ReadonlySet<string> },
): Promise<RunWork> => {
  const settled: ReportItem[] = [];
  const work = { datasets: [], resources: [], settled, claims: [] };
  if (guard?.sameMs === undefined) return work;
  for (const entry of (await ledger.entries(request)).values()) {
    if (wished.has(entry.key) || (request.only && !request.only.includes(entry.key))) continue;
    const learned = withDecision(entry, { key: entry.key, published: true, guard }, request, Date.now());
    if (learned !== entry) await ledger.put(request.portal, learned);
    if (isLate(learned) || learned !== entry)
      settled.push(itemOfEntry(learned, { outcome: learned.reason ? 'held' : 'unchanged', reason: learned.reason }));
  }
  return work;
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
