// What becomes of a job whose worker was killed: it is resumed, unless one of its steps seems to be what kills the workers.
import type { Job } from 'bullmq';
import { PoisonJobError } from '../model/errors.ts';
import type { Trace } from '../model/job.ts';
import type { JobTrace } from './trace.ts';

/** Kills in one step after which it is given up. */
const poisonKills = 5;

/** Kills, in whatever steps, after which a job is resumed alone. */
const suspectKills = 2;

/** The step of a job that waits until it is alone; a kill in it is not counted. */
export const waitsAlone = 'wait';

/** Counts the kill that the engine knows of and the trace does not, once for each step that was under way. */
export const countKill = (job: Job, trace: JobTrace): void => {
  if (job.stalledCounter <= trace.data.stalls) return;
  // Nothing is begun before this is written down, so of several kills since then one met the steps.
  const { steps, kills, interrupted } = trace.data;
  const hit = Object.entries(steps).filter(([, step]) => step !== waitsAlone);
  if (Object.keys(steps).length === 0) hit.push(['', 'start']);
  const counted: Trace['kills'] = { ...kills };
  for (const [key, step] of hit) {
    const name = `${key} ${step}`;
    counted[name] = (counted[name] ?? 0) + 1;
    trace.line(key, `resumed after a kill in step ${step} (${counted[name]} in this step)`);
  }
  if (hit.length === 0) trace.line('', 'resumed after a kill before it went on');
  const items = hit.map(([key]) => key).filter((key) => key !== '');
  trace.save({
    steps: {},
    interrupted: [...new Set([...interrupted, ...items])],
    kills: counted,
    stalls: job.stalledCounter,
  });
};

/** Why an item (or with '' the job itself) is given up; null while it is not. */
export const poisonOf = ({ kills }: Trace, key: string): PoisonJobError | null => {
  for (const [name, count] of Object.entries(kills)) {
    const at = name.lastIndexOf(' ');
    if (count < poisonKills || name.slice(0, at) !== key) continue;
    return new PoisonJobError(`the worker was killed ${count} times in step ${name.slice(at + 1)}`, {
      hint: 'check its log, fix its file or the machine, then `sluice retry`',
    });
  }
  return null;
};

/** True for a job that was hit so often that it goes on alone only, so that bystanders are not hit with it again. */
export const isSuspect = ({ kills }: Trace): boolean =>
  Object.values(kills).reduce((sum, each) => sum + each, 0) >= suspectKills;
