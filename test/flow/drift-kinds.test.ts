// What others did to published items, kind by kind, on a portal as deployed and for the account of a creator, which lists
// hide unpublished nodes from: what `plan --refresh` shows and `verify` finds is what the next publish mends.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PortalServer, startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';
import type { Report } from '../../src/model/report.ts';
import { sampled } from '../support/extent.ts';
import { planIn } from '../support/printed.ts';
import { tempDir } from '../support/temp-dir.ts';
import { itemOf } from './support/items.ts';
import type { Place } from './support/place.ts';
import { openReader, type Reader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { editor, publisher } from './support/server.ts';

let server: PortalServer;
let person: Reader;
let place: Place;
beforeAll(async () => {
  const { password } = publisher;
  server = await startPortalServer({
    dataDir: tempDir(),
    users: [
      { name: publisher.username, password, roles: ['content creator'] },
      { name: editor.username, password, roles: ['administrator'] },
    ],
    log: createLog({ level: 'silent' }),
    profile: 'dkan-7.18',
  });
  person = await openReader(server.url, editor.username, password);
  place = makeRemotePlace(server.url);
});
afterAll(() => server.close());

const table = 'id,value\n1,a\n2,b\n';

/** Node ids of a dataset and its first resource. */
interface Nids {
  dataset: string;
  resource: string;
}

const und = (...items: object[]) => ({ und: items });

/** Kind of drift, what somebody does, and the last part of the key of the item that differs then. */
const kinds: [string, (nids: Nids) => Promise<void>, 'd' | 'd/a'][] = [
  ['a text', ({ dataset }) => person.change(dataset, { body: und({ value: 'Edited' }) }), 'd'],
  ['a title', ({ resource }) => person.change(resource, { title: 'Edited' }), 'd/a'],
  ['lost tags', ({ dataset }) => person.change(dataset, { field_tags: und() }), 'd'],
  [
    'another tag',
    async ({ dataset }) => {
      const { field_tags: tags } = (await person.read(dataset)) as unknown as { field_tags: { und: object[] } };
      await person.change(dataset, { field_tags: und(...tags.und, { tid: 'autocreate', vid: '2', name: 'other' }) });
    },
    'd',
  ],
  ['an orphaned resource', ({ dataset }) => person.change(dataset, { field_resources: und() }), 'd'],
  ['an unpublished resource', ({ resource }) => person.change(resource, { status: 0 }), 'd/a'],
  ['an unpublished dataset', ({ dataset }) => person.change(dataset, { status: 0 }), 'd'],
  ['a deleted resource', ({ resource }) => person.remove(resource), 'd/a'],
  ['a deleted dataset', ({ dataset }) => person.remove(dataset), 'd'],
  ['a shorter file', ({ resource }) => person.attach(resource, 'other.csv', 'id,value\n1,a\n'), 'd/a'],
  ['a file of the same size', ({ resource }) => person.attach(resource, 'a.csv', table.replace('b', 'c')), 'd/a'],
  ['a missing file', ({ resource }) => person.change(resource, { field_upload: und() }), 'd/a'],
  ['a dropped table', ({ resource }) => person.dropRows(resource), 'd/a'],
];

const actionsOf = async (manifest: string, key: string): Promise<string[]> => {
  const { out } = await place.run(['plan', manifest, '--json', '--refresh']);
  return planIn(out).items.find((item) => item.key === key)?.actions ?? [];
};

it.each(sampled(kinds, 5))(
  '%s is shown by plan and verify alike, and mended',
  { timeout: 120_000 },
  async (kind, act, at) => {
    const name = kind.replaceAll(' ', '-');
    const key = `${name}/${at}`;
    const resources = ['a', 'b'].map((id) => ({
      id,
      title: `${kind} ${id}`,
      file: place.write(`data/${name}-${id}.csv`, table),
    }));
    const manifest = place.manifest({
      name,
      onDrift: 'overwrite',
      datasets: [{ id: 'd', title: kind, description: 'As written', tags: ['budget'], resources }],
    });
    const nidsOf = (report: Report): Nids => ({
      dataset: itemOf(report, `${name}/d`).nid ?? '',
      resource: itemOf(report, `${name}/d/a`).nid ?? '',
    });
    const first = await place.publish(manifest);
    expect(first.code).toBe(0);
    const before = await actionsOf(manifest, key);
    expect(before).toEqual([]);

    await act(nidsOf(first.report));
    const planned = await actionsOf(manifest, key);
    expect(planned).toEqual(
      kind.startsWith('a deleted') ? expect.arrayContaining(['create']) : expect.not.arrayContaining(['create']),
    );
    expect(planned).not.toEqual([]);
    const found = await place.run(['verify', manifest]);
    expect(found).toMatchObject({ code: 3, out: expect.stringContaining(`${key}: `) });
    const second = await place.publish(manifest);
    expect(second.code, second.out).toBe(0);
    expect(await place.run(['verify', manifest, '--content'])).toMatchObject({ code: 0 });

    // Without `verify` before it, a publish that compares with the portal mends the same.
    await act(nidsOf(second.report));
    const third = await place.run(['publish', manifest, '--refresh', '--json']);
    expect(third.code, third.out).toBe(0);
    expect(await place.run(['verify', manifest, '--content'])).toMatchObject({ code: 0 });
    expect(await actionsOf(manifest, key)).toEqual([]);
  },
);
