// `metadata: measure`: what nobody wrote of a dataset is filled from its tables, and only that.
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Gateway, openGateway } from './support/gateway.ts';
import { openReader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { publisher, startPortal } from './support/server.ts';

const portal = await startPortal();
const gateway: Gateway = await openGateway(portal.url);
const reader = await openReader(portal.url, publisher.username, publisher.password);
const place = makeRemotePlace(gateway.url);
mkdirSync(join(place.dir, 'data'), { recursive: true });

const trees =
  'id,kind,date,lat,lon\n1,oak,2025-03-01,52.5,13.4\n2,elm,2024-12-31,52.4,13.6\n3,,2025-01-01,52.45,13.5\n';
const itemsIn = (node: Record<string, unknown>, field: string): unknown =>
  (node[field] as { und?: unknown[] } | undefined)?.und ?? [];

const nodeOf = async (title: string): Promise<Record<string, unknown>> => {
  const row = (await reader.list()).find((each) => each.title === title);
  return reader.read(row?.nid ?? '');
};

describe('measured metadata', () => {
  it('fills time, area and columns, says so, and sends nothing again', async () => {
    place.write('data/trees.csv', trees);
    const manifest = place.manifest({
      name: 'measured',
      metadata: 'measure',
      datasets: [
        {
          id: 'trees',
          title: 'Street trees',
          resources: [{ id: 'all', title: 'All trees', file: 'data/trees.csv' }],
        },
      ],
    });
    const first = await place.publish(manifest);
    expect([first.code, first.report.items.map(({ reason }) => reason)]).toEqual([0, [null, null]]);
    const node = await nodeOf('Street trees');
    expect(itemsIn(node, 'field_temporal_coverage')).toMatchObject([
      { value: expect.stringMatching(/^2024-12-31/), value2: expect.stringMatching(/^2025-03-01/) },
    ]);
    expect(itemsIn(node, 'field_spatial')).toMatchObject([
      { wkt: 'POLYGON ((13.4 52.4, 13.6 52.4, 13.6 52.5, 13.4 52.5, 13.4 52.4))' },
    ]);
    expect(itemsIn(node, 'field_additional_info')).toMatchObject([
      { first: 'Measured', second: 'time and area, from 1 table' },
    ]);
    const [body] = itemsIn(await nodeOf('All trees'), 'body') as { value: string }[];
    expect(body?.value.split('\n')).toEqual([
      'Columns, measured from 3 rows:',
      '',
      '- id: number, 1 to 3',
      '- kind: text, 1 empty cell',
      '- date: date, 2024-12-31 to 2025-03-01',
      '- lat: number, 52.4 to 52.5',
      '- lon: number, 13.4 to 13.6',
    ]);
    const kept = join(place.stateDir, 'measured');
    const [name = ''] = readdirSync(kept);
    gateway.takeWrites();
    const second = await place.publish(manifest);
    expect([second.code, second.report.counts]).toMatchObject([
      0,
      { dataset: { unchanged: 1 }, resource: { unchanged: 1 } },
    ]);
    expect([gateway.takeWrites(), readdirSync(kept)]).toEqual([[], [name]]);

    place.write('data/trees.csv', `${trees}4,fir,2026-01-01,52.45,13.5\n`);
    expect((await place.publish(manifest)).code).toBe(0);
    expect(itemsIn(await nodeOf('Street trees'), 'field_temporal_coverage')).toMatchObject([
      { value2: expect.stringMatching(/^2026-01-01/) },
    ]);
  });

  it('leaves what people wrote, and a faulty table to its own error', async () => {
    place.write('data/own.csv', trees);
    place.write('data/bad.csv', 'a,b\n1\n2,3\n');
    const written = { temporal: { from: '2020-01-01', to: '2020-12-31' }, spatial: { wkt: 'POINT (1 2)' } };
    const manifest = place.manifest({
      name: 'written',
      metadata: 'measure',
      datasets: [
        {
          ...{ id: 'own', title: 'Own words', ...written },
          resources: [{ id: 'own', title: 'Own table', description: 'By hand.', file: 'data/own.csv' }],
        },
        { id: 'bad', title: 'Bad', resources: [{ id: 'bad', title: 'Bad table', file: 'data/bad.csv' }] },
      ],
    });
    const { report } = await place.publish(manifest);
    expect(report.items.flatMap(({ key, reason }) => (reason ? [[key, reason.code]] : []))).toContainEqual([
      'written/bad/bad',
      'table-ragged',
    ]);
    const node = await nodeOf('Own words');
    expect(itemsIn(node, 'field_temporal_coverage')).toMatchObject([{ value: expect.stringMatching(/^2020-01-01/) }]);
    expect(itemsIn(node, 'field_spatial')).toMatchObject([{ wkt: 'POINT (1 2)' }]);
    expect(itemsIn(node, 'field_additional_info')).toEqual([]);
    expect(itemsIn(await nodeOf('Own table'), 'body')).toMatchObject([{ value: 'By hand.' }]);
  });
});
