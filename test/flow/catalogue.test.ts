// Harvesting a catalogue: everything by identifier, faulty entries told and spared, a poor catalogue never takes anything down.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
import { cases } from '../support/extent.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import { openPortalPlace } from './support/portal-place.ts';
import { doubles, type Reader } from './support/reader.ts';
import { makeRedisPlace, type RedisPlace } from './support/redis-place.ts';
import { startPortal } from './support/server.ts';

let gateway: Gateway;
let reader: Reader;
let place: RedisPlace;
beforeAll(async () => {
  ({ gateway, reader, place } = await openPortalPlace({ jobs: { lock: '2s', stalledCheck: '250ms' } }));
});

type Entry = Record<string, unknown>;

/** Writes a catalogue and a manifest that harvests it; returns the manifest. */
const write = (name: string, dataset: unknown[] | string, more: Record<string, unknown> = {}): string => {
  const text = typeof dataset === 'string' ? dataset : JSON.stringify({ conformsTo: 'x', dataset });
  place.write(`${name}.data.json`, text);
  return place.manifest({ name, catalogue: `${name}.data.json`, ...more });
};

const some = (count: number, more: (index: number) => Entry = () => ({})): Entry[] =>
  Array.from({ length: count }, (_, index) => ({
    identifier: `https://example.org/id/${index}`,
    title: `Dataset ${index}`,
    ...more(index),
  }));

const outcomes = ({ counts }: Report): unknown => counts.dataset;

