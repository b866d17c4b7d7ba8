// What the queue costs: processor time of the worker for each job whose handler does nothing.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RunRequest } from '../src/model/job.ts';
import { createLog } from '../src/model/log.ts';
import { redisKeys } from '../src/model/redis-keys.ts';
import { advancerOf } from '../src/queue/advance.ts';
import { stopWatch } from '../src/queue/cancel.ts';
import { exclusiveIn } from '../src/queue/exclusive.ts';
import { runGate } from '../src/queue/gate.ts';
import { circuitBreaker, portalPauses } from '../src/queue/pause.ts';
import { portalQueue, queuesOn, runsQueue } from '../src/queue/queues.ts';
import type { Handlers } from '../src/queue/turn.ts';
import { queueWorker } from '../src/queue/worker.ts';
import { openRedis } from '../src/redis-server/embedded.ts';
import type { DatasetWork } from '../src/state/run-work.ts';
import { type Runs, runsIn } from '../src/state/runs.ts';
import { plainRequest } from '../test/support/plain-request.ts';
import type { BenchOptions } from './options.ts';

const prefix = 'bench';
const request: RunRequest = {
  manifestPath: '',
  manifest: 'm',
  portal: 'p',
  why: 'command',
  ...plainRequest,
  only: null,
};
const runId = 'r';

/** A run of `datasets` datasets whose jobs do nothing. */
const handlersOf = (runs: Runs, datasets: number, ended: () => void): Handlers => ({
  trigger: { run: async () => null },
  run: {
    run: async ({ writer }) => {
      const own = runs.forJob(writer);
      await own.phases.startOver(runId);
      const plan = own.newPlan(runId);
      for (let at = 0; at < datasets; at++) {
        const work = { wish: { key: `m/d${at}` } } as DatasetWork; // nobody reads more of it
        await plan.add({ datasets: [work], resources: [], settled: [], claims: [] });
      }
      await plan.end([]);
    },
  },
  dataset: { run: async ({ data, writer }) => runs.forJob(writer).leave(runId, data.key) },
  export: { run: async () => null },
  prove: { run: async () => null },
  close: {
    run: async () => {
      await runs.drop(runId);
      ended();
    },
  },
});

/** Prints the processor time of a job. */
const measure = async (redis: Redis, { datasets, concurrency }: BenchOptions): Promise<void> => {
  const keys = redisKeys(prefix);
  const log = createLog({ level: 'error' });
  const queues = queuesOn(redis, { prefix, attempts: 4, keepLogs: 1000, keepMs: 60_000 });
  const pauses = portalPauses(redis, keys, queues);
  const runs = runsIn(redis, keys, 60_000);
  const gate = runGate(redis, keys, queues, runs);
  const advancer = advancerOf(queues, gate, runs);
  const { promise: end, resolve: ended } = Promise.withResolvers<void>();
  const settings = { failures: 5, probeMs: 5_000, maxProbeMs: 60_000, longestRequestedMs: 60_000 };
  const common = {
    queues,
    handlers: handlersOf(runs, datasets, ended),
    pauses,
    breaker: circuitBreaker({ redis, keys, pauses, settings, log }),
    exclusive: exclusiveIn(redis, keys.exclusive),
    stops: stopWatch(redis, keys, pauses),
    isOfOthers: async () => false,
    heartbeat: { id: 'bench', lives: async () => true },
    logKey: keys.log,
    ended: (id: string) => advancer.advance(id),
    retry: { backoffMs: 1_000, maxBackoffMs: 60_000 },
    lockMs: 5_000,
    stalledCheckMs: 1_000,
    log,
  };
  const workers = [
    queueWorker({ queue: runsQueue, concurrency: 2, ...common }),
    queueWorker({ queue: portalQueue(request.portal), concurrency, ...common }),
  ];
  await Promise.all(workers.map((worker) => worker.ready()));
  const [used, begun] = [process.cpuUsage(), performance.now()];
  await runs.ask(runId, { manifest: 'm', portal: 'p' }, request);
  await queues.runs.add('run', { kind: 'run', runId, ...request }, queues.runOptions(runId));
  await end;
  const { user, system } = process.cpuUsage(used);
  const seconds = (performance.now() - begun) / 1000;
  process.stdout.write(
    `${datasets} jobs, ${concurrency} at once: ${((user + system) / 1000 / datasets).toFixed(2)} ms of processor time each ` +
      `(mark 1 for an item, of which a job has one or more), ${(datasets / seconds).toFixed(0)} jobs/s\n`,
  );
  await Promise.all(workers.map((worker) => worker.stop(false)));
  await queues.close();
};

/** See the head of this file. */
export const run = async (options: BenchOptions): Promise<void> => {
  const stateDir = await mkdtemp(join(tmpdir(), 'sluice-queue-'));
  const env = { ...process.env };
  delete env.REDIS_URL;
  const log = createLog({ level: 'error' });
  const server = await openRedis({
    url: undefined,
    prefix,
    stateDir,
    appendfsync: 'everysec',
    fetch: true,
    env,
    log,
  });
  const redis = new Redis({ ...server.options, maxRetriesPerRequest: null });
  try {
    for (let round = 0; round < options.rounds; round++) {
      await redis.flushall();
      await measure(redis, options);
    }
  } finally {
    redis.disconnect();
    await server.close();
    await rm(stateDir, { recursive: true, force: true });
  }
};
