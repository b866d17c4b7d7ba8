// Records of runs: what was asked, how far it is, and the report.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { JobLostError } from '../../src/model/errors.ts';
import type { JobWriter } from '../../src/model/lease.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { type ReportItem, reportItem, type StoredReport } from '../../src/model/report.ts';
import { plainWriter } from '../../src/state/redis/fields.ts';
import { ReportBuilder } from '../../src/state/report-lines.ts';
import { firstGroup } from '../../src/state/run-phase.ts';
import type { DatasetWork, ResourceWork } from '../../src/state/run-work.ts';
import { type Runs, runsIn } from '../../src/state/runs.ts';
import { lastRuns } from '../../src/state/targets.ts';
import { useLedger } from '../pipeline/handlers/support/job.ts';
import { lossyRedis } from '../support/lossy-redis.ts';

const { redis } = useLedger();
const day = 24 * 3600 * 1000;
const runs = (keepMs = day): Runs => runsIn(redis(), redisKeys('test'), keepMs);
const target = { manifest: 'city', portal: 'p' };

const item = (key: string, outcome: ReportItem['outcome']): ReportItem =>
  reportItem({ key, uuid: 'u', outcome, nid: '1', live: true, actions: outcome === 'done' ? ['created'] : [] });

const common = {
  removal: null,
  onDrift: 'overwrite' as const,
  frozen: false,
  refused: null,
  verify: false,
  createMissing: false,
};
const uuid = 'f4660933-c557-589c-bd84-ee83ec75e507';
const wish = { uuid, title: 't', published: true, fields: {}, metadataFingerprint: 'm' };
const dataset = (key: string): DatasetWork => {
  const of = { wish: { ...wish, key }, nid: null };
  return { ...of, resources: [`${key}/a`], order: [`${key}/a`, `${key}/b`], next: [], ...common };
};
const resource = (key: string): ResourceWork => {
  const source = { kind: 'link' as const, url: 'https://x.example' };
  const full = { ...wish, key, datasetKey: 'city/one', source, import: 'never' as const };
  const work = { wish: full, source: null, ...common };
  return work;
};

const report = (runId: string): StoredReport => {
  const builder = new ReportBuilder();
  for (const each of [item('city/one/a', 'quarantined'), item('city/one', 'done')]) builder.add(each);
  const at = '2026-11-21T12:00:00.000Z';
  return builder.end({ runId, ...target, startedAt: at, endedAt: at, reason: null });
};

/** As a program reads it. */
const plain = (stored: StoredReport | null): unknown => JSON.parse(JSON.stringify(stored));

const nothing = { datasets: [], resources: [], settled: [], claims: [] };

/** Writes of a job that another worker has. */
const lostWriter = (): JobWriter => {
  const gone = async () => Promise.reject(new JobLostError('gone'));
  const renewed = () => {
    throw new JobLostError('gone');
  };
  const lease = { check: gone, renewed, key: 'test.no-lock', token: 'mine' };
  return { write: gone, writeLater: () => undefined, catchUp: async () => undefined, lease } as unknown as JobWriter;
};

it('a part of a plan whose reply was lost with its connection is in the plan once', async () => {
  const { client, cutAfter, close } = await lossyRedis(redis().options.path ?? '');
  try {
    const cutRuns = runsIn(client, redisKeys('test'), day);
    await cutRuns.phases.startOver('cut');
    const plan = cutRuns.newPlan('cut');
    cutAfter(0);
    await plan.add({ ...nothing, datasets: [dataset('city/one')], claims: [{ claim: 'c1', reason: null }] });
    await plan.end([]);
    expect((await cutRuns.drops('cut'))?.claims.map(({ claim }) => claim)).toEqual(['c1']);
    expect(await cutRuns.phases.open('cut', 0, 10)).toEqual([{ key: 'city/one', number: 0 }]);
  } finally {
    close();
  }
});

