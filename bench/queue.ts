// What the queue costs: processor time of the worker for each job whose handler does nothing.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { plainRequest, type RunData } from '../src/model/job.ts';
import { createLog } from '../src/model/log.ts';
import { redisKeys } from '../src/model/redis-keys.ts';
import { StopWatch } from '../src/queue/cancel.ts';
import { Exclusive } from '../src/queue/exclusive.ts';
import { CircuitBreaker, PortalPauses } from '../src/queue/pause.ts';
import { portalQueue, Queues, runsQueue } from '../src/queue/queues.ts';
import { type Handlers, QueueWorker } from '../src/queue/worker.ts';
import { openRedis } from '../src/redis-server/embedded.ts';
import type { BenchOptions } from './options.ts';

const jobsPerPage = 200;
const prefix = 'bench';
const request: RunData = {
  kind: 'run',
  runId: 'r',
  manifestPath: '',
  manifest: 'm',
  portal: 'p',
  why: 'command',
  ...plainRequest,
  only: null,
};

/** Adds the jobs of `datasets` datasets page by page, as a run does, and waits for their end. */
const handlersOf = (datasets: number, ended: () => void): Handlers => ({
  trigger: { run: async () => null },
  run: {
    run: async (job) => {
      await job.pages({
        settled: 0,
        priority: 'normal',
        page: async (index) => {
          const length = Math.min(jobsPerPage, datasets - index * jobsPerPage);
          const { runId, manifest, portal } = request;
          const keyOf = (at: number): string => `m/d${index * jobsPerPage + at}`;
          return length <= 0
            ? null
            : Array.from({ length }, (_, at) => ({ kind: 'dataset', runId, manifest, portal, key: keyOf(at) }));
        },
        settle: async () => undefined,
        waits: async () => undefined,
      });
      ended();
      return null;
    },
  },
  dataset: { run: async () => null },
  prove: { run: async () => null },
});

/** Prints the processor time of a job. */
const measure = async (redis: Redis, { datasets, concurrency }: BenchOptions): Promise<void> => {
  const keys = redisKeys(prefix);
  const log = createLog({ level: 'error' });
  const queues = new Queues(redis, { prefix, attempts: 4, keepLogs: 1000, keepMs: 60_000 });
  const pauses = new PortalPauses(redis, keys, queues);
  const { promise: end, resolve: ended } = Promise.withResolvers<void>();
  const settings = { failures: 5, probeMs: 5_000, maxProbeMs: 60_000, longestRequestedMs: 60_000 };
  const common = {
    queues,
    handlers: handlersOf(datasets, ended),
    pauses,
    breaker: new CircuitBreaker({ redis, keys, pauses, settings, log }),
    exclusive: new Exclusive(redis, keys.exclusive),
    stops: new StopWatch(redis, keys, pauses),
    isOfOthers: async () => false,
    heartbeat: { id: 'bench', lives: async () => true },
    logKey: keys.itemLog,
    retry: { backoffMs: 1_000, maxBackoffMs: 60_000 },
    lockMs: 5_000,
    stalledCheckMs: 1_000,
    log,
  };
  const workers = [
    new QueueWorker({ queue: runsQueue, concurrency: 2, ...common }),
    new QueueWorker({ queue: portalQueue(request.portal), concurrency, ...common }),
  ];
  await Promise.all(workers.map((worker) => worker.ready()));
  const [used, begun] = [process.cpuUsage(), performance.now()];
  await queues.runs.add('run', request, queues.runOptions(request.runId));
  await end;
  const { user, system } = process.cpuUsage(used);
  const seconds = (performance.now() - begun) / 1000;
  process.stdout.write(
    `${datasets} jobs, ${concurrency} at once: ${((user + system) / 1000 / datasets).toFixed(2)} ms of processor time each ` +
      `(mark 1 for an item, of which a job has one or more), ${(datasets / seconds).toFixed(0)} jobs/s\n`,
  );
  await Promise.all(workers.map((worker) => worker.stop()));
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
    allowFetch: true,
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
