// Looks at every open run now and then: advances those whose last job was killed, repairs or ends those that cannot move.
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { closeId } from '../model/job.ts';
import type { Log } from '../model/log.ts';
import { type RedisKeys, type Target, targetName } from '../model/redis-keys.ts';
import { entriesOf, membersOf } from '../state/redis/fields.ts';
import type { StuckRun } from '../state/run-phase.ts';
import type { Runs } from '../state/runs.ts';
import { repeat } from '../util/concurrency.ts';
import { nextStep, type RunState, type Step } from './advance.ts';
import type { Advancer } from './advancer.ts';
import type { Asked, RunGate } from './gate.ts';
import type { PortalPauses } from './pause.ts';
import type { Queues } from './queues.ts';

interface RunSweepParts {
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  gate: RunGate;
  runs: Runs;
  pauses: PortalPauses;
  advancer: Advancer;
  /** Portals that this process works for; the others' runs may wait for a worker. */
  portals: string[];
  /** How long a run may be without progress, milliseconds. */
  stuckMs: number;
  log: Log;
}

/** A run whose gate was taken by a process that was killed before it added the job continues as soon. */
const longestBeatMs = 3000;

/** Checks the runs of all gates periodically; `stop()` when done. */
export class RunSweep {
  readonly #parts: RunSweepParts;
  readonly #began = Date.now();
  #endLooks: (() => Promise<void>) | undefined;

  constructor(parts: RunSweepParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    await this.look();
    const everyMs = Math.min(longestBeatMs, this.#parts.stuckMs / 2);
    const failed = (err: unknown): void => this.#parts.log.warn({ err }, 'the runs could not be watched');
    this.#endLooks = repeat(everyMs, () => this.look(), failed);
  }

  stop(): void {
    void this.#endLooks?.();
  }

  async look(): Promise<void> {
    const { gate, log } = this.#parts;
    for (const [target, { current }] of await gate.all()) {
      await this.#check(current, target).catch((err: unknown) =>
        log.warn({ runId: current.id, err }, 'the run could not be watched'),
      );
    }
    await this.#forgetMarks();
  }

  /** Forgets marks of cancelled runs that came too late. */
  async #forgetMarks(): Promise<void> {
    const { redis, keys, runs } = this.#parts;
    for (const runId of await redis.hkeys(keys.cancelled)) {
      if ((await runs.phases.phase(runId)) === 'closed') await redis.hdel(keys.cancelled, runId);
    }
  }

  async #check({ id: runId, request }: Asked, target: Target): Promise<void> {
    const { runs, advancer, log } = this.#parts;
    if ((await runs.request(runId)) === null) await runs.ask(runId, target, request);
    const stand = await runs.phases.stand(runId);
    const isWorkedOn = stand.phase === 'publish' || stand.phase === 'prove';
    const state: RunState = {
      ...stand,
      job: isWorkedOn ? null : await this.#jobOf(runId, stand.phase === 'closing' ? closeId(runId) : runId),
      stuck: isWorkedOn ? await this.#stuck(runId, target.portal) : null,
    };
    const step = nextStep(state);
    const repair = repairs[step.do]?.(step.why);
    if (repair) log.warn({ action: 'repair', runId, target: targetName(target) }, repair);
    if (await advancer.take(runId, step)) await advancer.advance(runId);
  }

  /** How the job of a run stands; what is left of one that is in no list, or that closed nothing, is removed. */
  async #jobOf(runId: string, id: string): Promise<RunState['job']> {
    const { queues } = this.#parts;
    const state = await queues.runs.getJobState(id);
    if (state !== 'unknown' && state !== 'failed' && state !== 'completed') return 'there';
    const job = await queues.runs.getJob(id);
    if (state === 'unknown' || id !== runId) await queues.runs.remove(id);
    return state === 'unknown' ? 'missing' : { ended: job?.failedReason ?? null };
  }

  /** Why none of the jobs of a run can begin, once that lasts, and how often they were added again; null while one can. */
  async #stuck(runId: string, portal: string): Promise<StuckRun | null> {
    const { runs, pauses, stuckMs, portals } = this.#parts;
    const { stuck, advancedAt } = await runs.phases.quiet(runId);
    const now = Date.now();
    if (now - Math.max(advancedAt, stuck?.at ?? 0, this.#began) < stuckMs || !portals.includes(portal)) return null;
    const why = (await pauses.state(portal)) ? null : await this.#whyStuck(runId, portal);
    const repairs = stuck?.repairs ?? 0;
    await runs.phases.stuck(runId, why === null ? null : { at: now, why, repairs: repairs + 1 });
    return why === null ? null : { at: now, why, repairs };
  }

  /** Why none of its jobs can move; null while one is worked on, waits for its next attempt, or is behind others. */
  async #whyStuck(runId: string, portal: string): Promise<string | null> {
    const { redis, queues } = this.#parts;
    const queue = queues.portal(portal);
    const isOurs = (id: string): boolean => id.startsWith(`${runId}.`);
    const active = await redis.lrange(queue.toKey('active'), 0, -1); // as many as the portal is worked on with
    const ours = await Promise.all(active.filter(isOurs).map((id) => queue.getJob(id)));
    if (ours.some((job) => job === undefined || !isSilent(job))) return null; // undefined: it ends just now
    if (ours.length > 0) return 'the worker that has its jobs says nothing any more';
    for await (const _ of membersOf(redis, queue.toKey('delayed'), `${runId}.*`)) return null;
    for await (const id of entriesOf(redis, queue.toKey('wait'))) {
      if (isOurs(id)) return active.length > 0 ? null : 'its jobs are waiting, and no worker picks them up';
    }
    return 'its jobs are not in the queue';
  }
}

/** What is said of the steps that repair something. */
const repairs: Partial<Record<Step['do'], (why: string) => string>> = {
  begin: () => 'added its job again',
  repair: (why) => `restarting it: no progress, and ${why}`,
  halt: (why) => `closing the run as failed: ${why}`,
  'open the gate': () => 'released its lock: the run had ended',
};

/** A worker that has a job and says nothing of it for so long hangs, milliseconds: more than any upload or import takes. */
const silentMs = 12 * 3600 * 1000;

const silenceSchema = z.looseObject({ trace: z.looseObject({ at: z.number() }) });

/** True for a job that a worker has had for long without a word. */
export const isSilent = ({ processedOn = Date.now(), data }: Pick<Job, 'processedOn' | 'data'>): boolean => {
  const last = silenceSchema.safeParse(data).data?.trace.at ?? 0;
  return Date.now() - Math.max(processedOn, last) > silentMs;
};

/** Takes silent jobs from their workers: the engine puts them back, where they can be removed. */
export const breakSilence = async (queues: Queues, portal: string, ids: readonly string[]): Promise<void> => {
  const queue = queues.portal(portal);
  for (const id of ids) {
    const job: Job | undefined = await queue.getJob(id);
    if (job && isSilent(job)) await queues.connection.del(`${queue.toKey(id)}:lock`);
  }
};
