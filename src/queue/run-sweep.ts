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
import { type advancerOf, nextStep, type RunState, type Step } from './advance.ts';
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
  advancer: ReturnType<typeof advancerOf>;
  /** Portals that this process works for; the others' runs may wait for a worker. */
  portals: string[];
  /** How long a run may be without progress, milliseconds. */
  stuckMs: number;
  log: Log;
}

/** A run whose gate was taken by a process that was killed before it added the job continues as soon. */
const longestBeatMs = 3000;

/** Checks the runs of all gates periodically; `stop()` when done. */
export const runSweep = (parts: RunSweepParts) => {
  const { redis, keys, queues, gate, runs, pauses, advancer, portals, stuckMs, log } = parts;
  const began = Date.now();
  let endLooks: (() => Promise<void>) | undefined;

  /** How the job of a run stands; what is left of one that is in no list, or that closed nothing, is removed. */
  const jobOf = async (runId: string, id: string): Promise<RunState['job']> => {
    const state = await queues.runs.getJobState(id);
    if (state !== 'unknown' && state !== 'failed' && state !== 'completed') return 'there';
    const job = await queues.runs.getJob(id);
    if (state === 'unknown' || id !== runId) await queues.runs.remove(id);
    return state === 'unknown' ? 'missing' : { ended: job?.failedReason ?? null };
  };

  /** Why none of its jobs can move; null while one is worked on, waits for its next attempt, or is behind others. */
  const whyStuck = async (runId: string, portal: string): Promise<string | null> => {
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
  };

  /** Why none of the jobs of a run can begin, once that lasts, and how often they were added again; null while one can. */
  const stuckOf = async (runId: string, portal: string): Promise<StuckRun | null> => {
    const { stuck, advancedAt } = await runs.phases.quiet(runId);
    const now = Date.now();
    if (now - Math.max(advancedAt, stuck?.at ?? 0, began) < stuckMs || !portals.includes(portal)) return null;
    const why = (await pauses.state(portal)) ? null : await whyStuck(runId, portal);
    const repairs = stuck?.repairs ?? 0;
    await runs.phases.stuck(runId, why === null ? null : { at: now, why, repairs: repairs + 1 });
    return why === null ? null : { at: now, why, repairs };
  };

  const check = async ({ id: runId, request }: Asked, target: Target): Promise<void> => {
    if ((await runs.request(runId)) === null) await runs.ask(runId, target, request);
    const stand = await runs.phases.stand(runId);
    const isWorkedOn = stand.phase === 'publish' || stand.phase === 'prove';
    const step = nextStep({
      ...stand,
      job: isWorkedOn ? null : await jobOf(runId, stand.phase === 'closing' ? closeId(runId) : runId),
      stuck: isWorkedOn ? await stuckOf(runId, target.portal) : null,
    });
    const repair = repairs[step.do]?.(step.why);
    if (repair) log.warn({ action: 'repair', runId, target: targetName(target) }, repair);
    if (await advancer.take(runId, step, stand.phase)) await advancer.advance(runId);
  };

  const look = async (): Promise<void> => {
    for (const [target, { current }] of await gate.all()) {
      await check(current, target).catch((err: unknown) =>
        log.warn({ runId: current.id, err }, 'the run could not be watched'),
      );
    }
    // Marks of cancelled runs that came too late are forgotten.
    for (const runId of await redis.hkeys(keys.cancelled)) {
      if ((await runs.phases.phase(runId)) === 'closed') await redis.hdel(keys.cancelled, runId);
    }
  };

  return {
    look,
    start: async (): Promise<void> => {
      await look();
      const everyMs = Math.min(longestBeatMs, stuckMs / 2);
      endLooks = repeat(everyMs, look, (err) => log.warn({ err }, 'the runs could not be watched'));
    },
    stop: (): void => void endLooks?.(),
  };
};

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
export const isSilent = ({ processedOn = Date.now(), data }: Pick<Job, 'processedOn' | 'data'>): boolean =>
  Date.now() - Math.max(processedOn, silenceSchema.safeParse(data).data?.trace.at ?? 0) > silentMs;

/** Takes silent jobs from their workers: the engine puts them back, where they can be removed. */
export const breakSilence = async (queues: Queues, portal: string, ids: readonly string[]): Promise<void> => {
  const queue = queues.portal(portal);
  for (const id of ids) {
    const job: Job | undefined = await queue.getJob(id);
    if (job && isSilent(job)) await queues.connection.del(`${queue.toKey(id)}:lock`);
  }
};
