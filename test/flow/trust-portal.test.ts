// The ledger against the portal: adopting what is there, rebuilding what was lost, proving what was published.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import type { Gateway } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
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

const lines = (out: string): string[] => out.trim().split('\n');

describe('adopt', () => {
  it('links what is on a full portal by uuid, by title and by mapping, creates nothing, and shows what is unclear', async () => {
    const make = (type: 'dataset' | 'resource', title: string, more: Record<string, unknown> = {}): Promise<string> =>
      person.create({ type, title, ...more });
    const below = (nid: string) => ({ field_dataset_ref: { und: [{ target_id: nid }] } });
    const budget = await make('dataset', 'Budget, all years');
    const table = await make('resource', 'Table', below(budget));
    const elsewhere = await make('dataset', 'Elsewhere');
    await make('resource', 'Table', below(elsewhere)); // same title, other dataset
    const twins = [await make('dataset', 'Twin'), await make('dataset', 'Twin')];
    const shared = await make('dataset', 'Shared');
    const odd = await make('dataset', 'Quite another title');

    place.write('data/table.csv', 'id,value\n1,a\n');
    const resource = { id: 'table', title: 'Table', file: 'data/table.csv' };
    const datasets = [
      { id: 'budget', title: 'Budget, all years', description: 'Now described', resources: [resource] },
      { id: 'twin', title: 'Twin', resources: [resource] },
      { id: 'first', title: 'Shared' },
      { id: 'second', title: 'Shared' },
      { id: 'odd', title: 'Odd' },
      { id: 'fresh', title: 'Fresh' },
    ];
    const manifest = place.manifest({ name: 'full', datasets });
    const before = await reader.list();
    gateway.takeWrites();
    const first = await place.run(['adopt', manifest]);
    expect(first.code).toBe(3);
    expect(gateway.takeWrites()).toEqual([]);
    expect(first.out).toContain(`full/budget: node ${budget} by title`);
    expect(first.out).toContain(`full/budget/table: node ${table} by title`);
    expect(first.out).toContain(`full/twin: ambiguous: nodes ${twins.join(', ')} have its title`);
    expect(first.out).toContain(`full/first: node ${shared} matches, but full/second is linked to it or matches too`);
    expect(first.out).toContain('full/odd: not on the portal');
    expect(lines(first.out)).toContain('2 nodes linked, 3 unclear, 3 not on the portal');

    // A mapping with a slip is refused whole; a right one settles the rest.
    place.write('known.csv', `key,nid\nfull/twn,${twins[1]}\n`);
    expect(await place.run(['adopt', manifest, '--mapping', 'known.csv'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('full/twn'),
    });
    place.write('known.csv', `key,nid\nfull/odd,${table}\n`);
    expect(await place.run(['adopt', manifest, '--mapping', 'known.csv'])).toMatchObject({ code: 3 });
    place.write('known.csv', `key,nid\nfull/odd,${table}9\n`);
    expect((await place.run(['adopt', manifest, '--mapping', 'known.csv'])).out).toContain('not linked: node');
    place.write('known.csv', `key,nid\nfull/twin,${twins[1]}\nfull/first,${shared}\nfull/odd,${odd}\n`);
    const second = await place.run(['adopt', manifest, '--mapping', 'known.csv', '--json']);
    expect(JSON.parse(second.out).portals[0].items).toMatchObject([
      { key: 'full/twin', how: 'mapping', nid: twins[1] },
      { key: 'full/twin/table', how: 'none' },
      { key: 'full/first', how: 'mapping', nid: shared },
      { key: 'full/second', how: 'taken' },
      { key: 'full/odd', how: 'mapping', nid: odd },
      { key: 'full/fresh', how: 'none' },
    ]);
    expect(await reader.list()).toEqual(before);

    // Publishing updates in place and creates only what is new.
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    expect(report.items.filter(({ actions }) => actions.includes('created')).map(({ key }) => key)).toEqual([
      'full/fresh',
      'full/second',
      'full/twin/table',
    ]);
    expect((await place.run(['adopt', manifest])).out).toBe('every item is linked already\n');
    expect(itemOf(report, 'full/budget')).toMatchObject({ nid: budget, live: true });
    expect(itemOf(report, 'full/budget/table')).toMatchObject({ nid: table, live: true, rows: 1 });
    expect(itemOf(report, 'full/odd').nid).toBe(odd);
    expect((await reader.list()).length).toBe(before.length + 3);
    expect(await reader.read(budget)).toMatchObject({ body: { und: [{ value: 'Now described' }] } });
    gateway.takeWrites();
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
    expect(gateway.takeWrites()).toEqual([]);
  });
});

describe('rebuild', () => {
  it("finds a resource that was renamed by its content, and leaves people's nodes alone", async () => {
    const write = (id: string): string => {
      const file = place.write('data/renamed.csv', 'id,value\n1,renamed\n');
      const other = place.write('data/stays.csv', 'id,value\n1,stays\n');
      const resources = [
        { id, title: 'Renamed table', file },
        { id: 'stays', title: 'Table that stays', file: other },
      ];
      return place.manifest({ name: 'renamed', datasets: [{ id: 'one', title: 'Renamed city', resources }] });
    };
    const first = await place.publish(write('old-id'));
    const manifest = write('new-id');
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
    // The same bytes below the same dataset, but not ours.
    const copy = await reader.create({
      type: 'resource',
      title: 'A copy by a person',
      status: 1,
      field_dataset_ref: { und: [{ target_id: itemOf(first.report, 'renamed/one').nid }] },
    });
    await reader.attach(copy, 'renamed.csv', 'id,value\n1,renamed\n');
    await place.store.flushdb();
    gateway.takeWrites();
    const rebuilt = await place.run(['rebuild', manifest, '--json']);
    expect(JSON.parse(rebuilt.out).portals[0].items).toContainEqual({
      key: 'renamed/one/new-id',
      how: 'content',
      nid: itemOf(first.report, 'renamed/one/old-id').nid,
      faults: [],
    });
    const second = await place.publish(manifest);
    expect(second.report.counts).toEqual({ dataset: { unchanged: 1 }, resource: { unchanged: 2 }, actions: {} });
    expect(gateway.takeWrites()).toEqual([]);
  });

  it('restores many datasets after Redis was lost: the next publish writes nothing and doubles nothing', async () => {
    const count = cases(60, 8);
    const datasets = Array.from({ length: count }, (_, index) => {
      const id = `d${index}`;
      const file = place.write(`data/many/${id}.csv`, `id,value\n${index},${id}\n`);
      return { id, title: `Many ${id}`, tags: ['many', id], resources: [{ id: 't', title: `Table ${id}`, file }] };
    });
    const manifest = place.manifest({ name: 'many', datasets });
    const first = await place.publish(manifest);
    expect(first.code).toBe(0);
    const before = await reader.list();
    await place.store.flushdb();
    gateway.takeWrites();
    const rebuilt = await place.run(['rebuild', manifest]);
    expect(rebuilt).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${2 * count} items: ${2 * count} restored and verified\n`),
    });
    const second = await place.publish(manifest);
    expect(second.code).toBe(0);
    expect(second.report.counts).toEqual({
      dataset: { unchanged: count },
      resource: { unchanged: count },
      actions: {},
    });
    expect(gateway.takeWrites()).toEqual([]);
    expect(await reader.list()).toEqual(before);
    expect(doubles(before.filter(({ title }) => /^(Many|Table) d/.test(title)))).toEqual([]);

    // What is edited after that is drift again.
    const nid = itemOf(second.report, 'many/d7').nid ?? '';
    await person.change(nid, { title: 'By a person' });
    const refreshed = await place.run(['publish', manifest, '--refresh']);
    expect(refreshed).toMatchObject({ code: 4, out: expect.stringContaining('drift') });
    expect(gateway.takeWrites()).toEqual([]);
  });
});

describe('verify', () => {
  const ids = ['title', 'size', 'bytes', 'rows', 'node', 'sound'];

  it('reports every kind of fault in a line of its own and ends with 3; what is sound ends with 0', async () => {
    const datasets = ids.map((id) => {
      const file = place.write(`data/v-${id}.csv`, 'id,value\n1,abc\n');
      return {
        id,
        title: `V ${id}`,
        resources: [{ id: 't', title: `V ${id} table`, file, import: id === 'bytes' ? 'never' : 'auto' }],
      };
    });
    const manifest = place.manifest({ name: 'proof', datasets });
    const { report } = await place.publish(manifest);
    const nid = (id: string, table = true): string => itemOf(report, `proof/${id}${table ? '/t' : ''}`).nid ?? '';
    gateway.takeWrites();
    expect(await place.run(['verify', manifest, '--content'])).toMatchObject({
      code: 0,
      out: '12 items checked, 0 faults\n',
    });

    await person.change(nid('title', false), { title: 'Edited' });
    await person.attach(nid('size'), 'v-size.csv', 'id,value\n1,abc\n2,def\n');
    await person.attach(nid('bytes'), 'v-bytes.csv', 'id,value\n1,xyz\n');
    await person.dropRows(nid('rows'));
    await person.remove(nid('node'));
    const without = await place.run(['verify', manifest]);
    expect(without.code).toBe(3);
    expect(lines(without.out)).toEqual([
      `proof/title: node ${nid('title', false)}: title differs: it is "Edited"`,
      expect.stringMatching(/^proof\/size\/t: file .* has 21 bytes on the portal, 15 here$/),
      'proof/size/t: the datastore holds 2 rows, the file 1',
      'proof/bytes/t: file v-bytes.csv was replaced on the portal',
      expect.stringMatching(/^proof\/rows\/t: the datastore is not imported/),
      `proof/node/t: node ${nid('node')} is not on the portal`,
      '12 items checked, 6 faults',
    ]);
    const content = await place.run(['verify', manifest, '--content', '--json']);
    expect(content.code).toBe(3);
    const { faults } = JSON.parse(content.out).portals[0] as { faults: { key: string; fault: string }[] };
    expect(faults).toHaveLength(6);
    expect(faults).toContainEqual({
      key: 'proof/bytes/t',
      fault: expect.stringContaining('differs from the local file'),
    });
    expect(gateway.takeWrites()).toEqual([]);

    // A node that the portal fails to give is a fault like others, and does not end the look at them.
    gateway.before = ({ path }) => {
      if (path.endsWith(`/node/${nid('sound')}`)) throw new Error('out of order');
    };
    const failing = await place.run(['verify', manifest]);
    gateway.before = () => undefined;
    expect(failing.out).toContain('proof/sound/t: cannot be read: ');
    expect(lines(failing.out).at(-1)).toBe('12 items checked, 6 faults');

    // What was found broken is sent again by the next publish; edits of fields stay with `onDrift`.
    await place.publish(manifest);
    const mended = await place.run(['verify', manifest, '--content']);
    expect(lines(mended.out).filter((line) => /proof\/(bytes|size|rows)/.test(line))).toEqual([]);

    // A file that is not there to compare with is a fault, no crash; so is what was never published.
    rmSync(join(place.dir, 'data/v-sound.csv'));
    place.manifest({ name: 'proof', datasets: [...datasets.slice(5), { id: 'new', title: 'New' }] });
    expect(lines((await place.run(['verify', manifest])).out)).toEqual([
      expect.stringContaining('proof/sound/t: the local file cannot be read'),
      'proof/new: was never published',
      '3 items checked, 2 faults',
    ]);
  });
});