describe('a catalogue', () => {
  const files = (index: number) => [
    { downloadURL: `https://example.org/${index}.csv`, title: `Table ${index}`, format: 'CSV' },
    { accessURL: `https://example.org/api/${index}`, title: `API ${index}` },
  ];
  const entries = some(3, (index) => ({
    description: `About ${index}`,
    publisher: { name: 'City' },
    distribution: files(index),
  }));

  it('is published once: whole at first, then only what changed, by identifier', async () => {
    const manifest = write('once', entries);
    const first = await place.publish(manifest);
    expect(first.code).toBe(0);
    const rows = await reader.list();
    expect(rows.filter(({ type }) => type === 'dataset')).toHaveLength(3);
    expect(rows.filter(({ type }) => type === 'resource')).toHaveLength(6);

    gateway.takeWrites();
    const second = await place.publish(manifest);
    expect([second.code, outcomes(second.report)]).toEqual([0, { unchanged: 3 }]);
    expect(gateway.takeWrites()).toEqual([]);

    const [a, b, c] = entries;
    write('once', [{ ...c, title: 'Another title' }, { ...b, distribution: files(1).toReversed() }, a]);
    const third = await place.publish(manifest);
    // One title, and the order of the resources of another one.
    expect([third.code, outcomes(third.report)]).toEqual([0, { unchanged: 1, done: 2 }]);
    expect(gateway.takeWrites()).toHaveLength(2);
    const after = await reader.list();
    expect(after.map(({ nid, uuid }) => [nid, uuid])).toEqual(rows.map(({ nid, uuid }) => [nid, uuid]));
    expect(after.map(({ title }) => title)).toContain('Another title');
    expect(after.map(({ title }) => title)).not.toContain('Dataset 2');
  });

  it('updates a resource whose link changed, and keeps what a faulty distribution published', async () => {
    const manifest = write(
      'moved',
      some(1, () => ({ distribution: files(7) })),
      { onMissing: 'delete' },
    );
    await place.publish(manifest);
    const resources = async () => (await reader.list()).filter(({ title }) => /^(?:Table|API) 7$/.test(title));
    const rows = await resources();
    expect(rows).toHaveLength(2);

    const [table, api] = files(7);
    write(
      'moved',
      some(1, () => ({
        distribution: [
          { ...api, accessURL: '////' },
          { ...table, downloadURL: 'https://b.example/7' },
        ],
      })),
      {
        onMissing: 'delete',
      },
    );
    const fault =
      /entry 1 "https:\/\/example\.org\/id\/0" \(line 1 of .*\): distribution 1 is left out: its accessURL is not a valid address: "\/\/\/\/"/;
    expect((await place.run(['plan', manifest])).out).toMatch(fault);
    const { code, report } = await place.publish(manifest);
    expect([code, report.counts]).toMatchObject([
      3,
      { dataset: { unchanged: 1 }, resource: { done: 1, quarantined: 1 } },
    ]);
    expect(report.items.find(({ outcome }) => outcome === 'quarantined')).toMatchObject({
      kind: 'resource',
      reason: { code: 'entry-fault', message: expect.stringMatching(fault) },
    });
    const after = await resources();
    expect(after.map(({ nid, uuid }) => [nid, uuid])).toEqual(rows.map(({ nid, uuid }) => [nid, uuid]));
    const moved = (await reader.read(rows.find(({ title }) => title === 'Table 7')?.nid ?? '')) as unknown as {
      field_link_api: unknown;
    };
    expect(moved.field_link_api).toMatchObject({ und: [{ url: 'https://b.example/7' }] });
  });

  it('is asked by its identifiers', async () => {
    const { out, code } = await place.run(['status', 'https://example.org/id/1']);
    expect(code).toBe(0);
    expect(out).toContain('identifier https://example.org/id/1');
  });

  it('is found again on the portal when Redis was lost', async () => {
    const manifest = write(
      'lost',
      some(5, (index) => ({ distribution: files(index), spatial: '0,0,1,1', modified: '2020-01-01' })),
    );
    await place.publish(manifest);
    const [table, api] = files(0);
    const moved = { distribution: [{ ...table, downloadURL: 'https://b.example/new.csv' }, api] };
    const lost = some(5, (index) => ({ distribution: files(index), spatial: '0,0,1,1', modified: '2020-01-01' }));
    write('lost', [{ ...lost[0], ...moved }, ...lost.slice(1)]);
    await place.publish(manifest);
    await place.store.flushdb();
    expect((await place.run(['rebuild', manifest])).out).toContain('15 items: 15 restored and verified');
    gateway.takeWrites();
    expect((await place.publish(manifest)).code).toBe(0);
    expect(gateway.takeWrites()).toEqual([]);
    expect((await place.run(['status', 'https://example.org/id/4'])).out).toContain('lost/example-org-id-4');
  });

  it('keeps its nodes where all identifiers are spelt differently, whatever becomes of what is missing', async () => {
    for (const onMissing of ['delete', 'keep']) {
      const spelt = (scheme: string) =>
        some(3, (index) => ({
          identifier: `${scheme}://d.example/${onMissing}/${index}`,
          title: `${onMissing} ${index}`,
          distribution: files(index).map((each) => ({ ...each, title: `${onMissing} ${each.title}` })),
        }));
      const nodes = async () =>
        (await reader.list()).filter(({ title }) => title.startsWith(onMissing)).map(({ nid, title }) => [nid, title]);
      const manifest = write(`spelt-${onMissing}`, spelt('http'), { onMissing });
      await place.publish(manifest);
      const before = await nodes();
      expect(before).toHaveLength(9);
      write(`spelt-${onMissing}`, spelt('https'), { onMissing });
      expect((await place.publish(manifest)).code).toBe(0);
      expect(await nodes()).toEqual(before);
      await place.store.flushdb();
      expect((await place.run(['rebuild', manifest])).out).toContain('9 items: 9 restored and verified');
    }
  });

  it('is planned with what it has to say, without a write', async () => {
    const manifest = write('planned', [...some(1, () => ({ shoeSize: 43 })), { identifier: 'x' }]);
    gateway.takeWrites();
    const { out, code } = await place.run(['plan', manifest]);
    expect(code).toBe(0);
    expect(out).toMatch(/left out: entry 2 "x" \(line 1 of .*planned\.data\.json\): it has no title/);
    expect(out).toContain(
      'note: `shoeSize` has no field on the portal; kept in Additional info (in "https://example.org/id/0")',
    );
    expect(gateway.takeWrites()).toEqual([]);
    const { report } = await place.publish(manifest);
    expect(report.remarks).toEqual([
      '`shoeSize` has no field on the portal; kept in Additional info (in "https://example.org/id/0")',
    ]);
    expect((await place.run(['log', report.runId])).out).toContain('differs from the source: `shoeSize`');
  });

  it('is checked by itself, too: a catalogue itself needs no manifest', async () => {
    const path = place.write('alone.json', JSON.stringify({ dataset: [...some(2), { identifier: 'x' }] }, null, 1));
    const { code, out } = await place.run(['check', path]);
    expect(code).toBe(3);
    expect(out).toContain('alone.json:11:1: entry 3 "x": it has no title [entry-fault]');
    expect(out).toContain('2 datasets with 0 resources');
    const broken = await place.run(['check', place.write('broken.json', '{"dataset": [}')]);
    expect(broken.code).toBe(3);
    expect(broken.out).toContain(
      'broken.json:1:14: it is not JSON: "}" found where a value is expected [catalogue-fault]',
    );
  });

  it('is checked with its manifest', async () => {
    const good = write('sound', some(2));
    expect(await place.run(['check', good])).toMatchObject({
      code: 0,
      out: expect.stringContaining('manifest sound of the catalogue'),
    });
    write('sound', [...some(2), { title: 'T' }]);
    expect(await place.run(['check', good])).toMatchObject({
      code: 3,
      out: expect.stringContaining('sound.data.json:1:1: entry 3 "T": it has no identifier [entry-fault]'),
    });
    rmSync(join(place.dir, 'sound.data.json'));
    expect(await place.run(['check', good])).toMatchObject({
      code: 3,
      out: expect.stringContaining('[source-missing]'),
    });
  });
});

