// Starts toy workers and adds runs for them.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { RunRequest } from '../../../src/model/job.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import type { Reason } from '../../../src/model/report.ts';
import { queuesOn } from '../../../src/queue/queues.ts';
import { runsIn } from '../../../src/state/runs.ts';
import { bundled } from '../../support/bundled.ts';
import { plainRequest } from '../../support/plain-request.ts';
import { startNode } from '../../support/run-node.ts';
import { claimDatabase } from '../../support/shared-redis.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startToyWorkers, type ToyWorkers } from './toy-workers.ts';

const script = bundled(new URL('./toy-worker.ts', import.meta.url));

/** How the job of a key ended. */
type Outcome = { state: 'completed' } | { state: 'failed'; reason: Reason };

/** Toy queues and worker processes that can be killed. */
export const openToy = async () => {
  const { options } = claimDatabase();
  const redis = new Redis({ ...options, maxRetriesPerRequest: null });
  const queues = queuesOn(redis, { prefix: 'toy', attempts: 4, keepLogs: 100, keepMs: 60_000 });
  const runs = runsIn(redis, redisKeys('toy'), 60_000);
  const children: ChildProcess[] = [];
  const serving: ToyWorkers[] = [];
  const start = async (...tricks: string[]): Promise<ChildProcess> => {
    await redis.del('toy.ready');
    const child = startNode(script, { args: [JSON.stringify(options), ...tricks] });
    children.push(child);
    await waitUntil('the toy worker', async () => (await redis.get('toy.ready')) ?? child.signalCode);
    return child;
  };
  return {
    redis,
    queues,
    /** Starts workers in this process. */
    async serve(): Promise<ToyWorkers> {
      const workers = await startToyWorkers(options);
      serving.push(workers);
      return workers;
    },
    /** Starts a worker process, which can be killed. */
    start,
    /** Keeps a worker process alive, starting it again whenever it was killed, until `until` says so. */
    async startUntil(until: () => Promise<boolean>, ...tricks: string[]): Promise<number> {
      let starts = 0;
      let child: ChildProcess | null = null;
      await waitUntil('the work to end in spite of kills', async () => {
        if (!child || child.signalCode !== null) {
          child = await start(...tricks);
          starts += 1;
        }
        return until();
      });
      return starts;
    },
    async addRun(runId: string, keys: string[], portal = 'p'): Promise<void> {
      const request: RunRequest = {
        manifestPath: '/m.yaml',
        manifest: 'm',
        portal,
        why: 'command',
        ...plainRequest,
        only: keys.map((key) => `m/${key}`),
      };
      await runs.ask(runId, { manifest: 'm', portal }, request);
      await queues.runs.add('run', { kind: 'run', runId, ...request }, queues.runOptions(runId));
    },
    /** How each job of a run ended, once the run is closed. */
    async outcomes(runId: string): Promise<Record<string, Outcome> | null> {
      if ((await runs.phases.phase(runId)) !== 'closed') return null;
      const outcomes = Object.entries(await redis.hgetall(`toy.outcomes:${runId}`));
      return Object.fromEntries(outcomes.map(([key, text]) => [key, JSON.parse(text) as Outcome]));
    },
    async close(): Promise<void> {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      await Promise.all(serving.map(({ stop }) => stop()));
      await queues.close();
      redis.disconnect();
    },
  };
};

/** See {@link openToy}. */
export type Toy = Awaited<ReturnType<typeof openToy>>;
