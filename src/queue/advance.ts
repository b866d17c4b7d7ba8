// Advances runs: what one needs next, decided from where it stands alone; and the jobs of what is open, added phase by phase.
import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledError, JobsStuckError, reasonOf } from '../model/errors.ts';
import { cancelledHint, closeId, type ItemData, jobIdOf, type RunRequest, runRequest } from '../model/job.ts';
import type { Reason } from '../model/report.ts';
import { firstGroup, type OpenKey, type Phase, type RunStand, type StuckRun } from '../state/run-phase.ts';
import type { Runs } from '../state/runs.ts';
import { eachAtOnce } from '../util/concurrency.ts';
import type { RunGate } from './gate.ts';
import type { Queues } from './queues.ts';

export interface RunState extends RunStand {
  /** The job that plans the run, or closes it, as the queue knows it; null where nobody looked. */
  job: 'there' | 'missing' | { ended: string | null } | null;
  /** Why none of its jobs can begin, as a sweep found; null where one can, or where nobody looked. */
  stuck: StuckRun | null;
}

export type Step = {
  do: 'nothing' | 'begin' | 'add' | 'repair' | 'go on' | 'cancel' | 'halt' | 'close' | 'open the gate';
  why: string;
};

/** With fewer jobs in the queue than this, more are added, up to the other number. */
export const [fewestOpen, mostOpen] = [500, 1000];

/** How often jobs are added again to a queue that lost them, before the run is ended. */
const mostRepairs = 2;

/** The next step of a run. Pure, so that whoever looks decides the same; each step may be taken twice. */
export const nextStep = (run: RunState): Step => {
  const { phase, job, stuck, inQueue, waiting } = run;
  if (phase === 'closed') return { do: 'open the gate', why: 'it is closed' };
  if (phase === 'closing' && job === 'there') return nothing('its last job closes it');
  if (phase === 'closing') return { do: 'close', why: 'nothing else is to be done' };
  if (run.isCancelled) return { do: 'cancel', why: 'it was cancelled' };
  if (phase === 'queued' || phase === 'planning') return beforePlan(run);
  if (stuck) return { do: stuck.repairs < mostRepairs ? 'repair' : 'halt', why: stuck.why };
  if (inQueue + waiting === 0) return { do: 'go on', why: 'all of this phase has ended' };
  if (waiting > 0 && inQueue < fewestOpen) return { do: 'add', why: `${inQueue} of its jobs are in the queue` };
  return nothing('its jobs are in the queue');
};

const beforePlan = ({ job }: RunState): Step => {
  if (job === null || job === 'there') return nothing('its job plans it');
  if (job === 'missing') return { do: 'begin', why: 'it has no job' };
  return { do: 'halt', why: job.ended ?? 'its job ended without a plan' };
};

const nothing = (why: string): Step => ({ do: 'nothing', why });

/** Jobs that one call adds or removes. */
const atOnce = 100;

/** How often it is looked whether a worker has ended a job, milliseconds. */
const pollMs = 100;

