// What a run waits for: the end of a pause of its portal, or a time, as after a `Retry-After`.
import type { Job, Queue } from 'bullmq';
import { machineFault, StateFullError } from '../model/errors.ts';
import { closeId } from '../model/job.ts';
import type { Pause, PortalPauses } from './pause.ts';
import type { Queues } from './queues.ts';

/** Nothing is done before `until` (Unix milliseconds); `why` is what the last attempt met, '' when it is not known. */
export interface Standstill {
  until: number;
  why: string;
}

/** What a run waits for, both null while something of it can be done; `runId` is null where no run is in progress. */
export const waitOfRun = async (
  { queues, pauses }: { queues: Queues; pauses: Pick<PortalPauses, 'state'> },
  { runId, portal }: { runId: string | null; portal: string },
): Promise<{ pause: Pause | null; standstill: Standstill | null }> => {
  const pause = await pauses.state(portal);
  const standstill = pause || runId === null ? null : await standstillOf(queues, runId, queues.portal(portal));
  return { pause, standstill };
};

const standstillOf = async (queues: Queues, runId: string, queue: Queue): Promise<Standstill | null> => {
  for (const id of [runId, closeId(runId)]) {
    const job = await queues.runs.getJob(id);
    const isOver = !job || (await job.isCompleted()) || (await job.isFailed());
    if (!isOver) return (await job.isDelayed()) ? nextOf(queues, queues.runs, job) : null; // others' jobs do not matter
  }
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

const nextOf = async ({ connection }: Queues, queue: Queue, { id = '' }: Job): Promise<Standstill | null> => {
  const score = await connection.zscore(queue.toKey('delayed'), id);
  const job = await queue.getJob(id); // read anew: why it failed is written with its delay
  // The engine keeps milliseconds times 4096, which leaves room for an order within one of them.
  return score === null ? null : { until: Math.floor(Number(score) / 4096), why: whyOf(job?.failedReason ?? '') };
};
