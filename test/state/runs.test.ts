// Records of runs: what was asked, how far it is, and the report.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { JobLostError } from '../../src/model/errors.ts';
import type { JobWriter } from '../../src/model/lease.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import type { ReportItem, StoredReport } from '../../src/model/report.ts';
import { ReportBuilder } from '../../src/state/report-lines.ts';
import { type DatasetWork, type ItemRecord, type ResourceWork, Runs } from '../../src/state/runs.ts';
import { useLedger } from '../pipeline/handlers/support/job.ts';
import { lossyRedis } from '../support/lossy-redis.ts';

const { redis } = useLedger();
const day = 24 * 3600 * 1000;
const runs = (keepMs = day): Runs => new Runs(redis(), redisKeys('test'), keepMs);
const target = { manifest: 'city', portal: 'p' };

const item = (key: string, outcome: ReportItem['outcome']): ReportItem => ({
  key,
  kind: key.split('/').length > 2 ? 'resource' : 'dataset',
  nid: '1',
  uuid: 'u',
  url: null,
  actions: outcome === 'done' ? ['created'] : [],
  outcome,
  live: true,
  stale: false,
  rows: null,
  file: null,
  rejected: null,
  mended: [],
  warnings: [],
  reason: null,
  jobId: null,
  attempts: 1,
  ms: 1,
});

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
  const of = { wish: { ...wish, key }, why: 'new', nid: null };
  return { ...of, resources: [`${key}/a`], order: [`${key}/a`, `${key}/b`], next: [], ...common };
};
const resource = (key: string): ResourceWork => {
  const source = { kind: 'link' as const, url: 'https://x.example' };
  const full = { ...wish, key, datasetKey: 'city/one', source, import: 'never' as const };
  const work = { wish: full, why: 'new', source: null, ...common };
  return work;
};

const report = (runId: string): StoredReport => {
  const builder = new ReportBuilder();
  for (const each of [item('city/one/a', 'quarantined'), item('city/one', 'done')]) builder.add(each);
  const at = '2026-11-21T12:00:00.000Z';
  return builder.end({ runId, ...target, startedAt: at, endedAt: at, reason: null });
};

it('a part of a plan whose reply was lost with its connection is in the plan once', async () => {
  // Twice in the plan, its jobs were forgotten with one page and added again for the other, forever.
  const { client, cutAfter, close } = await lossyRedis(redis().options.path ?? '');
  try {
    const cutRuns = new Runs(client, redisKeys('test'), day);
    const plan = cutRuns.newPlan('cut');
    const part = { datasets: [], resources: [], settled: [], claims: [] };
    await plan.add(part);
    for (const id of ['c1', 'c2']) {
      cutAfter(0);
      await plan.add({ ...part, claims: [{ claim: id, reason: null }] });
    }
    await plan.end([]);
    expect((await cutRuns.planned('cut'))?.claims.map(({ claim }) => claim)).toEqual(['c1', 'c2']);
  } finally {
    close();
  }
});

it('items that need no job make no page of jobs, and are reported once', async () => {
  const plan = runs().newPlan('still');
  const nothing = { datasets: [], resources: [], settled: [], claims: [] };
  await plan.add(nothing);
  await plan.add({ ...nothing, settled: [item('city/two', 'unchanged'), item('city/one', 'unchanged')] });
  await plan.add({ ...nothing, datasets: [dataset('city/three')] });
  await plan.add({ ...nothing, settled: [item('city/four', 'held')] });
  expect(await plan.end([])).toEqual({ datasets: 1, resources: 0, settled: 3 });
  expect(await runs().plannedPage('still', 0)).toEqual(['city/three']);
  expect(await runs().plannedPage('still', 1)).toBeNull();
  const { items, counts } = (await runs().reported('still')).end(report('still'));
  expect(items.map(({ key }) => key)).toEqual(['city/four', 'city/one', 'city/two']);
  expect(counts.dataset).toEqual({ unchanged: 2, held: 1 });
  await runs().close({ ...report('still'), items, counts });
  expect((await runs().summary('still'))?.fates).toEqual({ unchanged: 2, held: 1 });
  await runs().drop('still');
  expect(await redis().keys('test.run-*still*')).toEqual([]);
});