/** Takes runs from one step to the next. Every process may do so at any time, also twice. */
export const advancerOf = (queues: Queues, gate: RunGate, runs: Runs) => {
  const { phases } = runs;

  const addJob = async (runId: string, what: 'begin' | 'close'): Promise<void> => {
    const [kind, id] = what === 'begin' ? (['run', runId] as const) : (['close', closeId(runId)] as const);
    const target = await runs.target(runId);
    // Of one that is not understood the run can only be closed.
    const lost = target && runRequest({ ...target, manifestPath: '', why: 'command' });
    const request = (await runs.request(runId)) ?? lost;
    if (request) await queues.runs.add(kind, { kind, runId, ...request }, queues.runOptions(id));
  };

  const openGate = async (runId: string): Promise<void> => {
    const target = await runs.target(runId);
    if (target) await gate.close(target, runId);
  };

  const addJobs = async (runId: string, request: RunRequest, open: OpenKey[]): Promise<void> => {
    const priority = await runs.priority(runId);
    const jobs = jobsOf(runId, request, open).map((data) => ({
      name: data.kind,
      data,
      opts: queues.itemOptions(jobIdOf(data), priority),
    }));
    for (let at = 0; at < jobs.length; at += atOnce)
      await queues.portal(request.portal).addBulk(jobs.slice(at, at + atOnce));
  };

  /** Removes jobs that no worker has; returns the others. */
  const remove = async (portal: string, ids: string[]): Promise<string[]> => {
    const queue = queues.portal(portal);
    const removed = await eachAtOnce(ids, atOnce, (id) => queue.remove(id, { removeChildren: false }));
    return ids.filter((_, index) => removed[index] === 0);
  };

  const add = async (runId: string, request: RunRequest): Promise<void> => {
    const { inQueue } = await phases.stand(runId);
    const open = await phases.open(runId, await phases.added(runId), Math.max(0, mostOpen - inQueue));
    const last = open.at(-1);
    if (!last) return;
    await addJobs(runId, request, open);
    await phases.addedTo(runId, last.number + 1);
  };

  /** Adds the jobs of open keys whether the queue has them or not; what is left of them there goes first. */
  const addAgain = async (runId: string, request: RunRequest): Promise<void> => {
    const open = await phases.open(runId, 0, mostOpen);
    await remove(request.portal, idsOf(runId, request, open));
    await addJobs(runId, request, open);
  };

  /** Takes a step that was decided on in a phase; true where another one may follow it at once. */
  const take = async (runId: string, step: Step, phase: Phase): Promise<boolean> => {
    if (step.do === 'nothing') return false;
    if (step.do === 'go on') {
      await phases.goOn(runId);
      return true;
    }
    const request = await runs.request(runId);
    const end = endBy(step, runId, request);
    if (end) {
      await phases.halt(runId, end, phase);
      return true;
    }
    if (step.do === 'begin' || step.do === 'close') await addJob(runId, step.do);
    else if (step.do === 'open the gate') await openGate(runId);
    else if (request) await (step.do === 'add' ? add(runId, request) : addAgain(runId, request));
    return false;
  };

  return {
    take,

    /** Does what a run needs now, as far as its record shows; to be called when something of it has ended. */
    advance: async (runId: string): Promise<void> => {
      for (let isMoved = true; isMoved; ) {
        const stand = await phases.stand(runId);
        isMoved = await take(runId, nextStep({ ...stand, job: null, stuck: null }), stand.phase);
      }
    },

    /**
     * Takes the jobs of a run that ends early out of the queue, and waits for those that a worker has: from then on nobody
     * else works on what is open. `onKept` is called with those, now and then.
     */
    takeOut: async (runId: string, signal: AbortSignal, onKept: (portal: string, ids: string[]) => Promise<void>) => {
      while (['active', 'waiting', 'delayed'].includes(await queues.runs.getJobState(runId))) {
        if ((await queues.runs.remove(runId)) === 1) break;
        await sleep(pollMs, undefined, { signal });
      }
      const request = await runs.request(runId);
      const added = (await phases.added(runId)) + mostOpen; // more may have been added just now
      for (let from = 0; request !== null && from < added; ) {
        const open = await phases.open(runId, from, mostOpen);
        const last = open.at(-1);
        if (!last) return;
        for (let left = idsOf(runId, request, open); ; await sleep(pollMs, undefined, { signal })) {
          left = await remove(request.portal, left);
          if (left.length === 0) break;
          await onKept(request.portal, left);
        }
        from = last.number + 1;
      }
    },
  };
};

/** Why a step ends its run early; null where it does not. */
const endBy = (step: Step, runId: string, request: RunRequest | null): Reason | null => {
  if (step.do === 'cancel')
    return reasonOf(new CancelledError(`run ${runId} was cancelled`, { hint: cancelledHint(request ?? {}) }));
  if (step.do === 'halt') return stuck(step.why);
  return step.do === 'begin' && request === null ? stuck('its request is invalid') : null;
};

const stuck = (why: string): Reason =>
  reasonOf(new JobsStuckError(`the run could not continue: ${why}`, { hint: 'publish again; completed work is kept' }));

/** The jobs that end these keys: one for each dataset, one for each group of tables. */
const jobsOf = (runId: string, { manifest, portal, export: order }: RunRequest, open: OpenKey[]): ItemData[] => {
  const jobs = new Map<number, ItemData>();
  for (const { key, number } of open) {
    const item = { runId, manifest, portal, key };
    if (jobs.has(number)) continue;
    if (number >= firstGroup) jobs.set(number, { kind: 'prove', ...item, group: number - firstGroup });
    else jobs.set(number, order ? { kind: 'export', ...item, export: order } : { kind: 'dataset', ...item });
  }
  return [...jobs.values()];
};

const idsOf = (...of: Parameters<typeof jobsOf>): string[] => jobsOf(...of).map(jobIdOf);
