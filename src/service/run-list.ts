// Runs as lists show them: on the terminal, as JSON and on the pages.
import type { ItemFate } from '../model/ledger-entry.ts';
import { targetName } from '../model/redis-keys.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import type { Runtime } from './runtime.ts';
import { stateFault } from './state-watch.ts';

type Parts = Pick<Runtime, 'runs' | 'gate' | 'hasWorkers' | 'redis' | 'keys'>;

export type RunStatus = Awaited<ReturnType<typeof runStatus>>;

/** True while nobody works on the runs of a portal; a full Redis takes no signs of life either. */
export const isUnattended = async (parts: Parts, portal: string): Promise<boolean> =>
  !(await parts.hasWorkers([portal])) && (await stateFault(parts)) === null;

/** What a run does that nobody works on. */
export const waitsForWorker = 'waits for the next `sluice publish` or `sluice start`';

/** A run; `target` is '' where it is not known any more, `fates` null while it is open. */
export const runStatus = async (parts: Parts, runId: string) => {
  const [known, progress, summary] = await Promise.all([
    parts.runs.target(runId),
    parts.runs.progress(runId),
    parts.runs.summary(runId),
  ]);
  const target = known ?? (await parts.gate.find(runId))?.target; // of one that waits for the run before, only the gate knows
  const reason = summary ? summary.reason : await parts.runs.reason(runId);
  return {
    runId,
    target: target ? targetName(target) : '',
    ...progress,
    unattended: progress.state !== 'done' && (await isUnattended(parts, target?.portal ?? '')),
    fates: summary?.fates ?? null,
    reason,
    endedAt: summary && Date.parse(summary.endedAt),
  };
};

/** How a run went: in a word, with the tone of that, and as a bar of so many pixels. */
export const markWords = {
  fine: { word: 'fine', tone: 'good', bar: '', height: 12 },
  failed: { word: 'with failures', tone: 'bad', bar: 'bad', height: 28 },
  held: { word: 'held', tone: 'wait', bar: 'wait', height: 20 },
  cancelled: { word: 'cancelled', tone: 'wait', bar: 'wait', height: 8 },
  running: { word: 'running', tone: '', bar: 'now', height: 28 },
} as const;

export const markOf = ({ state, fates, reason }: RunStatus): keyof typeof markWords => {
  if (state !== 'done') return 'running';
  const has = (...some: ItemFate[]): boolean => some.some((fate) => fates?.[fate]);
  const isDecided = reason === null || reason.code === 'held' || reason.code === 'cancelled';
  if (!isDecided || has('failed', 'quarantined')) return 'failed';
  if (reason?.code === 'cancelled' || has('cancelled')) return 'cancelled';
  return reason !== null || has('held') ? 'held' : 'fine';
};

/** Runs that are read: the last days of a few hundred schedules. */
const mostRuns = 3000;

/** What reads the newest runs by the name of their target, newest first; ended ones are cached. */
export const runReader = (runtime: Parts): (() => Promise<Map<string, RunStatus[]>>) => {
  const ended = new BoundedMap<string, RunStatus>(2 * mostRuns);
  const read = async (runId: string): Promise<RunStatus> => {
    const run = ended.get(runId) ?? (await runStatus(runtime, runId));
    if (run.state === 'done') ended.set(runId, run);
    return run;
  };
  return async () => {
    const ids = await runtime.runs.latest(mostRuns);
    return Map.groupBy(await Promise.all(ids.map(read)), ({ target }) => target);
  };
};
