// An export of 10,000 resources: memory does not grow with the portal, and requests stay as promised.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { type FakeNode, startFakePortal, withFile } from './support/fake-portal.ts';
import { makePlace } from './support/place.ts';
import { remoteConfig, writePassword } from './support/server.ts';

/** Resources of a dataset, and how many of them have a file. */
const [perDataset, withFiles] = [10, 6];

const portalOf = (datasets: number): FakeNode[] =>
  Array.from({ length: datasets }, (_, index) => {
    const nid = String((index + 1) * 100);
    const own = Array.from({ length: perDataset }, (__, at) => String(Number(nid) + at + 1));
    const resources = own.map((id, at): FakeNode => {
      const file = withFile(id, nid, `table-${id}.csv`);
      if (at < withFiles) return file;
      return { ...file, field_upload: [], field_link_api: { und: [{ url: `https://example.org/${id}` }] } };
    });
    const dataset: FakeNode = {
      nid,
      type: 'dataset',
      title: `Dataset ${index}`,
      body: { und: [{ value: 'word '.repeat(200), format: 'html' }] },
      field_resources: { und: own.map((target_id) => ({ target_id })) },
    };
    return [dataset, ...resources];
  }).flat();

/** Exports a portal of so many datasets; the largest memory of the process in MB, and the requests. */
const measured = async (datasets: number): Promise<{ memory: number; requests: number; again: number }> => {
  const portal = await startFakePortal(portalOf(datasets));
  const byType = Map.groupBy(portal.nodes, ({ type }) => type);
  for (const [index, node] of portal.nodes.entries()) node.changed = String(1_700_000_000 + index);
  const newestFirst = new Map([...byType].map(([type, nodes]) => [type, nodes.toReversed()]));
  portal.list = (type, { from, to, orderBy, status }) =>
    status === '0' ? [] : ((orderBy === 'changed' ? newestFirst : byType).get(type as 'dataset') ?? []).slice(from, to);
  for (const { nid, field_upload } of portal.nodes) {
    if (!Array.isArray(field_upload)) portal.files.set(`table-${nid}.csv`, (_, response) => response.end('a\n1'));
  }
  const place = makePlace({ ...remoteConfig(portal.url), jobs: {}, retry: {} });
  writePassword(place.dir);
  const run = place.spawn(['export', 'local', '-o', 'out', '--json']);
  let memory = 0;
  await waitUntil(
    'the export',
    () => {
      if (run.hasEnded()) return true;
      const status = readFileSync(`/proc/${run.pid}/status`, 'utf8');
      memory = Math.max(memory, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
      return undefined;
    },
    800_000,
  );
  expect(await run.ended).toBe(0);
  const requests = portal.requests.length;
  expect(
    execFileSync('find', [join(place.dir, 'out'), '-name', '*.csv'])
      .toString()
      .trim()
      .split('\n'),
  ).toHaveLength(datasets * withFiles);
  expect((await place.run(['export', 'local', '-o', 'out', '--json'])).code).toBe(0);
  return { memory, requests, again: portal.requests.length - requests };
};

it('10,000 resources take little more memory than 1,000', { timeout: 1_800_000 }, async () => {
  const [small, large] = [await measured(100), await measured(1000)];
  process.stdout.write(`${JSON.stringify({ small, large })}\n`);
  expect(large.memory).toBeLessThan(small.memory + 120);
  // Pages of twenty overlap by up to six, so that a list that moves loses nothing.
  const lists = 11_000 / 14 + 30;
  expect(large.requests).toBeLessThanOrEqual(lists + 1000 + 10_000 + 1000 * withFiles + 6000 / 18 + 10);
  expect(large.requests).toBeLessThanOrEqual(1 + 1000 / 20 + 2 * 10_000);
  expect(large.again).toBeLessThanOrEqual(lists);
});
