// The newest runs in brief, without their reports.
import { type Target, targetName } from '../model/redis-keys.ts';
import type { ItemFate, RunSummary } from '../state/run-summary.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import type { Runtime } from './runtime.ts';

/** A run in brief. */
export interface RunBrief {
  runId: string;
  target: Target;
  state: 'running' | 'done';
  /** Unix milliseconds. */
  startedAt: number;
  /** Null while it is open, and where an earlier version closed it. */
  endedAt: number | null;
  fates: RunSummary['fates'];
  /** Code of the reason for which the run as a whole failed or was held. */
  code: string | null;
}

/** How a run went as a whole. */
type RunMark = 'fine' | 'failed' | 'held' | 'running';

/** See {@link RunMark}. */
export const markOf = ({ state, fates, code }: RunBrief): RunMark => {
  if (state === 'running') return 'running';
  const bad: ItemFate[] = ['failed', 'quarantined'];
  if ((code !== null && code !== 'held' && code !== 'cancelled') || bad.some((fate) => fates[fate])) return 'failed';
  return code !== null || fates.held || fates.cancelled ? 'held' : 'fine';
};

/** Runs that are checked: those of a few hundred schedules in the last days. */
const mostRuns = 3000;

/** Reads runs; what has ended stays known. */
export class RunList {
  readonly #runtime: Pick<Runtime, 'runs'>;
  readonly #ended = new BoundedMap<string, RunBrief>(2 * mostRuns);

  constructor(runtime: Pick<Runtime, 'runs'>) {
    this.#runtime = runtime;
  }

  /** The newest runs by the name of their target, newest first. */
  async byTarget(): Promise<Map<string, RunBrief[]>> {
    const ids = await this.#runtime.runs.latest(mostRuns);
    const briefs = await Promise.all(ids.map((runId) => this.#ended.get(runId) ?? this.#read(runId)));
    return Map.groupBy(
      briefs.filter((brief) => brief !== null),
      ({ target }) => targetName(target),
    );
  }

  async #read(runId: string): Promise<RunBrief | null> {
    const { runs } = this.#runtime;
    const [target, progress, summary, reason] = await Promise.all([
      runs.target(runId),
      runs.progress(runId),
      runs.summary(runId),
      runs.reason(runId),
    ]);
    if (target === null) return null;
    const state = progress.state === 'done' ? 'done' : 'running';
    const brief: RunBrief = {
      runId,
      target,
      state,
      startedAt: progress.startedAt ?? 0,
      endedAt: summary === null ? null : Date.parse(summary.endedAt),
      fates: summary?.fates ?? (progress.failed > 0 ? { failed: progress.failed } : {}),
      code: reason?.code ?? null,
    };
    if (state === 'done') this.#ended.set(runId, brief);
    return brief;
  }
}
