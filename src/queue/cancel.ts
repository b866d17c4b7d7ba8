// Cancelled runs and paused portals: the mark that every worker sees, and the signals that end jobs after their step.
import type { Redis } from 'ioredis';
import { CancelledError } from '../model/errors.ts';
import { cancelledHint, GiveBack } from '../model/job.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { repeat } from '../util/concurrency.ts';
import type { PortalPauses } from './pause.ts';

/** How often marks are checked while jobs are running, milliseconds. */
const checkMs = 250;

/** The error of everything that a cancelled run leaves undone. */
export const cancelledError = (of: { runId: string; export?: object }): CancelledError =>
  new CancelledError(`run ${of.runId} was cancelled before this was done`, { hint: cancelledHint(of) });

interface WatchedJob {
  runId: string;
  portal: string;
  cancelled: AbortController;
  paused: AbortController;
}

/** Tells the jobs of this process when their run is cancelled, or when their portal is paused until a person acts. */
export const stopWatch = (redis: Redis, keys: RedisKeys, pauses: Pick<PortalPauses, 'state'>) => {
  const jobs = new Set<WatchedJob>();
  let endChecks: (() => Promise<void>) | null = null;
  let checkedAt = 0;

  const check = async (): Promise<void> => {
    checkedAt = Date.now();
    const cancelled = new Set(await redis.hkeys(keys.cancelled));
    for (const { runId, ...job } of jobs) if (cancelled.has(runId)) job.cancelled.abort(cancelledError({ runId }));
    for (const [portal, ofPortal] of Map.groupBy(jobs, (job) => job.portal)) {
      const pause = await pauses.state(portal);
      if (pause?.probe === null) for (const job of ofPortal) job.paused.abort(new GiveBack(pause.reason.message));
    }
  };

  return {
    /** A job begins: its signals abort once the run is cancelled or the portal is paused. To be followed by `leave`. */
    enter: async (of: { runId: string; portal: string }): Promise<WatchedJob> => {
      const job = { ...of, cancelled: new AbortController(), paused: new AbortController() };
      jobs.add(job);
      const failed = () => undefined; // the next one may succeed
      endChecks ??= repeat(checkMs, check, failed);
      if (Date.now() - checkedAt >= checkMs) await check().catch(failed);
      return job;
    },

    leave: (job: WatchedJob): void => {
      jobs.delete(job);
      if (jobs.size > 0) return;
      void endChecks?.();
      endChecks = null;
    },
  };
};
