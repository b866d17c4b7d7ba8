// What deployed releases do with what the worker sends, release by release, and what the worker makes of it.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
import { cases } from '../support/extent.ts';
import { startTestPortal } from '../support/portal.ts';
import { reportIn } from '../support/printed.ts';
import { type GatedPortal, openGatedPortal } from './support/gated-portal.ts';
import type { Passed } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import { makePlace, type Place } from './support/place.ts';
import { doubles } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { remoteConfig, writePassword } from './support/server.ts';

interface There extends GatedPortal {
  place: Place;
}

const open = async (profile: string): Promise<There> => {
  const gated = await openGatedPortal(['--profile', profile]);
  return { ...gated, place: makeRemotePlace(gated.gateway.url) };
};

interface Details extends Record<string, unknown> {
  tables?: Record<string, string>;
}

/** Writes a manifest with one dataset; `tables` are CSV texts by resource id. */
const write = (
  place: Place,
  name: string,
  { tables = { t: 'id,what\n1,a\n2,b\n' }, ...more }: Details = {},
): string => {
  const resources = Object.entries(tables).map(([id, text]) => ({
    id,
    title: `${name} ${id}`,
    file: place.write(`data/${name}-${id}.csv`, text),
  }));
  return place.manifest({ name, datasets: [{ id: 'd', title: `${name} dataset`, ...more, resources }] });
};

const reasons = (report: Report): string => JSON.stringify(report.items.map(({ reason }) => reason).filter(Boolean));
const items = (value: unknown): Record<string, unknown>[] =>
  (value as { und?: Record<string, unknown>[] } | undefined)?.und ?? [];

