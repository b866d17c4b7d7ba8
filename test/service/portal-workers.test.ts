// Runs that stand still, made by hand in Redis: any worker brings them to their end.
import { afterEach, describe, expect, it } from 'vitest';
import { configOf } from '../../src/commands/session.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { itemId, type RunRequest } from '../../src/model/job.ts';
import { createLog } from '../../src/model/log.ts';
import { targetName } from '../../src/model/redis-keys.ts';
import { reportItem } from '../../src/model/report.ts';
import { openRuntime } from '../../src/service/runtime.ts';
import { commandPlace } from '../support/command-place.ts';
import { plainRequest } from '../support/plain-request.ts';
import { waitUntil } from '../support/wait-until.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const target = { manifest: 'm', portal: 'local' };
/** A place with one manifest, and a runtime that does not work yet. */
const open = async () => {
  const place = commandPlace({ jobs: { lock: '1500ms', stalledCheck: '500ms', stuck: '600ms' } });
  const manifestPath = place.manifest('m', { one: 'a,b\n1,2\n' });
  const { io } = place.io();
  const config = await configOf(place.options, io);
  const runtime = await openRuntime({ config, log: createLog({ level: 'silent' }), env: io.env, role: 'worker' });
  closers.push(() => runtime.close());
  const request: RunRequest = { ...target, manifestPath, why: 'command', only: null, ...plainRequest };
  return { place, runtime, request };
};

type Opened = Awaited<ReturnType<typeof open>>;

/** Asks for the run, without the job that this adds. */
const askFor = async ({ runtime, request }: Opened): Promise<string> => {
  const { runId } = await runtime.gate.request(request);
  await runtime.queues.runs.remove(runId);
  return runId;
};

const reportOf = ({ runtime }: Opened, runId: string) => waitUntil('the report', () => runtime.runs.report(runId));

/** The run has ended as others do, and the next one may begin. */
const expectLive = async (opened: Opened, runId: string): Promise<void> => {
  const { reason, items } = await reportOf(opened, runId);
  expect(reason).toBeNull();
  expect(Array.from(items, ({ outcome }) => outcome)).toEqual(['done', 'done']);
  await waitUntil('the gate', async () => (await opened.runtime.gate.state(target)).current === null);
};

describe('a run goes on, and ends as others do,', () => {
  it('when its gate is closed and it has no job', async () => {
    const opened = await open();
    const runId = await askFor(opened);
    await opened.runtime.startWorkers();
    await expectLive(opened, runId);
  });

  it('when a kill came while it was planned', async () => {
    const opened = await open();
    const { runs } = opened.runtime;
    const runId = await askFor(opened);
    await runs.phases.startOver(runId);
    const wish = { key: 'm/gone', uuid: 'u', title: 't', published: true, fields: {}, metadataFingerprint: 'f' };
    const settled = [reportItem({ key: wish.key, uuid: 'u', outcome: 'unchanged' })];
    await runs.newPlan(runId).add({ datasets: [], resources: [], settled, claims: [] });
    await opened.runtime.startWorkers();
    await expectLive(opened, runId);
  });

  it('when the jobs of its datasets vanished from the queue', async () => {
    const opened = await open();
    const { runtime } = opened;
    const queue = runtime.queues.portal('local');
    const { runId } = await runtime.gate.request(opened.request);
    await queue.pause(); // unknown to the record, so that a worker ends it as it begins
    const planned = waitUntil('its jobs', () => queue.getJob(itemId(runId, 'm/one'))).then((job) => job.remove());
    await runtime.startWorkers();
    await planned;
    await expectLive(opened, runId);
  });
});

describe('a run is closed as failed, with its reason,', () => {
  it('when its job failed without a report', async () => {
    const opened = await open();
    const { queues, redis } = opened.runtime;
    const { runId } = await opened.runtime.gate.request(opened.request);
    await redis.lrem(queues.runs.toKey('wait'), 1, runId);
    await redis.zadd(queues.runs.toKey('failed'), Date.now(), runId);
    await redis.hset(queues.runs.toKey(runId), { failedReason: 'the job data is invalid' });
    await opened.runtime.startWorkers();
    expect((await reportOf(opened, runId)).reason).toMatchObject({
      code: 'jobs-stuck',
      message: 'the run could not continue: the job data is invalid',
    });
  });

  it('when its request is invalid', async () => {
    const opened = await open();
    const { runtime } = opened;
    const runId = await askFor(opened);
    await runtime.redis.del(runtime.keys.run(runId));
    const asked = JSON.stringify({ current: { id: runId, request: {} }, again: null });
    await runtime.redis.hset(runtime.keys.gates, targetName(target), asked);
    await runtime.startWorkers();
    expect((await reportOf(opened, runId)).reason).toMatchObject({ code: 'jobs-stuck' });
    await waitUntil('the gate', async () => (await runtime.gate.state(target)).current === null);
  });
});

it('a run that does not move is told of by `status`', async () => {
  const opened = await open();
  const { runtime, place } = opened;
  const runId = await askFor(opened);
  await runtime.ledger.remember(target, opened.request.manifestPath);
  await runtime.runs.phases.stuck(runId, { at: Date.now(), why: 'its jobs are not in the queue', repairs: 1 });
  const shown = place.io();
  await statusCommand(undefined, place.options, shown.io);
  expect(shown.out()).toMatch(/the run is stuck: its jobs are not in the queue \(seen at .*, restarted once\)/);
});