describe.each(cases(['dkan-7.14', 'dkan-7.18'], ['dkan-7.18']))('on a portal as %s', (profile) => {
  const whole = {
    identifier: 'https://example.org/id/budget',
    title: 'City budget',
    description: 'Planned <b>spending</b>.',
    keyword: ['budget', 'finance'],
    theme: ['Money'],
    publisher: { name: 'Finance Office', subOrganizationOf: { name: 'City' } },
    contactPoint: { fn: 'Ada', hasEmail: 'mailto:ada@example.org' },
    accessLevel: 'restricted public',
    rights: 'Ask first.',
    license: 'https://creativecommons.org/licenses/by/4.0/',
    accrualPeriodicity: 'R/P1M',
    issued: '2015-02-03',
    modified: '2016-11-15T14:30:48.000Z',
    temporal: '2014/2015',
    spatial: '0,0,1,1',
    landingPage: 'https://example.org/budget',
    language: ['en-US', 'de'],
    conformsTo: 'https://example.org/standard',
    isPartOf: 'finances',
    describedBy: 'https://example.org/columns.csv',
    describedByType: 'text/csv',
    references: ['https://example.org/debate'],
    bureauCode: ['015:11'],
    dataQuality: true,
    distribution: [
      { downloadURL: 'https://example.org/a.csv', title: 'Table', mediaType: 'text/csv', description: 'All of it.' },
      { accessURL: 'https://example.org/api', format: 'API' },
      { accessURL: 'ftp://example.org/x', title: 'Old server' },
    ],
  };

  it('everything that it takes is published, and the second run sends nothing', async () => {
    const portal = await startPortal(['--profile', profile]);
    const front = await openGateway(portal.url);
    const there = makeRedisPlace(front.url);
    there.write(
      'whole.json',
      JSON.stringify({ dataset: [whole, { ...whole, identifier: 'b', accrualPeriodicity: 'R/PT1H' }] }),
    );
    const manifest = there.manifest({ name: 'whole', catalogue: 'whole.json' });
    const first = await there.publish(manifest);
    expect([first.code, first.report.counts]).toMatchObject([0, { dataset: { done: 2 }, resource: { done: 6 } }]);
    front.takeWrites();
    const second = await there.publish(manifest);
    expect([second.code, second.report.counts]).toMatchObject([
      0,
      { dataset: { unchanged: 2 }, resource: { unchanged: 6 } },
    ]);
    expect(front.takeWrites()).toEqual([]);
    expect((await there.run(['verify', manifest])).code).toBe(0);
    const nid = first.report.items.find(({ key }) => key === 'whole/b')?.nid ?? '';
    const node = await (await portal.reader()).read(nid);
    expect(node).toMatchObject({
      field_author: { und: [{ value: 'Finance Office' }] },
      field_license: { und: [{ value: 'cc-by' }] },
    });
    const isForm = profile === 'dkan-7.14';
    const told = (await there.run(['status', 'whole/b'])).out;
    expect(told.includes('the portal does not hold field_')).toBe(isForm);
  });
});

