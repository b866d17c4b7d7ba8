// Runs that stand still, made by hand in Redis: any worker brings them to their end.
import { afterEach, describe, expect, it } from 'vitest';
import { configOf } from '../../src/commands/session.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { childId, plainRequest, type RunRequest } from '../../src/model/job.ts';
import { createLog } from '../../src/model/log.ts';
import { Runtime } from '../../src/service/runtime.ts';
import { commandPlace } from '../support/command-place.ts';
import { waitUntil } from '../support/wait-until.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const target = { manifest: 'm', portal: 'local' };
const runId = '20261121-031500-stuck';

/** A place with one manifest, and a runtime that does not work yet. */
const open = async () => {
  const place = commandPlace({ jobs: { lock: '1500ms', stalledCheck: '500ms', stuck: '600ms' } });
  const manifestPath = place.manifest('m', { one: 'a,b\n1,2\n' });
  const { io } = place.io();
  const config = await configOf(place.options, io);
  const runtime = await Runtime.open({ config, log: createLog({ level: 'silent' }), env: io.env, role: 'worker' });
  closers.push(() => runtime.close());
  const request: RunRequest = { ...target, manifestPath, why: 'command', only: null, ...plainRequest };
  return { place, runtime, request };
};

type Opened = Awaited<ReturnType<typeof open>>;

/** Closes the gate of the target for a run that waits for these children. */
const waitFor = async ({ runtime, request }: Opened, children: string[]): Promise<void> => {
  const { redis, keys, queues } = runtime;
  await redis.sadd(keys.gates, 'm@local');
  await redis.hset(keys.gate(target), { current: runId, currentRequest: JSON.stringify(request) });
  await queues.runs.add('run', { kind: 'run', runId, ...request }, queues.runOptions(runId));
  await redis.lrem(queues.runs.toKey('wait'), 1, runId);
  await redis.zadd(queues.runs.toKey('waiting-children'), Date.now(), runId);
  const queue = queues.portal('local');
  for (const id of children) await redis.sadd(`${queues.runs.toKey(runId)}:dependencies`, queue.toKey(id));
};

const reportOf = ({ runtime }: Opened) => waitUntil('the report', () => runtime.runs.report(runId));

const child = childId({ kind: 'dataset', runId, ...target, key: 'm/one' });

describe('a run is started again, and ends as others do,', () => {
  it('when it waits for children that have all ended', async () => {
    const opened = await open();
    await waitFor(opened, []);
    await opened.runtime.startWorkers();
    expect((await reportOf(opened)).reason).toBeNull();
  });

  it('when a child was removed from the queue', async () => {
    const opened = await open();
    await waitFor(opened, [child]);
    await opened.runtime.startWorkers();
    expect((await reportOf(opened)).items.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
  });

  it('when few of its jobs are left and it has others to add', async () => {
    const opened = await open();
    const { redis, keys, queues } = opened.runtime;
    await waitFor(opened, ['a.child.of.an.earlier.page']);
    await redis.hset(queues.portal('local').toKey('a.child.of.an.earlier.page'), { name: 'dataset' });
    await redis.hset(keys.run(runId), { more: '1' });
    await opened.runtime.startWorkers();
    await waitUntil('its jobs', () => queues.portal('local').getJob(child));
    await redis.srem(
      `${queues.runs.toKey(runId)}:dependencies`,
      queues.portal('local').toKey('a.child.of.an.earlier.page'),
    );
    expect((await reportOf(opened)).reason).toBeNull();
  });

  it('when its gate is closed and it has no job', async () => {
    const opened = await open();
    await waitFor(opened, []);
    await opened.runtime.queues.runs.remove(runId);
    await opened.runtime.startWorkers();
    expect((await reportOf(opened)).reason).toBeNull();
  });

  it('when its job is in no list', async () => {
    const opened = await open();
    await waitFor(opened, []);
    await opened.runtime.redis.zrem(opened.runtime.queues.runs.toKey('waiting-children'), runId);
    await opened.runtime.startWorkers();
    expect((await reportOf(opened)).reason).toBeNull();
  });

  it('when it waits for children and holds no gate', async () => {
    const opened = await open();
    await waitFor(opened, []);
    await opened.runtime.redis.del(opened.runtime.keys.gate(target));
    await opened.runtime.startWorkers();
    expect((await reportOf(opened)).reason).toBeNull();
  });
});

describe('a run is closed as failed, with its reason,', () => {
  it('when beginning it again does not help; status says so, and the gate is open', async () => {
    const opened = await open();
    const { runtime, place } = opened;
    await waitFor(opened, ['nobody.knows.it']);
    await runtime.startWorkers();
    const known = await waitUntil('a word in the record', () => runtime.redis.hget(runtime.keys.run(runId), 'stuck'));
    expect(JSON.parse(known)).toMatchObject({ why: 'its jobs are not in the queue' });
    const { reason } = await reportOf(opened);
    expect(reason).toMatchObject({ code: 'jobs-stuck' });
    await waitUntil('the gate', async () => (await runtime.gate.state(target)).current === null);
    const shown = place.io();
    await statusCommand(undefined, place.options, shown.io);
    expect(shown.out()).toContain('jobs-stuck: the run could not continue: its jobs are not in the queue');
  });

  it('when its job failed without a report', async () => {
    const opened = await open();
    const { queues, redis } = opened.runtime;
    await waitFor(opened, []);
    await redis.zrem(queues.runs.toKey('waiting-children'), runId);
    await redis.zadd(queues.runs.toKey('failed'), Date.now(), runId);
    await redis.hset(queues.runs.toKey(runId), { failedReason: 'the job data is invalid' });
    await opened.runtime.startWorkers();
    const { reason } = await reportOf(opened);
    expect(reason).toMatchObject({
      code: 'jobs-stuck',
      message: 'the run could not continue: the job data is invalid',
    });
  });

  it('when its request is invalid', async () => {
    const opened = await open();
    await waitFor(opened, []);
    await opened.runtime.queues.runs.remove(runId);
    await opened.runtime.redis.hset(opened.runtime.keys.gate(target), 'currentRequest', '{}');
    await opened.runtime.startWorkers();
    expect((await reportOf(opened)).reason).toMatchObject({ code: 'jobs-stuck' });
  });
});
