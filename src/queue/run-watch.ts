// Watches runs: opens the gates of ended runs, restarts runs without progress, and fails them when that does not help.
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { JobsStuckError, reasonOf } from '../model/errors.ts';
import { plainRequest, type RunData, type RunRequest, runRequestSchema } from '../model/job.ts';
import type { Log } from '../model/log.ts';
import { type RedisKeys, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import type { Reason } from '../model/report.ts';
import { entriesOf, membersOf } from '../state/redis/fields.ts';
import { RedisScript } from '../state/redis/script.ts';
import { fewestOpen } from './children.ts';
import type { RunGate } from './gate.ts';
import type { PortalPauses } from './pause.ts';
import type { Queues } from './queues.ts';

/** What the watch is made of. */
interface RunWatchParts {
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  gate: RunGate;
  pauses: PortalPauses;
  /** Portals that this process works for; the others' runs may wait for a worker. */
  portals: string[];
  /** Whether a run has its report. */
  isClosed: (runId: string) => Promise<boolean>;
  /** How long a run may be without progress, milliseconds. */
  stuckMs: number;
  log: Log;
}

/** A run without progress, as any worker found it last. */
interface StuckRun {
  /** When it was last found so, Unix milliseconds. */
  at: number;
  why: string;
  /** Restarts since its last progress. */
  repairs: number;
}

const stuckSchema = z.object({ at: z.number(), why: z.string(), repairs: z.number(), moved: z.string() });

/** Restarts before a run is failed. */
const mostRepairs = 2;

/** A run whose gate was taken by a process that was killed before it added the job continues as soon. */
const longestBeatMs = 3000;

/** Puts a run that waits for children back into the queue, as the end of its last child does. */
const wake = new RedisScript(`
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('ZADD', KEYS[3], 0, '0')
return 1
`);

const wakeLists = ({ runs }: Queues): string[] =>
  ['waiting-children', 'wait', 'marker'].map((list) => runs.toKey(list));

/** Wakes the job of a run that waits for its children or for a time; returns the state that it was in. */
export const wakeRun = async (queues: Queues, runId: string): Promise<string> => {
  const state = await queues.runs.getJobState(runId);
  if (state === 'waiting-children') await wake.run(queues.connection, wakeLists(queues), [runId]);
  if (state === 'delayed') await (await queues.runs.getJob(runId))?.promote().catch(() => undefined); // it went by itself
  return state;
};

/** What the watch found stuck, or null. */
export const stuckRun = async (redis: Redis, keys: RedisKeys, runId: string): Promise<StuckRun | null> => {
  const text = await redis.hget(keys.run(runId), 'stuck');
  return text === null ? null : stuckSchema.parse(JSON.parse(text));
};

interface WatchedRun {
  runId: string;
  target: Target;
  /** Null when it is not known or not understood. */
  request: RunRequest | null;
}

/** Checks every run periodically; `stop()` when done. */
export class RunWatch {
  readonly #parts: RunWatchParts;
  /** The counts of children at the last progress of a run, and when that was seen, by run id. */
  readonly #seen = new Map<string, { moved: string; since: number }>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: RunWatchParts) {
    this.#parts = parts;
  }

  /** Checks once, and periodically from then on. */
  async start(): Promise<void> {
    await this.look();
    this.#timer = setInterval(
      () => {
        this.look().catch((err: unknown) => this.#parts.log.warn({ err }, 'the runs could not be watched'));
      },
      Math.min(longestBeatMs, this.#parts.stuckMs / 2),
    );
    this.#timer.unref();
  }

  /** Ends. */
  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Checks every open run. */
  async look(): Promise<void> {
    await this.#endCancelled();
    const open = new Set<string>();
    for await (const run of this.#openRuns()) {
      open.add(run.runId);
      await this.#check(run).catch((err: unknown) =>
        this.#parts.log.warn({ runId: run.runId, err }, 'the run could not be watched'),
      );
    }
    for (const runId of this.#seen.keys()) if (!open.has(runId)) this.#seen.delete(runId);
  }

  /** Wakes cancelled runs that wait, so that they end; removes marks that came too late. */
  async #endCancelled(): Promise<void> {
    const { redis, keys, queues, isClosed } = this.#parts;
    for (const runId of await redis.hkeys(keys.cancelled)) {
      const state = await wakeRun(queues, runId);
      if (state === 'unknown' && (await isClosed(runId))) await redis.hdel(keys.cancelled, runId);
    }
  }

  /** The run of each gate, then those that wait for children without holding one. */
  async *#openRuns(): AsyncGenerator<WatchedRun> {
    const { redis, keys, queues } = this.#parts;
    const known = new Set<string>();
    for (const name of await redis.smembers(keys.gates)) {
      const target = targetOfName(name);
      const [runId, request] = await redis.hmget(keys.gate(target), 'current', 'currentRequest');
      if (!runId) continue;
      known.add(runId);
      yield { runId, target, request: requestOf(request ?? null) };
    }
    for await (const runId of membersOf(redis, queues.runs.toKey('waiting-children'), '*')) {
      const data = known.has(runId) ? undefined : (await queues.runs.getJob(runId))?.data;
      const request = runRequestSchema.safeParse(data).data;
      if (request) yield { runId, target: request, request };
    }
  }

  async #check(run: WatchedRun): Promise<void> {
    const { queues, gate, isClosed } = this.#parts;
    const { runId, target } = run;
    const state = await queues.runs.getJobState(runId);
    if (state === 'waiting-children') return this.#checkChildren(run);
    this.#seen.delete(runId);
    if (state !== 'unknown' && state !== 'failed' && state !== 'completed') return;
    if (await isClosed(runId)) {
      await gate.close(target, runId);
      this.#report(run, 'released its lock: the run had ended');
    } else if (state === 'unknown') {
      await queues.runs.remove(runId); // what is left of a job that is in no list
      const lost = run.request ? null : 'its request is invalid';
      await queues.runs.add('run', dataOf(run, lost), queues.runOptions(runId));
      this.#report(run, 'added its job again');
    } else {
      const job = await queues.runs.getJob(runId);
      if (!job) return;
      await job.updateData(dataOf(run, job.failedReason ?? 'its job ended without a report'));
      await job.retry(state);
      this.#report(run, 'its job ended without a report: closing the run as failed');
    }
  }

  /** A run that waits for children is stuck when nothing has ended for a while and none of its jobs can begin. */
  async #checkChildren(run: WatchedRun): Promise<void> {
    const { redis, keys, queues, portals, pauses, stuckMs } = this.#parts;
    const { runId, target } = run;
    const job = await queues.runs.getJob(runId);
    if (!job) return;
    const counts = await job.getDependenciesCount();
    const { unprocessed = 0 } = counts;
    const moved = JSON.stringify(counts);
    const now = Date.now();
    const seen = this.#seen.get(runId);
    const [text, more] = await redis.hmget(keys.run(runId), 'stuck', 'more');
    if (more && unprocessed < fewestOpen) await wake.run(redis, wakeLists(queues), [runId]);
    const found = text ? stuckSchema.parse(JSON.parse(text)) : null;
    if (found && found.moved !== moved) await redis.hdel(keys.run(runId), 'stuck');
    if (seen?.moved !== moved) this.#seen.set(runId, { moved, since: now });
    else if (now - Math.max(seen.since, found?.at ?? 0) >= stuckMs && portals.includes(target.portal)) {
      this.#seen.set(runId, { moved, since: now });
      const why = (await pauses.state(target.portal)) ? null : await this.#whyStuck(run, job);
      if (why === null) await redis.hdel(keys.run(runId), 'stuck');
      else await this.#restart(run, job, { at: now, why, repairs: found?.repairs ?? 0 }, moved);
    }
  }

  /** Why none of its jobs can move; null while one is running, waits for its next attempt, or is behind others. */
  async #whyStuck({ runId, target }: WatchedRun, job: Job): Promise<string | null> {
    const { redis, queues } = this.#parts;
    const queue = queues.portal(target.portal);
    const isOurs = (id: string): boolean => id.startsWith(`${runId}.`);
    const active = await redis.lrange(queue.toKey('active'), 0, -1); // as many as the portal is worked on with
    if (active.some(isOurs)) return null;
    for await (const _ of membersOf(redis, queue.toKey('delayed'), `${runId}.*`)) return null;
    for await (const id of entriesOf(redis, queue.toKey('wait'))) {
      if (isOurs(id)) return active.length > 0 ? null : 'its jobs are waiting, and no worker picks them up';
    }
    const { unprocessed = 0 } = await job.getDependenciesCount({ unprocessed: true });
    return unprocessed === 0 ? 'all of its jobs have ended' : 'its jobs are not in the queue';
  }

  /** A restarted run adds its missing jobs and forgets those that have ended. Any worker may restart it. */
  async #restart(run: WatchedRun, job: Job, stuck: StuckRun, moved: string): Promise<void> {
    const { redis, keys } = this.#parts;
    const isLast = stuck.repairs >= mostRepairs;
    const repairs = stuck.repairs + (isLast ? 0 : 1);
    await redis.hset(keys.run(run.runId), 'stuck', JSON.stringify({ ...stuck, repairs, moved }));
    if (isLast) await job.updateData({ ...job.data, ...dataOf(run, stuck.why) });
    if ((await wake.run(redis, wakeLists(this.#parts.queues), [run.runId])) !== 1) return;
    this.#report(run, `${isLast ? 'closing the run as failed' : 'restarting it'}: no progress, and ${stuck.why}`);
  }

  #report({ runId, target }: WatchedRun, line: string): void {
    this.#parts.log.warn({ action: 'repair', runId, target: targetName(target) }, line);
  }
}

const requestOf = (text: string | null): RunRequest | null => {
  try {
    return runRequestSchema.safeParse(JSON.parse(text ?? '')).data ?? null;
  } catch {
    return null; // no JSON
  }
};

/** The data of a run's job; with `why` the run ends as failed as soon as it is taken. */
const dataOf = ({ runId, target, request }: WatchedRun, why: string | null): RunData => {
  const lost: RunRequest = { ...target, manifestPath: '', why: 'command', only: null, ...plainRequest };
  const halt: Reason | null =
    why === null ? null : reasonOf(new JobsStuckError(`the run could not continue: ${why}`, haltHint));
  return { kind: 'run', runId, ...(request ?? lost), ...(halt ? { halt } : {}) };
};

const haltHint = { hint: 'publish again; completed work is kept' };
