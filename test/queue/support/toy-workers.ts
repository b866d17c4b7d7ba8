// Workers with small handlers whose behaviour is named by the key: `m/fail`, `m/kill-3`, `m/slow-read` …
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import {
  JobLostError,
  PortalLoginError,
  PortalRefusedError,
  PortalUnreachableError,
} from '../../../src/model/errors.ts';
import type { JobContext } from '../../../src/model/job.ts';
import { newEntry } from '../../../src/model/ledger-entry.ts';
import { createLog } from '../../../src/model/log.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import type { Reason } from '../../../src/model/report.ts';
import { advancerOf } from '../../../src/queue/advance.ts';
import { stopWatch } from '../../../src/queue/cancel.ts';
import { exclusiveIn } from '../../../src/queue/exclusive.ts';
import { runGate } from '../../../src/queue/gate.ts';
import { circuitBreaker, portalPauses } from '../../../src/queue/pause.ts';
import { portalWatch } from '../../../src/queue/portal-watch.ts';
import { portalQueue, queuesOn, runsQueue } from '../../../src/queue/queues.ts';
import type { Handlers } from '../../../src/queue/turn.ts';
import { queueWorker } from '../../../src/queue/worker.ts';
import { ledgerIn } from '../../../src/state/ledger.ts';
import type { DatasetWork } from '../../../src/state/run-work.ts';
import { runsIn } from '../../../src/state/runs.ts';
import type { Database } from '../../support/shared-redis.ts';

const facts = { method: 'POST', path: '/api/dataset/node', status: 400 };

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // the signal ends the process before this returns
  throw new Error('unreachable');
};

/** Rejects with the reason of the signal, as requests to a portal do. */
const cutOff = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Workers of the toy queues, in this process, until they are stopped. */
export interface ToyWorkers {
  /** Gives jobs back or finishes their writes, as a service that stops does. */
  stop(): Promise<void>;
}