describe('faulty entries', () => {
  const more = { onMissing: 'delete' };

  it('are reported, the others go on; what they published before stays', async () => {
    const manifest = write(
      'faulty',
      some(4, (index) => ({ distribution: { downloadURL: `https://example.org/f${index}` } })),
      more,
    );
    expect((await place.publish(manifest)).code).toBe(0);
    const before = await reader.list();
    const entries = some(4);
    write(
      'faulty',
      [{ ...entries[0], title: null }, entries[1], { ...entries[2], distribution: [7] }, entries[1]],
      more,
    );
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    const faults = report.items.filter(({ reason }) => reason);
    expect(faults.map(({ outcome, live }) => [outcome, live])).toEqual([
      ['quarantined', false],
      ['quarantined', true],
      ['quarantined', false],
    ]);
    expect(
      faults.map(({ key, reason }) => [
        /(?:entry|distribution)#\d/.exec(key)?.[0],
        reason?.code,
        reason?.message.split('): ')[1],
      ]),
    ).toEqual([
      ['entry#4', 'entry-fault', 'entry 2 has the same identifier and is used'],
      [undefined, 'entry-fault', 'it has no title'],
      ['distribution#1', 'entry-fault', 'distribution 1 is left out: it is not an object'],
    ]);
    // Gone are: dataset 3 with its resource, and the resource that entry 1 no longer has.
    const left = new Set((await reader.list()).map(({ nid }) => nid));
    expect(
      before
        .filter(({ nid }) => !left.has(nid))
        .map(({ title }) => title)
        .sort(),
    ).toEqual(['Dataset 1', 'Dataset 3', 'Dataset 3']);
  });

  it('that cannot be told apart let nothing be taken down', async () => {
    const manifest = write('unknown', some(3), more);
    await place.publish(manifest);
    write('unknown', [...some(1), { title: 'Dataset 1' }], more);
    gateway.takeWrites();
    const { code, report } = await place.publish(manifest);
    expect([code, outcomes(report)]).toEqual([3, { unchanged: 1, quarantined: 1 }]);
    expect(gateway.takeWrites()).toEqual([]);
  });
});

describe('a catalogue that is not what it was', () => {
  const more = { onMissing: 'delete' };
  const text = (entries: unknown[]): string => JSON.stringify({ dataset: entries }, null, 1);
  let manifest: string;
  beforeAll(async () => {
    manifest = write('story', some(338), more);
    expect((await place.publish(manifest)).code).toBe(0);
  });

  const poorer: [string, () => unknown[] | string, number, string][] = [
    ['empty of entries', () => [], 4, 'held'],
    ['shrunken', () => some(300), 4, 'held'],
    ['cut off', () => text(some(338)).slice(0, 9000), 3, 'catalogue-fault'],
    ['cut off behind an entry', () => `${text(some(2)).slice(0, -4)}`, 3, 'catalogue-fault'],
    ['an empty file', () => '', 3, 'catalogue-fault'],
    ['a page about an error', () => '<html>502 Bad gateway</html>', 3, 'catalogue-fault'],
    ['another JSON', () => '{"error": "not now"}', 3, 'catalogue-fault'],
    ['nested without end', () => `{"dataset": [${'{"a":['.repeat(100_000)}`, 3, 'catalogue-fault'],
  ];

  it.each(cases(poorer, poorer.slice(0, 3)))('takes nothing down: %s', async (_what, poor, code, reason) => {
    write('story', poor(), more);
    gateway.takeWrites();
    const run = await place.publish(manifest);
    expect([run.code, run.report.reason?.code]).toEqual([code, reason]);
    expect(gateway.takeWrites()).toEqual([]);

    write('story', some(338), more);
    const back = await place.publish(manifest);
    expect([back.code, outcomes(back.report)]).toEqual([0, { unchanged: 338 }]);
    expect(gateway.takeWrites()).toEqual([]);
  });

  it('takes nothing down when it is not there', async () => {
    rmSync(join(place.dir, 'story.data.json'));
    gateway.takeWrites();
    const run = await place.publish(manifest);
    expect([run.code, run.report.reason?.code]).toEqual([3, 'source-missing']);
    expect(gateway.takeWrites()).toEqual([]);
  });

  it('takes down what a few less entries name no more, and nothing is there twice in the end', async () => {
    write('story', some(337), more);
    const { code, report } = await place.publish(manifest);
    expect([code, report.counts.actions]).toEqual([0, { deleted: 1 }]);
    expect(
      doubles((await reader.list()).filter(({ title }) => title.startsWith('Dataset 33'))).filter((name) =>
        name.includes('-'),
      ),
    ).toEqual([]);
  });
});