it('items that need no job are reported, and are no progress', async () => {
  await runs().phases.startOver('still');
  const plan = runs().newPlan('still');
  await plan.add({ ...nothing, settled: [item('city/two', 'unchanged'), item('city/one', 'unchanged')] });
  await plan.add({ ...nothing, datasets: [dataset('city/three')] });
  await plan.add({ ...nothing, settled: [item('city/four', 'held')] });
  expect(await plan.end([])).toEqual({ datasets: 1, resources: 0, settled: 3 });
  expect(await runs().progress('still')).toMatchObject({ total: 1, done: 0 });
  const { items, counts } = (await runs().reported('still')).end(report('still'));
  expect(Array.from(items, ({ key }) => key)).toEqual(['city/four', 'city/one', 'city/two']);
  expect(counts.dataset).toEqual({ unchanged: 2, held: 1 });
  await runs().close({ ...report('still'), items, counts });
  expect((await runs().summary('still'))?.fates).toEqual({ unchanged: 2, held: 1 });
  await runs().drop('still');
  expect((await redis().keys('test.*:still')).filter((key) => key !== 'test.run:still')).toEqual([]);
});

describe('a run', () => {
  it('is queued before it begins, running with a plan, done with a report', async () => {
    expect((await runs().progress('r1')).state).toBe('queued');
    const begun = await runs().begin('r1', target);
    expect(await runs().begin('r1', target)).toBe(begun);
    expect(await runs().drops('r1')).toBeNull();
    expect(await runs().phases.startOver('r1')).toBe('planning');
    const work = {
      datasets: [dataset('city/one')],
      resources: [resource('city/one/a')],
      settled: [item('city/two', 'unchanged')],
      claims: [{ claim: 'c1', reason: null }],
    };
    const remarks = ['`x` has no field on the portal (in "a")'];
    const lost = runs().forJob(lostWriter());
    const lostPlan = lost.newPlan('r1');
    await lostPlan.add({ ...nothing, datasets: [dataset('city/x')] });
    await expect(lostPlan.end([])).rejects.toThrow('gone');
    await expect(lost.phases.startOver('r1')).rejects.toThrow('gone');
    await expect(lost.close(report('r1'))).rejects.toThrow('gone');
    expect((await runs().progress('r1')).state).toBe('running');

    const abandoned = runs().newPlan('r1');
    await abandoned.add({ ...work, datasets: [dataset('city/other')], settled: [item('city/gone', 'unchanged')] });
    expect(await runs().isPlanned('r1')).toBe(false);
    expect(await runs().phases.startOver('r1')).toBe('planning');
    const plan = runs().newPlan('r1');
    await plan.add({ ...work, resources: [], settled: [], claims: [] });
    await plan.add({ ...work, datasets: [] });
    expect(await plan.end(remarks)).toEqual({ datasets: 1, resources: 1, settled: 1 });
    expect(await runs().phases.startOver('r1')).toBe('publish');
    expect(await runs().phases.open('r1', 0, 10)).toEqual([{ key: 'city/one', number: 0 }]);
    expect((await runs().drops('r1'))?.claims).toEqual(work.claims);
    expect(await runs().remarks('r1')).toEqual(remarks);
    expect(await runs().progress('r1')).toMatchObject({ state: 'running', total: 2, done: 0, failed: 0 });
    expect(await runs().datasetWork('r1', 'city/one')).toMatchObject({
      wish: { key: 'city/one' },
      resources: ['city/one/a'],
      order: ['city/one/a', 'city/one/b'],
    });
    expect((await runs().resourceWork('r1', 'city/one/a'))?.wish.key).toBe('city/one/a');
    expect(await runs().resourceWork('r1', 'city/nothing')).toBeNull();

    const fresh = { actions: [], unproven: null, attempts: 0, ms: 0 };
    expect(await runs().item('r1', 'city/one')).toEqual({ begun: fresh, ended: null });
    const begunOne = { actions: ['created' as const], unproven: null, attempts: 0, ms: 7 };
    await runs().note('r1', 'city/one', begunOne);
    expect(await runs().item('r1', 'city/one')).toEqual({ begun: begunOne, ended: null });
    expect(await runs().progress('r1')).toMatchObject({ total: 2, done: 0 });
    await runs().leaveToProof('r1', 'city/one/a', begunOne);
    expect(await runs().progress('r1')).toMatchObject({ total: 2, done: 1, unproven: 1 });
    await runs().end('r1', item('city/one/a', 'done'));
    await runs().end('r1', item('city/one', 'done'));
    await runs().end('r1', item('city/one/a', 'quarantined'));
    await runs().leave('r1', 'city/one');
    expect(await runs().item('r1', 'city/one')).toEqual({ begun: fresh, ended: item('city/one', 'done') });
    expect(await runs().phases.isOpen('r1', 'city/one')).toBe(false);
    expect((await runs().failures('r1', 5)).map(({ key }) => key)).toEqual(['city/one/a']);
    const { items } = (await runs().reported('r1')).end(report('r1'));
    expect(Array.from(items, ({ key }) => key)).toEqual(['city/one', 'city/one/a', 'city/two']);
    expect(await runs().progress('r1')).toMatchObject({ total: 2, done: 2, failed: 1 });
    // A resource that got a job after all: never more done than there are.
    await runs().end('r1', item('city/one/b', 'done'));
    expect(await runs().progress('r1')).toMatchObject({ total: 3, done: 3 });

    await runs().close(report('r1'));
    expect((await runs().progress('r1')).state).toBe('done');
    expect(plain(await runs().report('r1'))).toEqual(plain(report('r1')));
    await runs().drop('r1');
    await runs().drop('r1');
    expect(await runs().phases.phase('r1')).toBe('closed');
    expect(await runs().progress('r1')).toMatchObject({ total: 3, done: 3, failed: 1 });
    expect(await runs().datasetWork('r1', 'city/one')).toBeNull();
    expect(plain(await runs().report('r1'))).toEqual(plain(report('r1')));
    expect(await runs().target('r1')).toEqual(target);
    expect(await redis().ttl(redisKeys('test').run('r1'))).toBeGreaterThan(0);
  });

  it('writes a large plan down in pieces, so that no command of it is large', async () => {
    const commands = async (): Promise<number> =>
      Number(/cmdstat_exec:calls=(\d+)/.exec(await redis().info('commandstats'))?.[1] ?? 0);
    const datasets = Array.from({ length: 300 }, (_, index) => {
      const work = dataset(`city/d${index}`);
      return { ...work, wish: { ...work.wish, fields: { body: randomBytes(10_000).toString('base64') } } };
    });
    await runs().phases.startOver('large');
    const before = await commands();
    const plan = runs().newPlan('large');
    await plan.add({ ...nothing, datasets });
    await plan.end([]);
    expect((await commands()) - before).toBeGreaterThan(5);
    expect(await runs().phases.open('large', 0, 1000)).toHaveLength(300);
    expect(await runs().datasetWork('large', 'city/d299')).toEqual(datasets[299]);
  });

  it('proves its tables in groups once its datasets have ended, and closes when they have', async () => {
    const good = { fid: '1', name: 't.csv', bytes: 1, sha256: 's', rows: 1, delimiter: ',' };
    const unproven = { nid: '7', uuid, rows: 1, columns: 1, good, version: null };
    const begun = { actions: [], unproven, attempts: 1, ms: 1 };
    const { phases } = runs();
    await phases.startOver('r2');
    const plan = runs().newPlan('r2');
    await plan.add({ ...nothing, datasets: [dataset('city/a')] });
    await plan.end([]);
    const tables = Array.from({ length: 25 }, (_, index) => `city/a/${String(index).padStart(2, '0')}`);
    for (const key of tables.toReversed()) await runs().leaveToProof('r2', key, begun);
    await phases.goOn('r2');
    expect(await phases.stand('r2')).toEqual({ phase: 'publish', isCancelled: false, inQueue: 0, waiting: 1 });
    expect(await phases.tables('r2', 0)).toEqual([]);
    await runs().leave('r2', 'city/a');
    await phases.goOn('r2');
    expect(await phases.stand('r2')).toEqual({ phase: 'prove', isCancelled: false, inQueue: 0, waiting: 25 });
    expect(await phases.tables('r2', 0)).toEqual(tables.slice(0, 20));
    await runs().note('r2', tables[24] ?? '', { ...begun, ms: 9 });
    expect(await phases.tables('r2', 1)).toEqual(tables.slice(20));
    await phases.addedTo('r2', firstGroup + 1);
    expect(await phases.stand('r2')).toMatchObject({ inQueue: 20, waiting: 5 });
    for (const key of tables) await runs().end('r2', item(key, 'done'));
    await phases.goOn('r2');
    expect(await phases.phase('r2')).toBe('closing');
  });

  it('is halted once, in any phase before its end, and is not planned then', async () => {
    const reason = { code: 'cancelled', message: 'c', hint: null };
    const { phases } = runs();
    expect(await phases.halt('r3', reason)).toBe('closing');
    expect(await phases.halt('r3', { ...reason, message: 'later' })).toBe('closing');
    expect(await runs().reason('r3')).toEqual(reason);
    expect(await phases.startOver('r3')).toBe('closing');
    await runs().newPlan('r3').end([]);
    expect(await phases.phase('r3')).toBe('closing');
    await phases.goOn('r3');
    expect(await phases.phase('r3')).toBe('closing');
  });

  it('is listed by age, newest first, as long as it is kept', async () => {
    await redis().zadd(redisKeys('test').runs, Date.now() - 3 * day, 'old', Date.now() - 1000, 'young');
    expect(await runs().latest(10)).toContain('old');
    await runs().begin('now', target);
    await runs().drop('now');
    const ids = await runs().latest(10);
    expect(ids).not.toContain('old');
    expect(ids.indexOf('now')).toBeLessThan(ids.indexOf('young'));
  });
});