describe.each(cases(['dkan-7.18', 'dkan-7.18.16'], ['dkan-7.18.16']))('%s', (profile) => {
  let there: There;
  beforeAll(async () => {
    there = await open(profile);
  });

  const publish = async (manifest: string): Promise<Report> => {
    const { code, report } = await there.place.publish(manifest);
    expect(code, reasons(report)).toBe(0);
    return report;
  };

  it('terms: a tag is made once, in the vocabulary of tags, and sent by number from then on', async () => {
    const { place, gateway, reader } = there;
    await publish(write(place, 'one', { tags: ['budget', 'harbour'] }));
    const report = await publish(write(place, 'two', { tags: ['harbour', 'roads'] }));
    const firstReport = await publish(write(place, 'one', { tags: ['budget', 'harbour'], description: 'New words' }));
    const tidsOf = async (from: Report, key: string) =>
      items((await reader.read(itemOf(from, key).nid ?? '')).field_tags).map(({ tid }) => tid);
    const [, harbour] = await tidsOf(firstReport, 'one/d');
    expect((await tidsOf(report, 'two/d'))[0]).toBe(harbour);
    const made = gateway.requests.flatMap(({ body }) => body.match(/"tid":"autocreate","name":"[^"]*"/g) ?? []);
    expect(made.filter((text) => text.includes('harbour')).length).toBeLessThanOrEqual(1);
    const { uuid } = itemOf(report, 'two/d');
    const seen = await (await fetch(`${there.portal.url}/api/3/action/package_show?id=${uuid}&page=0`)).text();
    expect(seen).toContain('"name":"harbour"');
  });

  it('terms: a topic that the portal has is found by its name and not made again', async () => {
    const { gateway } = there;
    gateway.requests.length = 0;
    const report = await publish(write(there.place, 'topical', { topics: ['City Planning'] }));
    expect(itemOf(report, 'topical/d').warnings).toEqual([]);
    expect(gateway.requests.filter(({ body }) => body.includes('"tid":"autocreate","name":"City Planning"'))).toEqual(
      [],
    );
  });

  it('rows: a table that is not there is no fault of the portal', async () => {
    const { place, reader } = there;
    const manifest = write(place, 'gone');
    const report = await publish(manifest);
    await reader.dropRows(itemOf(report, 'gone/d/t').nid ?? '');
    expect((await place.run(['verify', manifest])).code).toBe(3);
    expect((await publish(manifest)).counts.actions).toEqual({ imported: 1 });
    expect((await place.run(['verify', manifest])).code).toBe(0);
  });

  it('datastores that others broke are seen and healed by --refresh', async () => {
    const { place, reader } = there;
    const manifest = write(place, 'broken');
    const report = await publish(manifest);
    await reader.dropRows(itemOf(report, 'broken/d/t').nid ?? '');
    const { code, out } = await place.run(['publish', manifest, '--refresh', '--json']);
    expect(code, out).toBe(0);
    expect(reportIn(out).counts.actions).toEqual({ imported: 1 });
    expect(await reader.count(itemOf(report, 'broken/d/t').uuid)).toBe(2);
  });

  it('fields: what the portal does not hold is told and blocks nothing; geometries are compared by value', async () => {
    const { place } = there;
    const report = await publish(
      write(place, 'fields', { modified: '2026-05-01', spatial: { wkt: 'POINT (13.0 52.50)' } }),
    );
    expect(itemOf(report, 'fields/d')).toMatchObject({
      live: true,
      warnings: [expect.stringContaining('field_modified_source_date')],
    });
    expect(itemOf(report, 'fields/d/t')).toMatchObject({ live: true });
  });

  it('lists: a damaged list is found by verify and written whole, in order, by one request', async () => {
    const { place, gateway, reader } = there;
    const row = 'id\n1\n';
    const manifest = write(place, 'list', { tables: { a: row, b: row, c: row } });
    const report = await publish(manifest);
    const nids = ['a', 'b', 'c'].map((id) => itemOf(report, `list/d/${id}`).nid);
    const dataset = itemOf(report, 'list/d').nid ?? '';
    await reader.change(dataset, { field_resources: { und: [{ target_id: nids[1] }] } });
    const { code, out } = await place.run(['verify', manifest]);
    expect([code, out]).toEqual([3, expect.stringContaining('resource nodes are missing from its list: ')]);
    gateway.takeWrites();
    await publish(manifest);
    expect(gateway.takeWrites()).toEqual([`PUT /api/dataset/node/${dataset}`]);
    expect(items((await reader.read(dataset)).field_resources).map(({ target_id }) => String(target_id))).toEqual(nids);
  });

  it('requests: a new file takes at most seven, a changed one at most six', async () => {
    const { place, gateway } = there;
    const files = cases(20, 10);
    const tables = (version: number) =>
      Object.fromEntries(Array.from({ length: files }, (_, index) => [`t${index}`, `id\n${version}\n`]));
    const count = async (manifest: string): Promise<number> => {
      const before = gateway.requests.length;
      await publish(manifest);
      const requests = gateway.requests.slice(before).filter(({ path }) => !/\/(user|session)\//.test(path));
      // The status of an import is asked for until it has ended: on a busy machine more than once.
      const isStatus = ({ method, path }: Passed): boolean => method === 'GET' && path.includes('/datastore/');
      const statuses = new Set(requests.filter(isStatus).map(({ path }) => path));
      // What a deadlock undid, which happens at random, is sent again after a look.
      const sent = requests.filter(({ method, path }) => method === 'POST' && /\/(?:node|attach_file)$/.test(path));
      const again = sent.length - new Set(sent.map(({ path, body }) => (path.endsWith('/node') ? body : path))).size;
      return requests.filter((request) => !isStatus(request)).length + statuses.size - 2 * again;
    };
    const created = await count(write(place, 'many', { tables: tables(1) }));
    const changed = await count(write(place, 'many', { tables: tables(2) }));
    expect(created / files).toBeLessThanOrEqual(7);
    expect(changed / files).toBeLessThanOrEqual(6);
  });

  it('groups may be named by title; one that the portal does not list is told', async () => {
    const { place, reader, gateway } = there;
    const nid = await reader.create({ type: 'group', title: 'Parks Department' });
    const manifest = write(place, 'grouped', { groups: ['Parks Department'] });
    gateway.takeWrites();
    const report = await publish(manifest);
    const [dataset, resource] = ['grouped/d', 'grouped/d/t'].map((key) => itemOf(report, key).nid ?? '');
    // A new dataset gives its groups to no resource, only one that is updated does.
    const nodes = '/api/dataset/node';
    expect(gateway.takeWrites().filter((line) => !/attach_file|datastore/.test(line))).toEqual([
      `POST ${nodes}`,
      `POST ${nodes}`,
      `PUT ${nodes}/${dataset}`,
    ]);
    for (const node of [await reader.read(dataset ?? ''), await reader.read(resource ?? '')]) {
      expect(items(node.og_group_ref).map(({ target_id }) => String(target_id))).toEqual([nid]);
    }
    expect((await place.run(['plan', manifest, '--refresh'])).out).toContain('2 unchanged');
    gateway.takeWrites();
    const { code, report: refused } = await place.publish(write(place, 'ungrouped', { groups: ['Nobody'] }));
    expect([code, itemOf(refused, 'ungrouped/d').reason?.message]).toEqual([
      3,
      expect.stringContaining('no group is titled "Nobody"'),
    ]);
    expect(gateway.takeWrites()).toEqual([]);
  });

  it('a run ends its session', async () => {
    const { gateway, place } = there;
    gateway.requests.length = 0;
    await publish(write(place, 'session'));
    const paths = gateway.requests.map(({ path }) => path);
    expect(paths.filter((path) => path.endsWith('/user/login'))).toHaveLength(1);
    expect(paths.filter((path) => path.endsWith('/user/logout'))).toHaveLength(1);
  });
});

describe('a dataset that a deadlock takes back leaves references', () => {
  const start = async (lostDatasets: number, lostAnswers = 0) => {
    const portal = await startTestPortal({ profile: 'dkan-7.18', races: { lostDatasets, lostAnswers } });
    const admin = await portal.as('admin');
    const place = makePlace(remoteConfig(portal.url, { username: 'admin' }));
    writePassword(place.dir, 'pass');
    const published = async (manifest: string): Promise<Report> => {
      const { code, report } = await place.publish(manifest);
      expect(code, reasons(report)).toBe(0);
      return report;
    };
    const references = async (nid = ''): Promise<string[]> =>
      items((await admin.read(nid)).field_dataset_ref).map(({ target_id }) => String(target_id));
    return { admin, place, published, references };
  };

  it('which go before it is created again, once', async () => {
    const { admin, place, published, references } = await start(1);
    const report = await published(write(place, 'lost', { tables: { a: 'id\n1\n', b: 'id\n1\n' } }));
    const [dataset, a, b] = ['lost/d', 'lost/d/a', 'lost/d/b'].map((key) => itemOf(report, key).nid ?? '');
    expect([await references(a), await references(b)]).toEqual([[dataset], [dataset]]);
    expect((await place.run(['log', 'lost/d'])).out).toContain('which the portal has lost');
    const list = await admin.send('GET', '/api/dataset/node?parameters[type]=dataset,resource');
    expect(list.json<{ nid: string }[]>().map(({ nid }) => nid)).toHaveLength(3);
  });

  it('also one that was answered as stored, several times in a row', async () => {
    const { admin, place, published, references } = await start(1, cases(5, 2));
    const report = await published(write(place, 'quiet'));
    const [dataset, nid] = ['quiet/d', 'quiet/d/t'].map((key) => itemOf(report, key).nid ?? '');
    expect(await references(nid)).toEqual([dataset]);
    const list = await admin.send('GET', '/api/dataset/node?parameters[type]=dataset,resource');
    expect(list.json<unknown[]>()).toHaveLength(2);
  });

  it('which go where they stop the save of a resource, its file or its dataset', async () => {
    const { admin, place, published, references } = await start(3);
    await admin.create({ type: 'group', title: 'Parks' });
    const report = await published(write(place, 'lost', { groups: ['Parks'] }));
    const [dataset, nid] = ['lost/d', 'lost/d/t'].map((key) => itemOf(report, key).nid ?? '');
    const resource = { id: 't', title: 'lost t', file: 'data/lost-t.csv' };
    const wanted = { id: 'd', title: 'lost dataset', groups: ['Parks'], resources: [resource] };
    const again = async (): Promise<void> => {
      // Another dataset that lists the resource is lost.
      const body = { type: 'dataset', title: 'Gone', field_resources: { und: [{ target_id: nid }] } };
      expect((await admin.send('POST', '/api/dataset/node', { body })).status).toBe(500);
      expect(await references(nid)).toHaveLength(2);
      const { status, reason } = await admin.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'Other' } });
      const words = /Invalid data value given[.] Be sure .* Value at node\(\): \d+[.]$/;
      expect([status, reason]).toEqual([500, expect.stringMatching(words)]);
      await published(place.manifest({ name: 'lost', datasets: [wanted] }));
      expect(await references(nid)).toEqual([dataset]);
    };
    place.write('data/lost-t.csv', 'id,what\n3,c\n');
    await again();
    resource.title = 'Renamed';
    await again();
    wanted.groups = [];
    await again();
    expect(await admin.read(nid ?? '')).toMatchObject({ title: 'Renamed', og_group_ref: [] });
  });
});