/** Starts workers on this database; `trick`: `kill-before-adding` or `lose-lock-before-adding`. */
export const startToyWorkers = async (database: Database['options'], trick?: string): Promise<ToyWorkers> => {
  const redis = new Redis({ ...database, maxRetriesPerRequest: null });
  const queues = queuesOn(redis, { prefix: 'toy', attempts: 4, keepLogs: 100, keepMs: 60_000 });
  const pauses = portalPauses(redis, redisKeys('toy'), queues);
  const breaker = circuitBreaker({
    redis,
    keys: redisKeys('toy'),
    pauses,
    settings: { failures: 5, probeMs: 200, maxProbeMs: 1000, longestRequestedMs: 200 },
    log: createLog({ level: 'silent' }),
  });

  const runs = runsIn(redis, redisKeys('toy'), 60_000);
  const advancer = advancerOf(queues, runGate(redis, redisKeys('toy'), queues, runs), runs);

  /** With a trick, the run is planned once without adding its jobs. */
  const ended = async (runId: string): Promise<void> => {
    const isFirst = trick !== undefined && (await redis.incr(`toy.tricks:${runId}`)) === 1;
    if (isFirst && trick === 'kill-before-adding') die();
    if (isFirst && trick === 'lose-lock-before-adding') {
      await redis.del(`${queues.runs.toKey(runId)}:lock`);
      return;
    }
    await advancer.advance(runId);
  };

  /** Records how a dataset ended, and that it did. */
  const leave = async ({ data, writer }: JobContext<'dataset'>, reason: Reason | null): Promise<void> => {
    const outcome = reason === null ? { state: 'completed' } : { state: 'failed', reason };
    await redis.hset(`toy.outcomes:${data.runId}`, data.key, JSON.stringify(outcome));
    await runs.forJob(writer).leave(data.runId, data.key);
  };

  /** The toy portal of the test, over HTTP; without one every request fails. */
  const ask = async (portal: string, what: string): Promise<void> => {
    const url = await redis.get('toy.portal');
    const reply = url === null ? null : await fetch(`${url}/${portal}/${what}`);
    await reply?.text();
    if (reply?.status === 200) return;
    const retryAfter = reply?.headers.get('retry-after');
    const asked = retryAfter ? { retryAfterMs: Number(retryAfter) * 1000 } : {};
    throw new PortalUnreachableError(`portal ${portal}: 503`, { ...facts, status: 503, ...asked });
  };

  /** The first worker of the job stands still where the key says; whoever gets through to a write is put down. */
  const stopAt = async (job: JobContext<'dataset'>): Promise<void> => {
    const { key } = job.data;
    const ledger = ledgerIn(redis, redisKeys('toy')).forJob(job.writer);
    const isFirst = (await redis.incr(`toy.stops:${key}`)) === 1;
    const standStill = (where: string): void => {
      if (isFirst && key.endsWith(where)) process.kill(process.pid, 'SIGSTOP');
    };
    try {
      standStill('before-the-note');
      const entry = newEntry({ key, kind: 'dataset', uuid: 'u', title: String(process.pid) });
      await ledger.begin('p', entry, { what: 'import', before: null, nonce: '' });
      standStill('before-the-request');
      await job.writer?.lease.check();
      await redis.rpush(`toy.sent:${key}`, process.pid);
      standStill('before-the-end');
      await ledger.settle('p', entry);
      await job.writer?.catchUp(); // everything is sent now
    } catch (error) {
      if (error instanceof JobLostError) await redis.rpush(`toy.lost:${key}`, process.pid);
      throw error;
    }
  };

  /** The lock of a job runs out, as the engine would notice at its next check. */
  const stall = async (id: string): Promise<void> => {
    const key = (name: string): string => queues.portal('p').toKey(name);
    await redis
      .multi()
      .del(`${key(id)}:lock`)
      .lrem(key('active'), 0, id)
      .hincrby(key(id), 'stc', 1)
      .rpush(key('wait'), id)
      .zadd(key('marker'), 0, '0')
      .exec();
  };

  /** Its lock runs out and this worker takes the job a second time, before it writes for the first time. */
  const takeTwice = async ({ id, writer, data }: JobContext<'dataset'>): Promise<void> => {
    const isFirst = (await redis.incr('toy.takes')) === 1;
    if (!isFirst) {
      while ((await redis.get('toy.refused')) === null) await sleep(20);
    } else {
      await stall(id);
      while ((await redis.get('toy.takes')) === '1') await sleep(20);
    }
    try {
      await writer?.write([{ hash: 'toy.written', field: data.key, value: isFirst ? 'first' : 'second' }]);
    } catch (error) {
      if (error instanceof JobLostError) await redis.set('toy.refused', '1');
      throw error;
    }
  };

  /** Its lock runs out while the process is too busy to notice; then its next step begins. */
  const starve = async (job: JobContext<'dataset'>): Promise<void> => {
    const isFirst = (await redis.incr('toy.starved')) === 1;
    if (isFirst) {
      await stall(job.id);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    }
    await job.step({ name: 'go', on: '' }, () => redis.rpush('toy.steps', isFirst ? 'first' : 'second'));
  };

  /** Jobs of this process that are in the step of a crowd; two at once cost it its life. */
  let crowd = 0;

  /** Dies in its step, or loses its lock there, as often as the key says. */
  const hit = async (job: JobContext<'dataset'>, name: string): Promise<void> => {
    const { step } = job.item(job.data.key);
    const kills = /^kill-(\d+)/.exec(name);
    if (kills) {
      await step({ name: 'boom', on: name }, async () => {
        if (name.endsWith('late')) await sleep(15);
        if ((await redis.incr(`toy.kills:${name}`)) <= Number(kills[1])) die();
      });
    }
    const losses = /^lose-(\d+)/.exec(name);
    if (losses) {
      await step({ name: 'slip', on: name }, async (signal) => {
        if ((await redis.incr(`toy.losses:${name}`)) > Number(losses[1])) return;
        await stall(job.id);
        await job.writer?.write([{ hash: 'toy.written', field: name, value: 'too late' }]).catch(() => undefined);
        signal.throwIfAborted();
      });
    }
  };

  const fail = ({ attempt }: JobContext<'dataset'>, name: string): void => {
    if (name.startsWith('fail')) throw new PortalRefusedError('portal p: no', facts, { hint: 'ask' });
    if (name.startsWith('bug')) throw new TypeError('oops');
    if (name.startsWith('login')) throw new PortalLoginError('portal p: wrong password', facts);
    if (name.startsWith('transient') && attempt < 3) throw new PortalUnreachableError('portal p: 503', facts);
  };

  const wait = async (job: JobContext<'dataset'>, name: string): Promise<void> => {
    const { step } = job.item(job.data.key);
    if (name.startsWith('slow-between')) {
      await (name.endsWith('look') ? cutOff(job.signal) : sleep(30_000, undefined, { signal: job.signal }));
    }
    if (name.startsWith('slow-lost')) {
      await cutOff(job.signal).catch(() => undefined);
      await redis.set('toy.cut', `${job.signal.reason}`);
      job.signal.throwIfAborted();
    }
    if (name.startsWith('slow-refused')) {
      await cutOff(job.signal).catch(() => undefined);
      throw new PortalRefusedError('portal p: no', facts);
    }
    if (name.startsWith('slow-read')) {
      await step({ name: 'read', on: name }, (signal) => sleep(30_000, undefined, { signal }));
    }
    if (name.startsWith('slow-write')) {
      await step({ name: 'write', on: name, writes: true }, async (signal) => {
        await redis.set('toy.writing', '1');
        await sleep(1000, undefined, { signal });
        await redis.set('toy.written', '1');
      });
    }
  };

  const item = async (job: JobContext<'dataset'>): Promise<string> => {
    const name = job.data.key.slice(2);
    const poison = job.poisonOf(job.data.key);
    if (poison) throw poison;
    const { step } = job.item(job.data.key);
    await redis.incr(`toy.starts:${name}`);
    await hit(job, name);
    if (name.startsWith('beside')) await step({ name: 'work', on: name }, () => sleep(30));
    if (name.startsWith('crowd')) {
      await step({ name: 'work', on: name }, async () => {
        crowd += 1;
        await sleep(300);
        if (crowd > 1) die();
        crowd -= 1;
      });
    }
    if (name.startsWith('http')) {
      await step({ name: 'send', on: name, writes: true }, () => ask(job.data.portal, 'work'));
    }
    fail(job, name);
    await wait(job, name);
    if (name === 'taken-twice') await takeTwice(job);
    if (name === 'starved') await starve(job);
    if (name.startsWith('stopped')) await step({ name: 'write', on: name, writes: true }, () => stopAt(job));
    return `${name} attempt ${job.attempt}`;
  };

  /** Ends the process at each start of a run or trigger that is limited to `m/deadly`. */
  const dieWhere = ({ only }: { only: string[] | null }): void => {
    if (only?.includes('m/deadly')) die();
  };

  const handlers: Handlers = {
    trigger: {
      run: async (job) => dieWhere(job.data),
      failed: async (job, reason) => void (await redis.hset('toy.failed', job.id, reason.message)),
    },
    run: {
      run: async (job) => {
        const { runId, manifest, portal, only } = job.data;
        await job.step({ name: 'gather', on: manifest }, async () => {
          await sleep(only?.includes('m/deadly') ? 50 : 0);
          dieWhere(job.data);
        });
        if (only?.includes('m/plan')) await job.step({ name: 'plan', on: manifest }, () => ask(portal, 'plan'));
        const own = runs.forJob(job.writer);
        if ((await own.phases.startOver(runId)) !== 'planning') return;
        const writer = own.newPlan(runId);
        const datasets = (only ?? []).map((key) => ({ wish: { key } }) as DatasetWork); // nobody reads more of it
        await writer.add({ datasets, resources: [], settled: [], claims: [] });
        await writer.end([]);
      },
      failed: async (job, reason) => {
        await redis.hset('toy.failed', job.data.runId, reason.code);
        await runs.phases.halt(job.data.runId, reason);
      },
    },
    dataset: {
      run: async (job) => {
        if (!(await runs.phases.isToDo(job.data.runId, job.data.key))) return;
        await item(job);
        await leave(job, null);
      },
      failed: async (job, reason) => {
        await redis.hset('toy.failed', job.data.key, reason.code);
        await leave(job, reason);
      },
    },
    export: { run: async () => null },
    prove: { run: async () => null },
    close: { run: async (job) => runs.drop(job.data.runId) },
  };

  const common = {
    queues,
    handlers,
    pauses,
    breaker,
    exclusive: exclusiveIn(redis, redisKeys('toy').exclusive),
    stops: stopWatch(redis, redisKeys('toy'), pauses),
    isOfOthers: async () => false,
    heartbeat: { id: String(process.pid), lives: async (id: string) => isRunning(Number(id)) },
    logKey: redisKeys('toy').log,
    ended,
    retry: { backoffMs: 50, maxBackoffMs: 200 },
    lockMs: 1500,
    stalledCheckMs: 500,
    log: createLog({ level: 'silent' }),
  };
  const workers = [
    queueWorker({ queue: runsQueue, concurrency: 2, ...common }),
    queueWorker({ queue: portalQueue('p'), concurrency: 4, ...common }),
    queueWorker({ queue: portalQueue('q'), concurrency: 4, ...common }),
  ];
  const watch = portalWatch({
    pauses,
    breaker,
    portals: ['p', 'q'],
    probe: (portal) => ask(portal, 'probe'),
    report: async () => undefined,
    log: createLog({ level: 'silent' }),
  });
  await Promise.all(workers.map((worker) => worker.ready()));
  await watch.start();
  return {
    stop: async () => {
      await Promise.all([watch.stop(), ...workers.map((worker) => worker.stop(false))]);
      await queues.close();
      redis.disconnect();
    },
  };
};
