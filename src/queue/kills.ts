// What becomes of a job whose worker was killed: it goes on, unless it seems to be what kills the workers.
import type { Job } from 'bullmq';
import { PoisonJobError } from '../errors.ts';
import type { JobContext } from '../job.ts';
import type { Bookkeeping } from './bookkeeping.ts';
import type { Solitude } from './solitude.ts';

/** Kills in one step after which a job is given up. */
const poisonKills = 5;

/** Kills, in whatever steps, after which a job goes on alone only. */
const suspectKills = 2;

/** The step of a job that waits until it is alone; a kill in it is not held against the job. */
const apart = 'apart';

/**
 * Counts the kills of a job and decides whether it is begun again. One that was hit more than once goes on alone: jobs
 * that merely stood beside the one that is to blame are not hit with it again. The returned function ends that.
 *
 * @throws PoisonJobError when its worker was killed {@link poisonKills} times in the same step
 */
export const answerKills = async (
  job: Job,
  context: JobContext,
  { books, solitude }: { books: Bookkeeping; solitude: Solitude },
): Promise<() => void> => {
  const { data } = context;
  if (!('kills' in data)) {
    if (job.stalledCounter > 0) await context.note(`resumed; killed ${job.stalledCounter} times so far`);
    return isNotAlone;
  }
  let { kills } = data;
  const step = data.step ?? 'start';
  if (job.stalledCounter > data.stalls) {
    // Nothing is begun before this is written down, so of several kills since then one met the step.
    const count = (kills[step] ?? 0) + 1;
    if (step !== apart) kills = { ...kills, [step]: count };
    await context.save({ kills, stalls: job.stalledCounter });
    await context.note(
      step === apart
        ? 'resumed after a kill before it went on'
        : `resumed after a kill in step ${step} (${count} in this step)`,
    );
    await books.settled();
    if ((kills[step] ?? 0) >= poisonKills) {
      throw new PoisonJobError(`the worker was killed ${count} times in step ${step}`, {
        hint: 'look at the log of this job, mend its file or the machine, then `sluice retry`',
      });
    }
  }
  const all = Object.values(kills).reduce((sum, each) => sum + each, 0);
  if (all < suspectKills) return isNotAlone;
  await context.save({ step: apart });
  await books.settled();
  const end = await solitude.begin(context.id, context.signal);
  try {
    await context.save({ step: step === apart ? null : data.step });
    await books.settled();
  } catch (error) {
    end();
    throw error;
  }
  return end;
};

const isNotAlone = (): void => undefined;
