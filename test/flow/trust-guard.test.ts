// Taking down what the source no longer names: only on purpose, only within the guard, and undone when it comes back.

import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
import { ledgerIn } from '../../src/state/ledger.ts';
import { cases } from '../support/extent.ts';
import { reportIn } from '../support/printed.ts';
import type { Gateway } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import { openPortalPlace } from './support/portal-place.ts';
import { doubles, type Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

let gateway: Gateway;
let reader: Reader;
let place: RedisPlace;
beforeAll(async () => {
  ({ gateway, reader, place } = await openPortalPlace({ jobs: { lock: '2s', stalledCheck: '250ms' } }));
});

interface Wished {
  id: string;
  /** Ids of the tables, by default one. */
  tables?: string[];
  more?: Record<string, unknown>;
}
const write = (name: string, wished: Wished[], more: Record<string, unknown> = {}): string => {
  const datasets = wished.map(({ id, tables = ['t'], more: details = {} }) => ({
    id,
    title: `${name} ${id}`,
    ...details,
    resources: tables.map((table) => {
      const file = place.write(`data/${name}/${id}-${table}.csv`, `id,value\n1,${id}\n`);
      return { id: table, title: `${name} ${id} table`, file };
    }),
  }));
  return place.manifest({ name, ...more, datasets });
};
const some = (count: number): Wished[] => Array.from({ length: count }, (_, index) => ({ id: `d${index}` }));
const did = ({ items }: Report): Record<string, string> =>
  Object.fromEntries(items.flatMap(({ key, actions }) => (actions.length > 0 ? [[key, actions.join('+')]] : [])));
const statusOf = async (nid: string | null): Promise<string> => (await reader.read(nid ?? '')).status;

describe('what the manifest no longer names', () => {
  it('stays by default', async () => {
    const manifest = write('keep', some(3));
    const { report } = await place.publish(manifest);
    write('keep', some(1));
    gateway.takeWrites();
    expect((await place.publish(manifest)).code).toBe(0);
    expect(gateway.takeWrites()).toEqual([]);
    expect(await statusOf(itemOf(report, 'keep/d2').nid)).toBe('1');
  });

  const milder = [
    ['orphan', 'orphaned'],
    ['unpublish', 'unpublished'],
  ];

  it.each(cases(milder, milder.slice(0, 1)))(
    'is taken down by %s, with its resources, and restored when it returns',
    async (onMissing, action) => {
      const name = `by-${onMissing}`;
      const manifest = write(name, some(3), { onMissing });
      const first = (await place.publish(manifest)).report;
      const nids = ['d2', 'd2/t'].map((id) => itemOf(first, `${name}/${id}`).nid ?? '');
      write(name, some(2), { onMissing });
      const down = await place.publish(manifest);
      expect(down.code).toBe(0);
      expect(did(down.report)).toEqual({ [`${name}/d2`]: action, [`${name}/d2/t`]: action });
      for (const nid of nids) {
        const node = await reader.read(nid);
        expect(node.status).toBe('0');
        if (onMissing === 'orphan') expect(node).toMatchObject({ field_orphan: { und: [{ value: '1' }] } });
      }
      expect((await place.run(['status', `${name}/d2`])).out).toContain(`removed (${onMissing})`);
      gateway.takeWrites();
      expect(did((await place.publish(manifest)).report)).toEqual({});
      expect(gateway.takeWrites()).toEqual([]);

      write(name, some(3), { onMissing });
      const back = await place.publish(manifest);
      expect(back.code).toBe(0);
      expect(did(back.report)).toEqual({ [`${name}/d2`]: 'updated', [`${name}/d2/t`]: 'updated' });
      expect(itemOf(back.report, `${name}/d2/t`)).toMatchObject({ nid: nids[1], live: true, rows: 1 });
      for (const nid of nids) {
        const node = await reader.read(nid);
        expect(node.status).toBe('1');
        if (onMissing === 'orphan') expect(node).toMatchObject({ field_orphan: { und: [{ value: '0' }] } });
      }
    },
  );

  it('is deleted where that is requested, and recreated when it returns', async () => {
    const manifest = write('by-delete', some(3), { onMissing: 'delete' });
    const first = (await place.publish(manifest)).report;
    write('by-delete', some(2), { onMissing: 'delete' });
    const down = await place.publish(manifest);
    expect(did(down.report)).toEqual({ 'by-delete/d2': 'deleted', 'by-delete/d2/t': 'deleted' });
    await expect(statusOf(itemOf(first, 'by-delete/d2').nid)).rejects.toThrow('404');
    write('by-delete', some(3), { onMissing: 'delete' });
    const back = await place.publish(manifest);
    expect(itemOf(back.report, 'by-delete/d2/t')).toMatchObject({ live: true, rows: 1 });
    expect(doubles(await reader.list())).toEqual([]);
  });

  it('is no more than renamed: by renamedFrom, or by the same bytes under another id', async () => {
    const more = { onMissing: 'delete' };
    const manifest = write(
      'names',
      [
        { id: 'old', tables: ['t', 'u'] },
        { id: 'd1', tables: ['was'] },
      ],
      more,
    );
    const first = (await place.publish(manifest)).report;
    const before = await reader.list();
    const renamed = { id: 'new', tables: ['t', 'u'], more: { title: 'names old', renamedFrom: 'old' } };
    write('names', [renamed, { id: 'd1', tables: ['is'] }], more);
    // The same bytes: tables of a dataset named otherwise hold its id, so those are written as before.
    for (const table of ['t', 'u']) place.write(`data/names/new-${table}.csv`, 'id,value\n1,old\n');
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    expect(Object.values(did(report)).filter((actions) => actions !== 'updated')).toEqual([]);
    expect(itemOf(report, 'names/new/t').nid).toBe(itemOf(first, 'names/old/t').nid);
    expect(itemOf(report, 'names/d1/is').nid).toBe(itemOf(first, 'names/d1/was').nid);
    expect((await reader.list()).map(({ nid }) => nid)).toEqual(before.map(({ nid }) => nid));

    // The former id comes back as an item of its own.
    write('names', [renamed, { id: 'd1', tables: ['is', 'was'] }], more);
    for (const table of ['t', 'u']) place.write(`data/names/new-${table}.csv`, 'id,value\n1,old\n');
    place.write('data/names/d1-was.csv', 'id,value\n1,another\n');
    const third = await place.publish(manifest);
    expect(third.code).toBe(0);
    expect(did(third.report)).toEqual({ 'names/d1': 'updated', 'names/d1/was': 'created+attached+imported' });
    expect(await reader.records(itemOf(third.report, 'names/d1/is').uuid)).toMatchObject([{ value: 'd1' }]);
    expect((await reader.list()).length).toBe(before.length + 1);
  });

  it('waits out its grace', async () => {
    const more = { onMissing: 'unpublish', missingFor: '7d' };
    const manifest = write('grace', some(2), more);
    await place.publish(manifest);
    write('grace', some(1), more);
    expect(did((await place.publish(manifest)).report)).toEqual({});
    const ledger = ledgerIn(place.store, place.keys);
    for (const key of ['grace/d1', 'grace/d1/t']) {
      const known = await ledger.entry('local', key);
      if (!known?.missingSince) throw new Error(`${key} is not known to be missing`);
      expect(Date.now() - known.missingSince).toBeLessThan(60_000);
      await ledger.put('local', { ...known, missingSince: known.missingSince - 7 * 24 * 3600 * 1000 });
    }
    expect(did((await place.publish(manifest)).report)).toEqual({
      'grace/d1': 'unpublished',
      'grace/d1/t': 'unpublished',
    });
  });
});

describe('the guard', () => {
  const catalogue = (count: number): string => {
    const datasets = Array.from({ length: count }, (_, index) => ({ id: `d${index}`, title: `Catalogue ${index}` }));
    return place.manifest({ name: 'catalogue', onMissing: 'delete', datasets });
  };

  it('60 datasets, then 0, then 60 again: nothing is ever taken down; shrunken, it goes only when released', async () => {
    const manifest = catalogue(60);
    expect((await place.publish(manifest)).code).toBe(0);
    const before = await reader.list();
    gateway.takeWrites();

    catalogue(0);
    const empty = await place.publish(manifest);
    expect(empty).toMatchObject({ code: 4, report: { reason: { code: 'held' } } });
    expect(empty.report.reason?.message).toContain('never removes');
    const status = await place.run(['status']);
    expect(status).toMatchObject({
      code: 4,
      out: expect.stringContaining(`HELD by the guard: run ${empty.report.runId}`),
    });
    // Even released, an empty source takes nothing down.
    expect((await place.run(['release', empty.report.runId])).code).toBe(0);
    expect((await place.publish(manifest)).code).toBe(4);

    catalogue(60);
    expect((await place.publish(manifest)).report.counts).toMatchObject({ dataset: { unchanged: 60 }, actions: {} });
    expect(gateway.takeWrites()).toEqual([]);
    expect(await reader.list()).toEqual(before);
    expect((await place.run(['status'])).out).not.toContain('HELD');

    catalogue(53);
    const shrunk = await place.publish(manifest);
    expect(shrunk).toMatchObject({ code: 4, report: { items: [] } });
    expect(shrunk.report.reason?.message).toContain('7 of 60');
    expect((await place.run(['plan', manifest])).code).toBe(4);
    expect((await place.run(['discard', shrunk.report.runId])).code).toBe(0);
    expect(await place.run(['release', shrunk.report.runId])).toMatchObject({ code: 2 });
    expect(gateway.takeWrites()).toEqual([]);

    // A release takes down what was held, and no more: of what went missing since, nothing.
    const held = (await place.publish(manifest)).report.runId;
    catalogue(52);
    const released = await place.run(['release', held, '--json']);
    expect(released.code, released.out + released.err).toBe(0);
    expect(reportIn(released.out).counts.actions).toEqual({ deleted: 7 });
    expect(await reader.titles('dataset')).toContain('Catalogue 52');
    expect(gateway.takeWrites()).toHaveLength(7);
  });

  it('holds a plan that is applied, too', async () => {
    const manifest = write('applied', some(12), { onMissing: 'unpublish' });
    await place.publish(manifest);
    write('applied', some(2), { onMissing: 'unpublish' });
    expect((await place.run(['plan', manifest, '-o', 'plan.json'])).code).toBe(4);
    gateway.takeWrites();
    const applied = await place.run(['apply', 'plan.json', '--json']);
    expect(applied.code).toBe(4);
    expect(gateway.takeWrites()).toEqual([]);
    const { runId } = reportIn(applied.out);
    const released = await place.run(['release', runId, '--json']);
    expect(released.code, released.out + released.err).toBe(0);
    expect(reportIn(released.out).counts.actions).toEqual({ unpublished: 20 });

    // Even released, an empty source takes nothing down, and nothing of the plan has moved.
    write('applied', [], { onMissing: 'unpublish' });
    expect((await place.run(['plan', manifest, '-o', 'plan.json'])).code).toBe(4);
    const empty = reportIn((await place.run(['apply', 'plan.json', '--json'])).out);
    const kept = await place.run(['release', empty.runId, '--json']);
    expect(kept.code, kept.out + kept.err).toBe(0);
    expect(reportIn(kept.out).counts).toEqual({ dataset: {}, resource: {}, actions: {} });
  });

  it('expects no new data of what it holds, until that is released', async () => {
    const awaited = (id: string): Wished => ({ id, more: { expectEvery: '1d' } });
    const more = { onMissing: 'unpublish' };
    const manifest = write('awaited', [awaited('d0'), ...some(8).slice(1)], more);
    await place.publish(manifest);
    write('awaited', [{ id: 'd0' }, awaited('new')], more);
    const held = await place.publish(manifest);
    expect(held.code).toBe(4);
    const expected = async () =>
      (await place.store.hkeys(place.keys.expected)).filter((each) => each.includes('awaited'));
    expect(await expected()).toEqual(['data local awaited/d0']);
    expect((await place.run(['release', held.report.runId])).code).toBe(0);
    expect(await expected()).toEqual(['data local awaited/new']);
  });

  it('is refused in a drop manifest, with its place', async () => {
    place.write('drop.yaml', 'name: drop\nportal: local\nonMissing: delete\ndrop:\n  folder: inbox\n');
    const { code, err } = await place.run(['publish', 'drop.yaml']);
    expect(code).toBe(2);
    expect(err).toMatch(/drop\.yaml:3:\d+: onMissing: must be `keep` in a `drop` manifest/);
  });
});

it('remove takes one item down on purpose, and says so where there is none', async () => {
  const manifest = write('purpose', some(2));
  const { report } = await place.publish(manifest);
  // The dataset above it is not proven: that must not make it lose its fields.
  const ledger = ledgerIn(place.store, place.keys);
  const entry = await ledger.entry('local', 'purpose/d0');
  if (!entry) throw new Error('the dataset is not known');
  await ledger.put('local', { ...entry, metadataFingerprint: null, live: false });
  gateway.takeWrites();
  expect((await place.run(['remove', 'purpose/d0/t', '--how', 'orphan'])).code).toBe(0);
  const nid = itemOf(report, 'purpose/d0/t').nid;
  expect(gateway.takeWrites()).toEqual([`PUT /api/dataset/node/${nid}`]);
  expect(await reader.read(nid ?? '')).toMatchObject({ status: '0', field_orphan: { und: [{ value: '1' }] } });
  expect((await place.run(['remove', 'purpose/d1', '--how', 'delete', '--yes'])).code).toBe(0);
  await expect(statusOf(itemOf(report, 'purpose/d1').nid)).rejects.toThrow('404');
  await expect(statusOf(itemOf(report, 'purpose/d1/t').nid)).rejects.toThrow('404');
  for (const none of ['purpose/d9', 'purpose/', 'purpose']) // no manifest as a whole
    expect(await place.run(['remove', none, '--how', 'delete', '--yes'])).toMatchObject({ code: 2 });
  expect(await place.run(['remove', 'purpose/d0', '--how', 'burn'])).toMatchObject({ code: 2 });
});
