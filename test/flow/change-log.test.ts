// `changes: publish`: a change log beside the tables of a dataset, which readers query in the datastore of the portal.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../src/model/key.ts';
import { cases, isWhole } from '../support/extent.ts';
import { type GatedPortal, openGatedPortal } from './support/gated-portal.ts';
import { itemOf } from './support/items.ts';
import { makeRemotePlace } from './support/remote-place.ts';

let site: GatedPortal;
beforeAll(async () => {
  site = await openGatedPortal();
});

const first = 'id,name,n\n1,Ann,10\n2,Bob,20\n3,Cid,30\n';
const second = 'id,name,n\n1,Ann,11\n3,Cid,30\n4,Dan,40\n';

const placeOf = (name: string, more: Record<string, unknown> = {}, rules: Record<string, unknown> = {}) => {
  const place = makeRemotePlace(site.gateway.url);
  const resources = [
    { id: 'people', file: 'data/people.csv', key: ['id'] },
    { id: 'other', file: 'data/other.csv' },
  ];
  place.write('data/people.csv', first);
  place.write('data/other.csv', 'a,b\n1,2\n');
  const datasets = [{ id: 'd', title: 'D', changes: 'publish', resources, ...more }];
  const manifest = place.manifest({ name, ...rules, datasets });
  const key = `${name}/d/_change-log`;
  /** The log as readers query it: what is listed of each version. */
  const log = async () =>
    (await site.reader.records(uuidOfKey(key))).map((row) =>
      ['version', 'table_', 'key_', 'what', 'column_', 'old', 'new'].map((column) => row[column] ?? '').join('|'),
    );
  return { place, manifest, key, log };
};

const firstLines = ['1|people||version|||3', '1|other||version|||1'];
const secondLines = [
  '2|people||version||3|3',
  '2|people|1|changed|n|10|11',
  '2|people|4|added|||id: 4; name: Dan; n: 40',
  '2|people|2|removed||id: 2; name: Bob; n: 20|',
];

