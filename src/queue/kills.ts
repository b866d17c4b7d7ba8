// What becomes of a job whose worker was killed: it goes on, unless it seems to be what kills the workers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from 'bullmq';
import { PoisonJobError } from '../errors.ts';
import type { JobContext } from '../job.ts';
import type { Bookkeeping } from './bookkeeping.ts';

/** Kills in one step after which a job is given up. */
const poisonKills = 5;

/** The step of a job that waits before it goes on; a kill in it is not held against the job. */
const apart = 'apart';

/** How long a job that was hit twice waits at most, and how long one that was hit more often, milliseconds. */
const [shortestMs, longestMs] = [200, 2000];

/**
 * Counts the kills of a job and decides whether it is begun again. One that was hit more than once waits a moment of its
 * own: jobs that merely stood beside the one that is to blame get through while that one waits.
 *
 * @throws PoisonJobError when its worker was killed {@link poisonKills} times in the same step
 */
export const answerKills = async (job: Job, context: JobContext, books: Bookkeeping): Promise<void> => {
  const { data } = context;
  if (!('kills' in data)) {
    if (job.stalledCounter > 0) await context.note(`resumed; killed ${job.stalledCounter} times so far`);
    return;
  }
  const more = job.stalledCounter - data.stalls;
  if (more <= 0) return;
  const step = data.step ?? 'start';
  const kills = step === apart ? data.kills : { ...data.kills, [step]: (data.kills[step] ?? 0) + more };
  const count = kills[step] ?? 0;
  await context.save({ kills, stalls: job.stalledCounter });
  await context.note(`resumed after a kill in step ${step} (${count} in this step)`);
  if (count >= poisonKills) {
    throw new PoisonJobError(`the worker was killed ${count} times in step ${step}`, {
      hint: 'look at the log of this job, mend its file or the machine, then `sluice retry`',
    });
  }
  const all = Object.values(kills).reduce((sum, each) => sum + each, 0);
  if (all < 2) return;
  // Both must be known before the next kill, which may come at once.
  await context.save({ step: apart });
  await books.settled();
  await sleep(Math.random() * Math.min(longestMs, shortestMs * 2 ** (all - 2)), undefined, { signal: context.signal });
  await context.save({ step: step === apart ? null : data.step });
  await books.settled();
};
