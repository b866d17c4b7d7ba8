// A plan is reviewed, then done exactly: it writes nothing, and what moved since is refused.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type PlanFile, planFileSchema } from '../../src/model/plan-file.ts';
import type { Report } from '../../src/model/report.ts';
import { planIn, reportIn } from '../support/printed.ts';
import type { Gateway } from './support/gateway.ts';
import { openPortalPlace } from './support/portal-place.ts';
import { doubles, type Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

let gateway: Gateway;
let reader: Reader;
let person: Reader;
let place: RedisPlace;
beforeAll(async () => {
  ({ gateway, reader, person, place } = await openPortalPlace());
});

const ids = ['parks', 'roads', 'water', 'trees'];
interface Version {
  titles?: Record<string, string>;
  tables?: Record<string, string>;
  only?: string[];
  more?: Record<string, unknown>;
}
const write = (name: string, { titles = {}, tables = {}, only = ids, more = {} }: Version = {}): string => {
  const datasets = only.map((id) => {
    place.write(`data/${name}-${id}.csv`, tables[id] ?? `id,value\n1,${id}\n`);
    const table = { id: 'table', title: `${name} ${id} table`, file: `data/${name}-${id}.csv` };
    return { id, title: titles[id] ?? `${name} ${id}`, tags: ['city'], resources: [table] };
  });
  return place.manifest({ name, ...more, datasets });
};

const plan = async (manifest: string, ...more: string[]): Promise<PlanFile> => {
  const { code, out, err } = await place.run(['plan', manifest, '--json', '-o', 'plan.json', ...more]);
  expect(code, out + err).toBe(0);
  return planIn(out);
};
const apply = async (...more: string[]): Promise<{ code: number | string; report: Report }> => {
  const { code, out, err } = await place.run(['apply', 'plan.json', '--json', ...more]);
  expect(out, err).not.toBe('');
  return { code, report: reportIn(out) };
};
const busy = ({ items }: PlanFile): string[] =>
  items.filter(({ actions }) => actions.length > 0).map(({ key, actions }) => `${key} ${actions.join('+')}`);
const refused = ({ items }: Report): Record<string, string> =>
  Object.fromEntries(items.flatMap(({ key, reason }) => (reason ? [[key, `${reason.code}: ${reason.message}`]] : [])));
const nidOf = ({ items }: Report, key: string): string => items.find((item) => item.key === key)?.nid ?? '';

describe('plan and apply', () => {
  it('lead to the state that publish leads to, and planning alone writes nothing anywhere', async () => {
    const manifest = write('twin');
    const before = await place.remembered();
    gateway.takeWrites();
    const made = await plan(manifest);
    expect(made.totals.actions).toEqual({ create: 8, attach: 4, import: 4 });
    expect(busy(made)).toContain('twin/parks/table create+attach+import');
    expect(made.totals.bytes).toBe(ids.join('').length + ids.length * 'id,value\n1,\n'.length);
    expect(await place.remembered()).toEqual(before);
    expect(gateway.takeWrites()).toEqual([]);
    expect(planFileSchema.parse(JSON.parse(readFileSync(join(place.dir, 'plan.json'), 'utf8')))).toEqual(made);

    const applied = await apply();
    expect(applied.code).toBe(0);
    expect(applied.report.counts.actions).toEqual({ created: 8, attached: 4, imported: 4 });
    expect(applied.report.items.every(({ live }) => live)).toBe(true);

    // What publish would still do: nothing. What it does to another name: the same.
    gateway.takeWrites();
    expect(busy(await plan(manifest, '--refresh'))).toEqual([]);
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
    expect(gateway.takeWrites()).toEqual([]);
    const other = await place.publish(write('other'));
    expect(other.report.counts).toEqual(applied.report.counts);

    // The same plan again: it is done already.
    const again = await apply();
    expect(again).toMatchObject({ code: 0, report: { counts: { actions: {} } } });
    expect(gateway.takeWrites().filter((line) => line.includes('twin'))).toEqual([]);
    expect(doubles(await reader.list())).toEqual([]);
  });

  it('ask for the listing of the portal a day after the first publish, or after the last listing', async () => {
    const manifest = write('daily');
    const listings = async (): Promise<number> => {
      const before = gateway.requests.length;
      expect((await place.publish(manifest)).code).toBe(0);
      return gateway.requests.slice(before).filter(({ path }) => path.includes('fields=nid')).length;
    };
    const compared = async (): Promise<number> => Number(await place.store.hget(place.keys.refreshed, 'daily@local'));
    const begun = Date.now();
    await place.publish(manifest);
    expect(await compared()).toBeGreaterThanOrEqual(begun);
    expect(await listings()).toBe(0);
    await place.store.hset(place.keys.refreshed, 'daily@local', begun - 25 * 3600 * 1000);
    expect(await listings()).toBeGreaterThan(0);
    expect(await compared()).toBeGreaterThanOrEqual(begun);
    expect(await listings()).toBe(0);
    // When it was compared is not known, such as by a ledger that another release wrote.
    await place.store.hdel(place.keys.refreshed, 'daily@local');
    expect(await listings()).toBeGreaterThan(0);
  });

  it('names every changed field, sends just that, and shows it to people', async () => {
    const manifest = write('fields');
    await place.publish(manifest);
    write('fields', { titles: { roads: 'Streets' }, tables: { water: 'id,value\n1,more\n2,still more\n' } });
    const before = await place.remembered();
    const { out } = await place.run(['plan', manifest]);
    expect(out).toContain('fields/roads  (its metadata changed)');
    expect(out).toContain('title: fields roads -> Streets');
    expect(out).toContain('fields/water/table  (its file changed)');
    expect(out).toMatch(/8 items: .*6 unchanged/);
    gateway.takeWrites();
    expect(busy(await plan(manifest, '--refresh'))).toEqual([
      'fields/roads update',
      'fields/water/table attach+import',
    ]);
    expect(gateway.takeWrites()).toEqual([]);
    expect(await place.remembered()).toEqual(before);
    expect((await apply()).report.counts.actions).toEqual({ updated: 1, attached: 1, imported: 1 });
    expect(gateway.takeWrites()).toHaveLength(2);
  });

  it('refuse what moved since, tell why, change nothing there, and do the rest', async () => {
    const manifest = write('moved');
    const first = (await place.publish(manifest)).report;
    const titles = { parks: 'Parks 2', roads: 'Roads 2', water: 'Water 2', trees: 'Trees 2' };
    const tables = Object.fromEntries(ids.map((id) => [id, `id,value\n2,${id}\n`]));
    write('moved', { titles, tables });
    await plan(manifest);

    // A file, the metadata of a dataset, and a node move; nothing happens to the fourth dataset.
    const now = { titles: { ...titles, roads: 'Roads 3' }, tables: { ...tables, parks: 'id,value\n3,parks\n' } };
    write('moved', now);
    await person.change(nidOf(first, 'moved/water'), { title: 'Edited by a person' });
    // A later revision that leaves everything of ours as it was, such as portals make by themselves.
    await person.change(nidOf(first, 'moved/trees'), { field_author: { und: [{ value: 'A person' }] } });
    gateway.takeWrites();
    const { code, report } = await apply();
    expect(code).toBe(4);
    expect(refused(report)).toEqual({
      'moved/parks/table': expect.stringContaining('plan-moved: moved/parks/table: its file changed'),
      'moved/roads': expect.stringContaining('its metadata changed in the source'),
      'moved/water': expect.stringContaining('was edited on the portal (revision '),
    });
    const writes = gateway.takeWrites();
    for (const key of Object.keys(refused(report))) {
      expect(
        writes.filter((line) => new RegExp(`/${nidOf(first, key)}(/|$)`).test(line)),
        key,
      ).toEqual([]);
    }
    const titleOf = async (key: string): Promise<string> => (await reader.read(nidOf(first, key))).title;
    expect(await titleOf('moved/parks')).toBe('Parks 2');
    expect(await titleOf('moved/trees')).toBe('Trees 2');
    expect(await titleOf('moved/roads')).toBe('moved roads');
    expect(await titleOf('moved/water')).toBe('Edited by a person');
    expect(await titleOf('moved/trees')).toBe('Trees 2');
    const rows = async (id: string) =>
      reader.records(report.items.find(({ key }) => key === `moved/${id}/table`)?.uuid ?? '');
    expect(await rows('parks')).toMatchObject([{ id: '1' }]);
    expect(await rows('roads')).toMatchObject([{ id: '2' }]);
    expect(await rows('water')).toMatchObject([{ id: '2' }]);

    // Strict: nothing at all.
    write('moved', { ...now, tables });
    await plan(manifest);
    write('moved', { ...now, tables: { ...tables, parks: 'id,value\n4,parks\n' } });
    gateway.takeWrites();
    const strict = await apply('--strict');
    expect(strict.code).toBe(4);
    expect(gateway.takeWrites()).toEqual([]);
    expect(
      Object.values(refused(strict.report)).some((text) => text.includes('another item of the plan changed')),
    ).toBe(true);
  });

  it('refuse a removal that is wanted again, and what appeared or vanished on the portal', async () => {
    const manifest = write('gone', { more: { onMissing: 'delete' } });
    const first = (await place.publish(manifest)).report;
    write('gone', { only: ['parks', 'roads', 'trees'], titles: { parks: 'P' }, more: { onMissing: 'delete' } });
    expect(busy(await plan(manifest))).toEqual(['gone/parks update', 'gone/water delete', 'gone/water/table delete']);
    write('gone', { titles: { parks: 'P' }, more: { onMissing: 'delete' } });
    await person.remove(nidOf(first, 'gone/parks'));
    gateway.takeWrites();
    const { code, report } = await apply();
    expect(code).toBe(4);
    expect(refused(report)).toEqual({
      'gone/parks': expect.stringContaining('vanished from the portal'),
      'gone/water': expect.stringContaining('is wanted again'),
      'gone/water/table': expect.stringContaining('is wanted again'),
    });
    expect(gateway.takeWrites()).toEqual([]);
  });

  it('refuse a faulty plan file, and one that is none', async () => {
    writeFileSync(join(place.dir, 'plan.json'), '{"sluicePlan": 1}');
    expect(await place.run(['apply', 'plan.json'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('not a sluice plan'),
    });
    expect(await place.run(['apply', 'nowhere.json'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('sluice plan'),
    });
  });
});