describe('dkan-7.14', () => {
  let there: There;
  beforeAll(async () => {
    there = await open('dkan-7.14');
  });

  it('without a datastore and a search, files are live; check says so and finds nothing wrong', async () => {
    const { place, gateway } = there;
    const { code, out } = await place.run(['check', '--portal', 'local']);
    expect([code, out]).toEqual([0, expect.stringContaining('no datastore endpoints')]);
    gateway.requests.length = 0;
    const { report } = await place.publish(write(place, 'plain'));
    expect(itemOf(report, 'plain/d/t')).toMatchObject({ live: true, rows: null });
    expect(gateway.requests.filter(({ path }) => path.includes('/datastore/search'))).toEqual([]);
  });

  it('takes periods and, one more with each write, all items of a field; tells what it does not take', async () => {
    const { place, reader } = there;
    const { code, report } = await place.publish(
      write(place, 'odd', {
        temporal: { from: '2026-01-01', to: '2026-12-31' },
        spatial: { wkt: 'POINT (13 52)' },
        topics: ['City Planning', 'Nobody knows'],
        additionalInfo: { Source: 'Ledger', Second: 'Two', Third: 'Three' },
        relatedContent: [
          { title: 'One', url: 'https://example.org/1' },
          { title: 'Two', url: 'https://example.org/2' },
        ],
      }),
    );
    expect(code, reasons(report)).toBe(0);
    const node = await reader.read(itemOf(report, 'odd/d').nid ?? '');
    expect(items(node.field_additional_info)).toHaveLength(3);
    expect(items(node.field_related_content)).toHaveLength(2);
    expect(items(node.field_temporal_coverage)[0]?.value).toContain('2026-01-01');
    const { warnings } = itemOf(report, 'odd/d');
    expect(warnings.filter((text) => /field_(spatial|topic)/.test(text))).toHaveLength(2);
    expect(warnings.join()).toContain('terms: {topics: {Nobody knows: N}}');
  });

  it('a resource with a file is updated, and keeps it', async () => {
    const { place, reader } = there;
    await place.publish(write(place, 'kept'));
    const manifest = place.manifest({
      name: 'kept',
      datasets: [
        {
          id: 'd',
          title: 'kept dataset',
          resources: [{ id: 't', title: 'Another title', file: 'data/kept-t.csv' }],
        },
      ],
    });
    const { code, report } = await place.publish(manifest);
    expect(code, reasons(report)).toBe(0);
    const { nid } = itemOf(report, 'kept/d/t');
    expect((await reader.read(nid ?? '')).title).toBe('Another title');
    expect((await reader.file(nid ?? ''))?.content).toContain('1,a');
  });

  it('a draft, which it would publish, is refused before it is created', async () => {
    const { place, reader } = there;
    const { code, report } = await place.publish(write(place, 'draft', { published: false }));
    expect([code, itemOf(report, 'draft/d').reason?.message]).toEqual([
      3,
      expect.stringContaining('publishes every node that it creates'),
    ]);
    expect(await reader.titles('dataset')).not.toContain('draft dataset');
  });

  it('a node that others made under the same title is not taken, nor doubled, until somebody decides', async () => {
    const { place, reader } = there;
    await reader.create({ type: 'dataset', title: 'twin dataset', log: 'by hand' });
    const manifest = write(place, 'twin');
    const { code, report } = await place.publish(manifest);
    expect([code, itemOf(report, 'twin/d').reason?.code]).toEqual([3, 'node-unclear']);
    expect((await place.run(['publish', manifest, '--create-missing'])).code).toBe(0);
    expect(doubles(await reader.list())).toEqual(['dataset twin dataset']);
  });
});
