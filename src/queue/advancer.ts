// Advances runs: adds the jobs of what is open, phase by phase, and takes them out of the queue where a run ends early.
import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledError, JobsStuckError, reasonOf } from '../model/errors.ts';
import { cancelledHint, closeId, type ItemData, jobIdOf, plainRequest, type RunRequest } from '../model/job.ts';
import type { Target } from '../model/redis-keys.ts';
import type { Reason } from '../model/report.ts';
import { firstGroup, type OpenKey } from '../state/run-phase.ts';
import type { Runs } from '../state/runs.ts';
import { eachAtOnce } from '../util/concurrency.ts';
import { mostOpen, nextStep, type Step } from './advance.ts';
import type { RunGate } from './gate.ts';
import type { Queues } from './queues.ts';

/** Jobs that one call adds or removes. */
const atOnce = 100;

/** How often it is looked whether a worker has ended a job, milliseconds. */
const pollMs = 100;

/** Takes runs from one step to the next. Every process may do so at any time, also twice. */
export class Advancer {
  readonly #queues: Queues;
  readonly #gate: RunGate;
  readonly #runs: Runs;

  constructor(queues: Queues, gate: RunGate, runs: Runs) {
    this.#queues = queues;
    this.#gate = gate;
    this.#runs = runs;
  }

  /** Does what a run needs now, as far as its record shows; to be called when something of it has ended. */
  async advance(runId: string): Promise<void> {
    for (let isMoved = true; isMoved; ) {
      const stand = await this.#runs.phases.stand(runId);
      isMoved = await this.take(runId, nextStep({ ...stand, job: null, stuck: null }));
    }
  }

  /** Takes a step; true where another one may follow it at once. */
  async take(runId: string, step: Step): Promise<boolean> {
    const { phases } = this.#runs;
    if (step.do === 'nothing') return false;
    if (step.do === 'go on') {
      await phases.goOn(runId);
      return true;
    }
    const request = await this.#runs.request(runId);
    const isLost = step.do === 'begin' && request === null;
    if (step.do === 'cancel' || step.do === 'halt' || isLost) {
      const why = isLost ? 'its request is invalid' : step.why;
      await phases.halt(runId, step.do === 'cancel' ? cancelled(runId, request) : stuck(why));
      return true;
    }
    if (step.do === 'begin' || step.do === 'close') await this.#addJob(runId, step.do);
    else if (step.do === 'open the gate') await this.#openGate(runId);
    else if (request) await (step.do === 'add' ? this.#add(runId, request) : this.#addAgain(runId, request));
    return false;
  }

  async #addJob(runId: string, what: 'begin' | 'close'): Promise<void> {
    const [kind, id] = what === 'begin' ? (['run', runId] as const) : (['close', closeId(runId)] as const);
    const target = await this.#runs.target(runId);
    const request = (await this.#runs.request(runId)) ?? (target && lostRequest(target));
    if (request) await this.#queues.runs.add(kind, { kind, runId, ...request }, this.#queues.runOptions(id));
  }

  async #openGate(runId: string): Promise<void> {
    const target = await this.#runs.target(runId);
    if (target) await this.#gate.close(target, runId);
  }

  /** Adds jobs until the window is full. */
  async #add(runId: string, request: RunRequest): Promise<void> {
    const { phases } = this.#runs;
    const { inQueue } = await phases.stand(runId);
    const open = await phases.open(runId, await phases.added(runId), Math.max(0, mostOpen - inQueue));
    const last = open.at(-1);
    if (!last) return;
    await this.#addJobs(runId, request, open);
    await phases.addedTo(runId, last.number + 1);
  }

  /** Adds the jobs of open keys whether the queue has them or not; what is left of them there goes first. */
  async #addAgain(runId: string, request: RunRequest): Promise<void> {
    const open = await this.#runs.phases.open(runId, 0, mostOpen);
    await this.#remove(request.portal, idsOf(runId, request, open));
    await this.#addJobs(runId, request, open);
  }

  async #addJobs(runId: string, request: RunRequest, open: OpenKey[]): Promise<void> {
    const priority = await this.#runs.priority(runId);
    const jobs = jobsOf(runId, request, open);
    for (let at = 0; at < jobs.length; at += atOnce) {
      await this.#queues
        .portal(request.portal)
        .addBulk(
          jobs
            .slice(at, at + atOnce)
            .map((data) => ({ name: data.kind, data, opts: this.#queues.itemOptions(jobIdOf(data), priority) })),
        );
    }
  }

  /**
   * Takes the jobs of a run that ends early out of the queue, and waits for those that a worker has: from then on nobody
   * else works on what is open. `onKept` is called with those, now and then.
   */
  async takeOut(runId: string, signal: AbortSignal, onKept: (portal: string, ids: string[]) => Promise<void>) {
    const { phases } = this.#runs;
    while (['active', 'waiting', 'delayed'].includes(await this.#queues.runs.getJobState(runId))) {
      if ((await this.#queues.runs.remove(runId)) === 1) break;
      await sleep(pollMs, undefined, { signal });
    }
    const request = await this.#runs.request(runId);
    const added = (await phases.added(runId)) + mostOpen; // more may have been added just now
    for (let from = 0; request !== null && from < added; ) {
      const open = await phases.open(runId, from, mostOpen);
      const last = open.at(-1);
      if (!last) return;
      for (let left = idsOf(runId, request, open); ; await sleep(pollMs, undefined, { signal })) {
        left = await this.#remove(request.portal, left);
        if (left.length === 0) break;
        await onKept(request.portal, left);
      }
      from = last.number + 1;
    }
  }

  /** Removes jobs that no worker has; returns the others. */
  async #remove(portal: string, ids: string[]): Promise<string[]> {
    const queue = this.#queues.portal(portal);
    const removed = await eachAtOnce(ids, atOnce, (id) => queue.remove(id, { removeChildren: false }));
    return ids.filter((_, index) => removed[index] === 0);
  }
}

const cancelled = (runId: string, request: RunRequest | null): Reason =>
  reasonOf(new CancelledError(`run ${runId} was cancelled`, { hint: cancelledHint(request ?? {}) }));

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

/** A run whose request is not understood can only be closed. */
const lostRequest = ({ manifest, portal }: Target): RunRequest => ({
  manifest,
  portal,
  manifestPath: '',
  why: 'command',
  only: null,
  ...plainRequest,
});