describe('the change log of a dataset', () => {
  it('lists each version of its tables with the rows that changed, once it is live, in the same run', async () => {
    const { place, manifest, key, log } = placeOf('listed');
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    expect(itemOf(report, key)).toMatchObject({ live: true, outcome: 'done', rows: 2 });
    expect((await log()).toSorted()).toEqual(firstLines.toSorted());
    const again = await place.publish(manifest);
    expect(again.report.counts).toMatchObject({ actions: {}, resource: { unchanged: 3 } });
    place.write('data/people.csv', second);
    expect((await place.run(['plan', manifest])).out).toContain('a table of the dataset may have a new version');
    expect(itemOf((await place.publish(manifest)).report, key)).toMatchObject({ live: true, rows: 6 });
    expect((await log()).slice(2)).toEqual(secondLines);
    expect(readdirSync(join(place.stateDir, 'change-logs', 'local'))).toEqual([`${uuidOfKey(key)}.csv`]);
    expect((await place.publish(manifest)).report.counts).toMatchObject({ actions: {} });
  });

  it.each(cases(['kept', 'none'], ['none']))('goes on where this host lost it, with a copy %s', async (copy) => {
    const { place, manifest, log } = placeOf(`lost-${copy}`);
    await place.publish(manifest);
    rmSync(join(place.stateDir, 'change-logs'), { recursive: true });
    if (copy === 'none') rmSync(join(place.stateDir, 'kept', 'local', '..'), { recursive: true });
    place.write('data/people.csv', second);
    expect((await place.publish(manifest)).code).toBe(0);
    expect((await log()).slice(0, 2).toSorted()).toEqual(firstLines.toSorted());
    expect((await log())[2]).toBe(secondLines[0]);
  });

  it.runIf(isWhole).each(['a,"b\n', 'a,b\n1,2\n', ''])(
    'goes on where its file on this host is no log: %j',
    async (text) => {
      const { place, manifest, key, log } = placeOf(`damaged-${text.length}`);
      await place.publish(manifest);
      const before = await log();
      writeFileSync(join(place.stateDir, 'change-logs', 'local', `${uuidOfKey(key)}.csv`), text);
      place.write('data/people.csv', second);
      expect((await place.publish(manifest)).code).toBe(0);
      expect(await log()).toEqual([...before, ...secondLines]);
    },
  );

  it('counts rows beyond those that it lists, and says whole rows where no key tells them apart', async () => {
    const { place, manifest, key } = placeOf('many');
    await place.publish(manifest);
    place.write('data/people.csv', `${first}${Array.from({ length: 1200 }, (_, at) => `${at + 4},N,0\n`).join('')}`);
    place.write('data/other.csv', 'a,b\n1,2\n1,2\n');
    await place.publish(manifest);
    expect(await site.reader.count(uuidOfKey(key))).toBe(1006);
    const text = readFileSync(join(place.stateDir, 'change-logs', 'local', `${uuidOfKey(key)}.csv`), 'utf8');
    expect(text.match(/,people,\d+,added,/g)).toHaveLength(1000);
    expect(text).toMatch(/^2,.*,people,,not listed,,,\+200$/m);
    expect(text).toMatch(/^2,.*,other,,added,,,a: 1; b: 2$/m);
  });

  it('is not made before a table is live, and lists none that is not', async () => {
    const { place, manifest, key, log } = placeOf('faulty');
    for (const name of ['people', 'other']) place.write(`data/${name}.csv`, 'a,b\n1,2\n1,2,3\n');
    const { report } = await place.publish(manifest);
    expect(itemOf(report, key)).toMatchObject({ live: false, nid: null, outcome: 'unchanged' });
    place.write('data/other.csv', 'a,b\n1,2\n');
    expect(itemOf((await place.publish(manifest)).report, key)).toMatchObject({ live: true });
    expect(await log()).toEqual(['1|other||version|||1']);
  });

  it('lists a version that was held once it is released', async () => {
    const { place, manifest, key, log } = placeOf('held', {}, { guard: { maxChangedRows: '50%' } });
    await place.publish(manifest);
    place.write('data/people.csv', second);
    const { report } = await place.publish(manifest);
    expect(itemOf(report, key)).toMatchObject({ live: true, outcome: 'unchanged' });
    expect(await log()).toHaveLength(2);
    expect((await place.run(['release', 'held/d/people'])).code).toBe(0);
    expect((await log()).slice(2)).toEqual(secondLines);
  });

  it('is kept of files that are dropped into a folder', async () => {
    const place = makeRemotePlace(site.gateway.url);
    const defaults = { dataset: { changes: 'publish' } };
    const manifest = place.manifest({ name: 'dropped', defaults, drop: { folder: 'inbox', settle: '1s' } });
    const key = 'dropped/d/_change-log';
    for (const [at, text] of [first, second].entries()) {
      place.write('inbox/d/people.csv', text);
      expect((await place.publish(manifest)).code).toBe(0);
      expect(await site.reader.count(uuidOfKey(key))).toBe([1, 5][at]);
    }
  });

  it.each(cases(['table', 'dataset'], ['dataset']))(
    'lists no version of a draft, and no row that readers never saw: %s',
    async (what) => {
      const { place, manifest, key, log } = placeOf(`draft-${what}`);
      const write = (published: boolean) => {
        const table = { id: 'people', file: 'data/people.csv', key: ['id'] };
        const own = { ...table, ...(what === 'table' && { published }) };
        const dataset = { id: 'd', title: 'D', changes: 'publish', ...(what === 'dataset' && { published }) };
        place.manifest({ name: `draft-${what}`, datasets: [{ ...dataset, resources: [own] }] });
      };
      write(false);
      expect(itemOf((await place.publish(manifest)).report, key)).toMatchObject({ live: false, nid: null });
      place.write('data/people.csv', second);
      await place.publish(manifest);
      expect((await place.run(['plan', manifest])).out).toContain('3 items: 3 unchanged');
      write(true);
      place.write('data/people.csv', first);
      await place.publish(manifest);
      const numbers = ['1|people||version|||3', '2|people||version||3|3', '3|people||version||3|3'];
      expect(await log()).toEqual(numbers);
      place.write('data/people.csv', second);
      await place.publish(manifest);
      expect(await log()).toEqual([...numbers, ...secondLines.map((line) => line.replace(/^2/, '4'))]);
      write(false);
      place.write('data/people.csv', first);
      await place.publish(manifest);
      expect(await log()).toHaveLength(7);
    },
  );

  it('is not planned for a dataset without a table', async () => {
    const { place, manifest } = placeOf('linked', { resources: [{ id: 'l', link: 'https://example.org/data' }] });
    expect((await place.publish(manifest)).code).toBe(0);
    expect((await place.run(['plan', manifest])).out).toContain('3 items: 3 unchanged');
    expect((await place.run(['verify', manifest])).out).toContain('0 faults');
  });

  it('goes on with what the portal holds where the whole state is lost', async () => {
    const { place, manifest, log } = placeOf('lost-state');
    await place.publish(manifest);
    place.write('data/people.csv', second);
    await place.publish(manifest);
    const before = await log();
    rmSync(place.stateDir, { recursive: true });
    await place.redis().flushdb();
    await place.publish(manifest);
    expect((await log()).slice(0, before.length)).toEqual(before);
  });

  it('goes on with what another host published', async () => {
    const { place, manifest, key, log } = placeOf('hosts');
    await place.publish(manifest);
    const path = join(place.stateDir, 'change-logs', 'local', `${uuidOfKey(key)}.csv`);
    const behind = readFileSync(path);
    place.write('data/people.csv', second);
    await place.publish(manifest);
    const before = await log();
    writeFileSync(path, behind);
    place.write('data/people.csv', first);
    await place.publish(manifest);
    expect((await log()).slice(0, before.length)).toEqual(before);
    expect((await log()).slice(before.length)).toContain('3|people|2|added|||id: 2; name: Bob; n: 20');
  });

  it('is sound for verify, and goes on under the new id of a table', async () => {
    const { place, manifest, log } = placeOf('renamed');
    await place.publish(manifest);
    expect(await place.run(['verify', manifest])).toMatchObject({ code: 0 });
    const table = { id: 'folk', renamedFrom: 'people', file: 'data/people.csv', key: ['id'] };
    place.manifest({ name: 'renamed', datasets: [{ id: 'd', title: 'D', changes: 'publish', resources: [table] }] });
    place.write('data/people.csv', second);
    await place.publish(manifest);
    expect((await log()).slice(2)).toEqual(secondLines.map((line) => line.replace('people', 'folk')));
  });

  it('leaves nothing behind of versions that a guard held', async () => {
    const { place, manifest, key } = placeOf('held-twice', {}, { guard: { maxChangedRows: '1%' } });
    await place.publish(manifest);
    for (const row of ['5,E,1', '6,F,2']) {
      place.write('data/people.csv', `${second}${row}\n`);
      expect((await place.publish(manifest)).code).not.toBe(0);
    }
    expect(readdirSync(join(place.stateDir, 'change-logs', 'local'))).toEqual([`${uuidOfKey(key)}.csv`]);
  });

  it('goes as any other resource that a manifest no longer names', async () => {
    const { place, manifest, key } = placeOf('ended');
    const { report } = await place.publish(manifest);
    const resources = [{ id: 'people', file: 'data/people.csv' }];
    const rules = { onMissing: 'delete', guard: { min: 5 } };
    place.manifest({ name: 'ended', ...rules, datasets: [{ id: 'd', title: 'D', resources }] });
    const ended = await place.publish(manifest);
    expect(itemOf(ended.report, key)).toMatchObject({ outcome: 'done', live: false, actions: ['deleted'] });
    expect(await site.reader.count(itemOf(report, key).uuid)).toBe(null);
  });
});