describe('a run', () => {
  it('is queued before it begins, running with a plan, done with a report', async () => {
    expect((await runs().progress('r1')).state).toBe('queued');
    expect(await runs().exists('r1')).toBe(false);
    const begun = await runs().begin('r1', target);
    expect(await runs().begin('r1', target)).toBe(begun);
    expect(await runs().planned('r1')).toBeNull();
    const work = {
      datasets: [dataset('city/one')],
      resources: [resource('city/one/a')],
      settled: [item('city/two', 'unchanged')],
      claims: [{ claim: 'c1', reason: null }],
    };
    const remarks = ['`x` has no field on the portal (in "a")'];
    const gone = async () => Promise.reject(new JobLostError('gone'));
    const writer = { write: gone, lease: { check: gone } } as unknown as JobWriter;
    const lost = runs().inNameOf(writer).newPlan('r1');
    await expect(lost.add({ datasets: [dataset('city/x')], resources: [], settled: [], claims: [] })).rejects.toThrow(
      'gone',
    );
    await expect(lost.end([])).rejects.toThrow('gone');
    await expect(runs().inNameOf(writer).proofs('r1', 10)).rejects.toThrow('gone');
    await expect(runs().inNameOf(writer).close(report('r1'))).rejects.toThrow('gone');
    expect((await runs().progress('r1')).state).toBe('running');
    const abandoned = runs().newPlan('r1');
    await abandoned.add({ ...work, datasets: [dataset('city/other')] });
    expect(await runs().planned('r1')).toBeNull();
    const plan = runs().newPlan('r1');
    await plan.add({ ...work, resources: [], settled: [], claims: [] });
    await plan.add({ ...work, datasets: [] });
    expect(await plan.end(remarks)).toEqual({ datasets: 1, resources: 1, settled: 1 });
    expect(await runs().planned('r1')).toMatchObject({
      datasets: ['city/one'],
      claims: work.claims,
      remarks,
    });
    expect(await runs().progress('r1')).toMatchObject({ state: 'running', total: 2, done: 0, failed: 0 });
    expect(await runs().datasetWork('r1', 'city/one')).toMatchObject({
      wish: { key: 'city/one' },
      resources: ['city/one/a'],
      order: ['city/one/a', 'city/one/b'],
    });
    expect((await runs().resourceWork('r1', 'city/one/a'))?.wish.key).toBe('city/one/a');
    expect(await runs().resourceWork('r1', 'city/nothing')).toBeNull();

    const ended = (key: string, outcome: ReportItem['outcome']) =>
      runs().keep('r1', key, { actions: [], unproven: null, attempts: 0, ms: 1, ended: item(key, outcome) });
    expect(await runs().record('r1', 'city/one')).toEqual({
      actions: [],
      unproven: null,
      attempts: 0,
      ms: 0,
      ended: null,
    });
    await runs().keep('r1', 'city/one', { actions: ['created'], unproven: null, attempts: 0, ms: 7, ended: null });
    expect(await runs().record('r1', 'city/one')).toEqual({
      actions: ['created'],
      unproven: null,
      attempts: 0,
      ms: 7,
      ended: null,
    });
    expect(await runs().progress('r1')).toMatchObject({ total: 2, done: 0 });
    await ended('city/one', 'done');
    await ended('city/one/a', 'quarantined');
    const { items } = (await runs().reported('r1')).end(report('r1'));
    expect(items.map(({ key }) => key)).toEqual(['city/one', 'city/one/a', 'city/two']);
    expect(await runs().progress('r1')).toMatchObject({ total: 2, done: 2, failed: 1 });
    // A resource that got a job after all: never more done than there are.
    await ended('city/one/b', 'done');
    expect(await runs().progress('r1')).toMatchObject({ total: 3, done: 3 });

    await runs().close(report('r1'));
    expect((await runs().progress('r1')).state).toBe('done');
    expect(await runs().report('r1')).toEqual(report('r1'));
    await runs().drop('r1');
    await runs().drop('r1');
    expect(await runs().progress('r1')).toMatchObject({ total: 3, done: 3, failed: 1 });
    expect(await runs().datasetWork('r1', 'city/one')).toBeNull();
    expect(await runs().report('r1')).toEqual(report('r1'));
    expect(await runs().target('r1')).toEqual(target);
    expect(await redis().ttl(redisKeys('test').run('r1'))).toBeGreaterThan(0);
  });

  it('writes a large plan down in pieces, so that no command of it is large', async () => {
    const commands = async (): Promise<number> =>
      Number(/cmdstat_hset:calls=(\d+)/.exec(await redis().info('commandstats'))?.[1] ?? 0);
    const datasets = Array.from({ length: 300 }, (_, index) => {
      const work = dataset(`city/d${index}`);
      return { ...work, wish: { ...work.wish, fields: { body: randomBytes(10_000).toString('base64') } } };
    });
    const before = await commands();
    const plan = runs().newPlan('large');
    await plan.add({ datasets, resources: [], settled: [], claims: [] });
    expect((await commands()) - before).toBeGreaterThan(5);
    await plan.end([]);
    expect((await runs().planned('large'))?.datasets).toHaveLength(300);
    expect(await runs().datasetWork('large', 'city/d299')).toEqual(datasets[299]);
  });

  it('lists the tables that wait for their proof, the same however often it is asked', async () => {
    const good = { fid: '1', name: 't.csv', bytes: 1, sha256: 's', url: null, rows: 1, delimiter: ',' };
    const unproven = { nid: '7', uuid, rows: 1, columns: 1, good, version: null };
    const keep = (key: string, more: Partial<ItemRecord>) =>
      runs().keep('r2', key, { actions: [], unproven, attempts: 0, ms: 1, ended: null, ...more });
    await runs().begin('r2', target);
    for (const key of ['city/a/3', 'city/a/1', 'city/a/2']) await keep(key, {});
    await keep('city/a/0', { unproven: null });
    await keep('city/a/4', { ended: item('city/a/4', 'failed') });
    const lists = [['city/a/1', 'city/a/2'], ['city/a/3']];
    expect(await runs().proofs('r2', 2)).toEqual(lists);
    await keep('city/a/1', { unproven: null, ended: item('city/a/1', 'done') });
    await keep('city/a/5', {});
    expect(await runs().proofs('r2', 2)).toEqual(lists);
    expect(await runs().record('r2', 'city/a/3')).toMatchObject({ unproven });
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
    expect((await store.summary(runId))?.fates).toEqual({ added: 1, removed: 1, unchanged: 1, quarantined: 12 });
    const [cause, ...others] = await store.causes(runId);
    expect(others).toEqual([]);
    expect(cause).toMatchObject({ reason, count: 12 });
    expect(cause?.items.map(({ key }) => key)).toEqual(failed.slice(0, 10).map(({ key }) => key));
  });
});
