// Answers that are sound for another question: a node that is said to be gone, a file that is said to be attached.
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { type GatedPortal, openGatedPortal } from './support/gated-portal.ts';
import type { Gateway, Passed } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import type { Place } from './support/place.ts';
import { doubles } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';

let there: GatedPortal;
let place: Place;
beforeAll(async () => {
  there = await openGatedPortal(['--profile', 'dkan-7.18']); // it takes a second node with the same uuid
  place = makeRemotePlace(there.gateway.url);
});

const manifestOf = (name: string): string => {
  const file = place.write(`data/${name}.csv`, 'id,what\n1,a\n2,b\n');
  return place.manifest({
    name,
    datasets: [{ id: 'd', title: name, resources: [{ id: 't', title: `${name} t`, file }] }],
  });
};

/** Answers the first request that fits in the place of the portal. */
const once = (fits: RegExp, answer: (nid: string) => ReturnType<Gateway['instead']>): Gateway['instead'] => {
  let isOpen = true;
  return ({ method, path }: Passed) => {
    const [, nid = ''] = (isOpen && fits.exec(`${method} ${path}`)) || [];
    if (nid === '') return null;
    isOpen = false;
    return answer(nid);
  };
};

const gone = (nid: string) => ({ status: 404, body: [`Node ${nid} could not be found`] });

it.each([
  ['read', /^GET \/api\/dataset\/node\/(\d+)$/],
  ['attach', /^POST .*\/node\/(\d+)\/attach_file/],
  ['import', /^POST .*\/datastore\/(\d+)\/import/],
])('a node that is not found once, by a replica that lags behind, is not created again: %s', async (name, fits) => {
  there.gateway.instead = once(fits, gone);
  const { code, report } = await place.publish(manifestOf(name));
  expect([code, itemOf(report, `${name}/d/t`).live]).toEqual([0, true]);
  expect(doubles(await there.reader.list())).toEqual([]);
});

it('a node that the portal has named, and stores seconds later, is waited for', async () => {
  let isOpen = true;
  let stored: Promise<unknown> = Promise.resolve();
  there.gateway.instead = ({ method, path, body }) => {
    const isCreate = `${method} ${path}` === 'POST /api/dataset/node' && body.includes('"type":"resource"');
    if (!isCreate || !isOpen) return null;
    isOpen = false;
    // As its queue will make it.
    stored = sleep(4000).then(() => there.reader.create(JSON.parse(body)));
    return { status: 200, body: { nid: String(highest + 1), uri: 'x' } };
  };
  const highest = Math.max(0, ...(await there.reader.list()).map(({ nid }) => Number(nid)));
  const { code, report } = await place.publish(manifestOf('queued'));
  await stored;
  expect([code, itemOf(report, 'queued/d/t').live]).toEqual([0, true]);
  expect(doubles(await there.reader.list())).toEqual([]);
});

it('a dataset that the portal has named and never stores is waited for once, and recreated', async () => {
  let isOpen = true;
  there.gateway.instead = ({ method, path, body }) => {
    const isCreate = `${method} ${path}` === 'POST /api/dataset/node' && body.includes('"type":"dataset"');
    if (!isCreate || !isOpen) return null;
    isOpen = false;
    // A deadlock in its search index has undone the whole save.
    return { status: 200, body: { nid: String(highest + 1000), uri: 'x' } };
  };
  const highest = Math.max(0, ...(await there.reader.list()).map(({ nid }) => Number(nid)));
  const { code, report } = await place.publish(manifestOf('undone'));
  expect([code, itemOf(report, 'undone/d').live]).toEqual([0, true]);
  expect(doubles(await there.reader.list())).toEqual([]);
  const { out } = await place.run(['log', 'undone/d']);
  expect(out.match(/is no longer on the portal/g)).toHaveLength(1);
});

it.each([
  ['nothing', []],
  ['a file', [{ fid: '999', uri: 'http://portal.example/api/dataset/file/999' }]],
])('an attach that is said to have attached %s, and has not, is repeated', async (_, body) => {
  const name = `said-${body.length}`;
  const manifest = manifestOf(name);
  there.gateway.instead = once(/^POST .*\/node\/(\d+)\/attach_file/, () => ({ status: 200, body }));
  const first = await place.publish(manifest);
  const { code, report } = first.code === 0 ? first : await place.publish(manifest);
  const { live, nid } = itemOf(report, `${name}/d/t`);
  expect([code, live]).toEqual([0, true]);
  expect(await there.reader.file(nid ?? '')).toMatchObject({ content: 'id,what\n1,a\n2,b\n' });
});

it.each([
  ['was not carried out', { status: 200, body: [true] }],
  ['found no node, by a replica that lags behind', { status: 404, body: ['Node 1 could not be found'] }],
])('a removal that %s, whatever was answered, is repeated until the node is gone', async (name, answer) => {
  const word = name.split(' ')[0] ?? '';
  const manifest = manifestOf(word);
  expect((await place.publish(manifest)).code).toBe(0);
  place.manifest({ name: word, onMissing: 'delete', datasets: [{ id: 'd', title: word }] });
  there.gateway.instead = once(/^DELETE .*\/dataset\/node\/(\d+)$/, () => answer);
  expect((await place.publish(manifest)).code).toBe(0);
  expect((await there.reader.list()).filter(({ title }) => title.startsWith(word)).map(({ type }) => type)).toEqual([
    'dataset',
  ]);
});

it.each([
  ['a file', 'file'],
  ['a link', 'link'],
])('a create that is answered with another node, by a cache, touches nothing of that node: %s', async (_, kind) => {
  const other = place.write(`data/other-${kind}.csv`, 'id,what\n7,theirs\n');
  const resource = kind === 'file' ? { file: other } : { link: 'http://portal.example/map' };
  const theirs = { id: 't', title: `other ${kind} t`, ...resource };
  const manifest = place.manifest({
    name: `other-${kind}`,
    datasets: [{ id: 'd', title: `other ${kind}`, resources: [theirs] }],
  });
  const { nid } = itemOf((await place.publish(manifest)).report, `other-${kind}/d/t`);
  const before = await there.reader.read(nid ?? '');
  let isOpen = true;
  there.gateway.instead = ({ method, path, body }) => {
    if (!isOpen || `${method} ${path}` !== 'POST /api/dataset/node' || !body.includes('"type":"resource"')) return null;
    isOpen = false;
    return { status: 200, body: { nid, uri: `${there.gateway.url}/api/dataset/node/${nid}` } };
  };
  there.gateway.takeWrites();
  const first = await place.publish(manifestOf(`mine-${kind}`));
  const { code, report } = first.code === 0 ? first : await place.publish(manifestOf(`mine-${kind}`));
  expect([code, itemOf(report, `mine-${kind}/d/t`).live]).toEqual([0, true]);
  expect(there.gateway.takeWrites().filter((write) => write.includes(`/${nid}`))).toEqual([]);
  expect(await there.reader.read(nid ?? '')).toEqual(before);
  expect(doubles(await there.reader.list())).toEqual([]);
});
