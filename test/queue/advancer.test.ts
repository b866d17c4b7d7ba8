// Runs of any size, advanced window by window with jobs that end in any order, up to the job that closes them.
import type { Job } from 'bullmq';
import { expect, it } from 'vitest';
import { closeId, type RunRequest } from '../../src/model/job.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { advancerOf } from '../../src/queue/advance.ts';
import { runGate } from '../../src/queue/gate.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { tablesAGroup } from '../../src/state/run-phase.ts';
import type { DatasetWork } from '../../src/state/run-work.ts';
import { runsIn } from '../../src/state/runs.ts';
import { cases } from '../support/extent.ts';
import { plainRequest } from '../support/plain-request.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = openTestRedis();
const keys = redisKeys('a');
const queues = queuesOn(redis, { prefix: 'a', attempts: 3, keepLogs: 10, keepMs: 60_000 });
const runs = runsIn(redis, keys, 60_000);
const advancer = advancerOf(queues, runGate(redis, keys, queues, runs), runs);
const request: RunRequest = {
  manifest: 'city',
  portal: 'local',
  manifestPath: '/city.yaml',
  why: 'command',
  only: null,
  ...plainRequest,
};

/** A planned run of so many datasets. */
const plannedRun = async (runId: string, datasets: number): Promise<void> => {
  await runs.ask(runId, request, request);
  await runs.begin(runId, request);
  await runs.phases.startOver(runId);
  const plan = runs.newPlan(runId);
  const works = Array.from({ length: datasets }, (_, at) => ({ wish: { key: `city/d${at}` } }) as DatasetWork);
  await plan.add({ datasets: works, resources: [], settled: [], claims: [] });
  await plan.end([]);
};

const nothing = { actions: [], unproven: null, attempts: 0, ms: 0 };

/** Does what a job does at its end: the tables of the first datasets are left to proof. */
const endJob = async (runId: string, { data, id = '' }: Job, tables: number): Promise<string> => {
  const { kind, key, group } = data;
  if (kind === 'dataset') {
    if (Number(key.slice('city/d'.length)) < tables) await runs.leaveToProof(runId, `${key}/t`, nothing);
    await runs.leave(runId, key);
  } else for (const table of await runs.phases.tables(runId, group)) await runs.leave(runId, table);
  await queues.portal('local').remove(id);
  return id;
};

const sizes: [name: string, datasets: number, tables: number][] = [
  ['none', 0, 0],
  ['one window', 900, 900],
  ['more than a window, a table each', 1300, 1300],
  ['several windows, some tables', 2600, 700],
];

it.each(cases(sizes, sizes.slice(0, 3)))(
  'of %s go through all phases, each job once',
  async (name, datasets, tables) => {
    const runId = `run-${name.replaceAll(/\W/g, '')}`;
    await plannedRun(runId, datasets);
    const ended: string[] = [];
    for (let turn = 0; turn < 100; turn++) {
      await advancer.advance(runId);
      const jobs: Job[] = await queues.portal('local').getJobs(['waiting', 'prioritized']);
      expect(jobs.length).toBeLessThanOrEqual(1000);
      if (jobs.length === 0) break;
      const some = turn % 2 === 0 ? jobs.slice(-600) : jobs.slice(0, 600);
      for (const job of some) ended.push(await endJob(runId, job, tables));
    }
    expect(await runs.phases.phase(runId)).toBe('closing');
    expect(await queues.runs.getJob(closeId(runId))).toBeTruthy();
    expect(ended).toHaveLength(datasets + Math.ceil(tables / tablesAGroup));
    expect(new Set(ended).size).toBe(ended.length);
  },
);