describe('counts of a report', () => {
  it('go by kind and outcome, and by action', () => {
    expect(report('r').counts).toEqual({ dataset: { done: 1 }, resource: { quarantined: 1 }, actions: { created: 1 } });
  });
});

describe('what a list of runs shows', () => {
  it('of a closed run is kept beside its report', async () => {
    const store = runs();
    const runId = randomBytes(4).toString('hex');
    await store.begin(runId, target);
    expect(await store.summary(runId)).toBeNull();
    const reason = { code: 'table-header', message: 'line 1: two columns are called a', hint: null };
    const failed = Array.from({ length: 12 }, (_, index) => ({ ...item(`city/one/${index}`, 'quarantined'), reason }));
    const gone = { ...item('city/two', 'done'), actions: ['deleted' as const] };
    const items = [item('city/one', 'done'), gone, item('city/three', 'unchanged'), ...failed];
    await store.close({ ...report(runId), items });
    await store.drop(runId);
    expect((await store.summary(runId))?.fates).toEqual({ new: 1, removed: 1, unchanged: 1, quarantined: 12 });
    const [cause, ...others] = await store.causes(runId);
    expect(others).toEqual([]);
    expect(cause).toMatchObject({ reason, count: 12 });
    expect(cause?.items.map(({ key }) => key)).toEqual(failed.slice(0, 10).map(({ key }) => key));
  });
});

it('is the last one of its target once it has a report, also where a kill comes then', async () => {
  const killed = async () => Promise.reject(new Error('killed'));
  const write: JobWriter['write'] = (writes) => plainWriter(redis()).write(writes).then(killed);
  await expect(
    runs()
      .forJob({ write } as unknown as JobWriter)
      .close(report('last')),
  ).rejects.toThrow('killed');
  expect(await runs().isClosed('last')).toBe(true);
  expect((await lastRuns.all(redis(), redisKeys('test'))).get('city@p')).toMatchObject({ runId: 'last' });
});
