// Work that can only go on later, as after a `Retry-After`. Apart from the queues, because commands that wait load it first.
import type { Job, Queue } from 'bullmq';
import { machineFault, StateFullError } from '../model/errors.ts';
import type { Queues } from './queues.ts';

/** Nothing is done before `until` (Unix milliseconds); `why` is what the last attempt met, '' when it is not known. */
export interface Standstill {
  until: number;
  why: string;
}

/** The standstill of a run on its portal; null while something of it can be done. A paused portal has a reason of its own. */
export const standstillOf = async (
  queues: Queues,
  { runId, portal }: { runId: string; portal: string },
): Promise<Standstill | null> => {
  const run = await queues.runs.getJob(runId);
  if (run && (await run.isDelayed())) return nextOf(queues, queues.runs, run);
  const queue = queues.portal(portal);
  const { delayed = 0, ...others } = await queue.getJobCounts('active', 'waiting', 'prioritized', 'delayed');
  if (delayed === 0 || Object.values(others).some((count) => count > 0)) return null;
  const [next] = await queue.getDelayed(0, 0);
  return next ? nextOf(queues, queue, next) : null;
};

/** With what to do about a full Redis or disk: these do not end by themselves. */
const whyOf = (failure: string): string => {
  const fault = machineFault(new Error(failure));
  return fault instanceof StateFullError ? `${failure} -> ${fault.hint}` : failure;
};

const nextOf = async ({ connection }: Queues, queue: Queue, job: Job): Promise<Standstill | null> => {
  const score = await connection.zscore(queue.toKey('delayed'), job.id ?? '');
  // The engine keeps milliseconds times 4096, which leaves room for an order within one of them.
  return score === null ? null : { until: Math.floor(Number(score) / 4096), why: whyOf(job.failedReason ?? '') };
};
