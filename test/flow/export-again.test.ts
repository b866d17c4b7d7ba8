// An export that left something undone, and one of a portal that only its command knows.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeRecord } from '../../src/pipeline/export/export-dataset.ts';
import { readRecord } from '../../src/pipeline/export/folder.ts';
import type { DatasetRecord } from '../../src/pipeline/export/record.ts';
import { reportIn } from '../support/printed.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type FakeNode, startFakePortal, withFile } from './support/fake-portal.ts';
import { makePlace } from './support/place.ts';
import { remoteConfig, writePassword } from './support/server.ts';

const dataset = (nid: string, resource: string): FakeNode => ({
  nid,
  type: 'dataset',
  title: `Dataset ${nid}`,
  field_resources: { und: [{ target_id: resource }] },
});

const portalOfTwo = async () => {
  const portal = await startFakePortal([
    dataset('1', '11'),
    dataset('2', '12'),
    withFile('11', '1', 'one.csv'),
    withFile('12', '2', 'two.csv'),
  ]);
  for (const name of ['one.csv', 'two.csv']) portal.files.set(name, (_, response) => response.end('a\n1'));
  return portal;
};

it('writes the same bytes for a record in whatever order its keys are', async () => {
  const node = { nid: '1', vid: '1', changed: '1', title: 'One', body: [] };
  const resource = { name: 'a', node, file: null, findings: [], table: { rows: 1, columns: ['a'] } };
  const record: DatasetRecord = {
    ...{ version: 1, node, resources: [resource], removed: null, removedResources: [] },
    ...{ terms: {}, groups: {}, findings: [{ code: 'draft', message: 'is not published' }] },
  };
  const about = { name: 'city', fileUrl: () => null };
  const folder = tempDir();
  await writeRecord(folder, 'one', record, about);
  const path = join(folder, 'datapackage.json');
  const [before, { ino }] = [readFileSync(path, 'utf8'), statSync(path)];
  const turned = (value: object): object => Object.fromEntries(Object.entries(value).reverse());
  const shuffled = turned({ ...record, resources: [turned(resource)], findings: record.findings.map(turned) });
  await writeRecord(folder, 'one', shuffled as DatasetRecord, about);
  expect([readFileSync(path, 'utf8'), statSync(path).ino]).toEqual([before, ino]);
  // What was read back is written as what was collected.
  await writeRecord(folder, 'one', (await readRecord(folder)) ?? record, about);
  expect([readFileSync(path, 'utf8'), statSync(path).ino]).toEqual([before, ino]);
});

it('takes with `sluice retry` what a run of it failed to take', async () => {
  const portal = await portalOfTwo();
  const place = makePlace({
    ...remoteConfig(portal.url),
    retry: { attempts: 2, backoff: '50ms', maxBackoff: '100ms' },
    http: { readRetries: 0 },
  });
  writePassword(place.dir);
  portal.broken.add('2');
  const first = await place.run(['export', 'local', '-o', 'out', '--only', 'Dataset*', '--json']);
  const report = reportIn(first.out);
  expect([first.code, report.counts.dataset]).toEqual([3, { done: 1, failed: 1 }]);
  portal.broken.clear();
  const before = portal.requests.length;
  const again = await place.run(['retry', report.runId, '--json']);
  expect(again).toMatchObject({ code: 0, err: '' });
  expect(existsSync(join(place.dir, 'out', 'datasets', 'dataset-2', 'data', 'two.csv'))).toBe(true);
  const asked = portal.requests.slice(before);
  expect(asked.filter((line) => /node\/1$|one[.]csv/.test(line))).toEqual([]);
  const done = reportIn(again.out);
  expect(done.export).toEqual(report.export);
  expect((await place.run(['retry', done.runId])).out).toContain('nothing failed');
});

it('counts a resource once that has joined a dataset since', async () => {
  const portal = await startFakePortal([{ ...dataset('1', '11'), field_resources: [] }, withFile('11', '', 'one.csv')]);
  portal.files.set('one.csv', (_, response) => response.end('a\n1'));
  const place = makePlace(remoteConfig(portal.url));
  writePassword(place.dir);
  const exported = async () => {
    const ended = await place.run(['export', 'local', '-o', 'out', '--json']);
    expect(ended.code, ended.out).toBe(0);
    return reportIn(ended.out).remarks?.[0];
  };
  expect(await exported()).toContain('1 dataset, 1 resource, 1 file of');
  Object.assign(portal.nodes[0] ?? {}, { field_resources: { und: [{ target_id: '11' }] }, changed: '1700000001' });
  expect(await exported()).toContain('1 dataset, 1 resource, 1 file of');
});

it('reports with --only nothing that it did not touch, such as a resource without a dataset', async () => {
  const alone = { ...dataset('1', ''), field_resources: [] };
  const portal = await startFakePortal([alone, withFile('11', '', 'one.csv')]);
  portal.files.set('one.csv', (_, response) => response.end('a\n1'));
  const place = makePlace(remoteConfig(portal.url));
  writePassword(place.dir);
  const keys = async (...more: string[]) => {
    const ended = await place.run(['export', 'local', '-o', 'out', '--json', ...more]);
    return reportIn(ended.out).items.map(({ kind }) => kind);
  };
  expect(await keys()).toEqual(['dataset', 'dataset', 'resource']);
  expect(await keys('--only', '1')).toEqual(['dataset']);
});

it('works by the address alone while `sluice start` runs, which does not know the portal', async () => {
  const portal = await portalOfTwo();
  const place = makePlace();
  const service = await place.serve();
  for (const folder of ['one', 'two', 'three']) {
    const ended = await place.run(['export', portal.url, '-o', folder]);
    expect(ended, ended.out + ended.err).toMatchObject({ code: 0 });
    expect(existsSync(join(place.dir, folder, 'datasets', 'dataset-2', 'data', 'two.csv'))).toBe(true);
  }
  await service.end('SIGTERM');
});
