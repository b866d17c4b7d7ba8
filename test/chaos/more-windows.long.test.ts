// kill -9 around every write of an ordered import and of a removal, and at every boundary of their steps.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Gateway, openGateway, type Passed } from '../flow/support/gateway.ts';
import { makeKillPlace, publishThroughKills } from '../flow/support/kill-windows.ts';
import type { Place } from '../flow/support/place.ts';
import { doubles, type Reader } from '../flow/support/reader.ts';
import { type PortalProcess, startPortalProcess } from '../flow/support/server.ts';

let portal: PortalProcess;
let reader: Reader;
let gateway: Gateway;
let place: Place;
let killDir: string;
/** Kind and dataset of each node. */
const nodes = new Map<string, { kind: 'dataset' | 'resource'; id: string }>();
beforeAll(async () => {
  portal = await startPortalProcess();
  reader = await portal.reader();
  gateway = await openGateway(portal.url);
});
beforeEach(() => {
  ({ place, killDir } = makeKillPlace(gateway));
});

/** `<prefix>-<window>` as a dataset id. */
const idOf = (prefix: string, window: string): string => `${prefix}-${window.toLowerCase().replaceAll('/', '-')}`;

/** A write by kind (`dataset/DELETE`, `datastore/import`) and dataset. */
const writeOf = ({ method, path, body }: Passed): { what: string; id: string } => {
  const [, nid = ''] = /\/(?:node|datastore)\/(\d+)/.exec(path) ?? [];
  const id = /filename="([^"]+)\.csv"/.exec(body)?.[1];
  if (id !== undefined) nodes.set(nid, { kind: 'resource', id });
  const node = nodes.get(nid);
  if (path.endsWith('/import')) return { what: 'datastore/import', id: node?.id ?? '' };
  if (path.includes('/datastore/')) return { what: `datastore/${method}`, id: node?.id ?? '' };
  return { what: `${node?.kind}/${method}`, id: node?.id ?? '' };
};

const killThrough = (prefix: string, windows: string[], manifest: string) =>
  publishThroughKills({ place, killDir, gateway }, manifest, {
    windows,
    idOf: (window) => idOf(prefix, window),
    writeOf,
  });

const writeManifest = (name: string, ids: string[], mark: string, more: Record<string, unknown> = {}): string => {
  const datasets = ids.map((id) => {
    place.write(`data/${id}.csv`, `id${mark}value\n1${mark}a\n2${mark}b\n`);
    return { id, title: id, resources: [{ id: 'table', title: `${id} table`, file: `data/${id}.csv` }] };
  });
  return place.manifest({ name, datasets, ...more });
};

const rowsOf = async (prefix: string) => (await reader.list()).filter(({ title }) => title.startsWith(`${prefix}-`));

it('a worker killed around the writes of an import that it orders has it done right', async () => {
  const windows = ['datastore/PUT', 'datastore/import'].flatMap((write) => [`${write}/before`, `${write}/after`]);
  const ids = windows.map((window) => idOf('order', window));
  await killThrough('order', windows, writeManifest('order', ids, ';'));
  const rows = await rowsOf('order');
  expect(doubles(rows)).toEqual([]);
  expect(rows).toHaveLength(2 * ids.length);
  for (const { uuid, type, title } of rows.filter((row) => row.type === 'resource')) {
    expect(await reader.count(uuid), `${type} ${title}`).toBe(2);
    expect(await reader.records(uuid)).toMatchObject([{ value: 'a' }, { value: 'b' }]);
  }
  const log = await place.run(['log', `order/${idOf('order', 'datastore/import/after')}/table`]);
  expect(log.out).toContain('an interrupted import: the portal says');
});

describe('a worker killed at every moment of a removal', () => {
  it.each(['orphan', 'unpublish', 'delete'] as const)('takes each node down once: %s', async (how) => {
    const write = how === 'delete' ? 'DELETE' : 'PUT';
    const windows = ['resource', 'dataset'].flatMap((kind) => [
      ...['begin', 'end'].map((moment) => `${kind}/${how}/${moment}`),
      ...['before', 'after'].map((moment) => `${kind}/${write}/${moment}`),
    ]);
    const ids = windows.map((window) => idOf(how, window));
    const stays = `${how}-stays`;
    await place.publish(writeManifest(how, [...ids, stays], ','));
    for (const { nid, type, title } of await rowsOf(how)) {
      nodes.set(nid, { kind: type === 'dataset' ? 'dataset' : 'resource', id: title.split(' ')[0] ?? '' });
    }
    const removal = { onMissing: how, guard: { maxRemovals: '100%' } };
    await killThrough(how, windows, writeManifest(how, [stays], ',', removal));
    const left = (await rowsOf(how)).map(({ title, status }) => `${title} ${status}`).sort();
    const kept = [`${stays} 1`, `${stays} table 1`];
    const down = how === 'delete' ? [] : ids.flatMap((id) => [`${id} 0`, `${id} table 0`]);
    expect(left).toEqual([...down, ...kept].sort());
    expect((await place.publish(writeManifest(how, [stays], ',', removal))).report.counts.actions).toEqual({});
  });
});
