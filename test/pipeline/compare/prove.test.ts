// What a proof says of a node that is as wanted, and of each way in which one can differ.
import { expect, it } from 'vitest';
import { newEntry } from '../../../src/model/ledger-entry.ts';
import type { ResourceWish } from '../../../src/model/wish.ts';
import { logOf, type NodeWish } from '../../../src/pipeline/compare/node.ts';
import { proveLinks, proveNodeOnly, proveResource } from '../../../src/pipeline/compare/prove.ts';
import { fingerprintFile } from '../../../src/sources/drop/fingerprint.ts';
import { calm } from '../../portal-client/support/open.ts';
import { useCity } from './support/city.ts';

const city = useCity();
const parts = () => ({ portal: city.portal(), content: true, signal: calm });
const found = (nid: string) => ({ nid, known: undefined });

const datasetWish = (uuid: string, more: Partial<NodeWish> = {}): NodeWish => ({
  key: 'city/parks',
  type: 'dataset',
  uuid,
  title: 'Parks',
  published: true,
  fields: {},
  fingerprint: 'f'.repeat(64),
  ...more,
});

it('a node as wanted is live, with the fingerprint of the wish', async () => {
  const { nid, uuid } = await city.make({ type: 'dataset', title: 'Parks' });
  const { entry, faults, sent } = await proveNodeOnly(parts(), datasetWish(uuid), found(nid));
  expect(faults).toEqual([]);
  expect(sent).toEqual({ title: 'Parks', published: true, fields: {} });
  expect(entry).toMatchObject({ nid, uuid, live: true, metadataFingerprint: 'f'.repeat(64), baseline: {} });
});

it('tags sent by name are proven by the terms of these names', async () => {
  const tag = { tid: 'autocreate', name: 'green', vocabulary_machine_name: 'tags' };
  const fields = { field_tags: { und: [tag] } };
  const wish = datasetWish('', { fields });
  const unknown = await city.make({ type: 'dataset', title: 'Parks', fields });
  const ours = await city.make({ type: 'dataset', title: 'Parks', fields, log: logOf(wish, 'nonce') });
  const proofOf = (node: { nid: string; uuid: string }) =>
    proveNodeOnly(parts(), { ...wish, uuid: node.uuid }, found(node.nid));
  expect((await proofOf(unknown)).entry).toMatchObject({ live: true, metadataFingerprint: wish.fingerprint });
  const other = await city.make({
    type: 'dataset',
    title: 'Parks',
    fields: { field_tags: { und: [{ ...tag, name: 'red' }] } },
  });
  expect(await proofOf(other)).toMatchObject({
    entry: { live: false },
    faults: [expect.stringContaining('field_tags')],
  });
  const { entry } = await proofOf(ours);
  expect(entry).toMatchObject({ live: true, metadataFingerprint: wish.fingerprint });
  expect(entry.baseline).toEqual({ field_tags: expect.stringMatching(/^\d+$/) });
});

it('a field that differs is named, and the node is not live', async () => {
  const { nid, uuid } = await city.make({ type: 'dataset', title: 'Parks and gardens' });
  const wish = datasetWish(uuid, { fields: { body: { und: [{ value: 'Green' }] } } });
  const { entry, faults, sent } = await proveNodeOnly(parts(), wish, found(nid));
  expect(faults).toEqual([
    `node ${nid}: title differs: it is "Parks and gardens"`,
    `node ${nid}: body differs: it is nothing`,
  ]);
  expect(sent).toBeNull();
  expect(entry).toMatchObject({ live: false, metadataFingerprint: null, baseline: null });
});

it('a field that the portal is known not to hold is no fault, unless it has changed since', async () => {
  const { nid, uuid } = await city.make({
    type: 'dataset',
    title: 'Parks',
    fields: { body: { und: [{ value: 'Gr' }] } },
  });
  const wish = datasetWish(uuid, { fields: { body: { und: [{ value: 'Green' }] } } });
  const knownAs = (got: string) => ({
    ...newEntry({ ...wish, kind: 'dataset' }),
    nid,
    notHeld: { body: got },
  });
  const same = await proveNodeOnly(parts(), wish, { nid, known: knownAs('Gr') });
  expect(same).toMatchObject({ faults: [], entry: { live: true, notHeld: { body: 'Gr' } }, broken: {} });
  const other = await proveNodeOnly(parts(), wish, { nid, known: knownAs('Gre') });
  expect(other).toMatchObject({
    faults: [`node ${nid}: body differs: it is Gr`],
    entry: { live: false, metadataFingerprint: null },
    // An edit is left to `onDrift`.
    broken: {},
  });
});

it('a node that bears another uuid than the one in the ledger is no longer ours', async () => {
  const { nid, uuid } = await city.make({ type: 'dataset', title: 'Parks' });
  const wish = datasetWish(uuid);
  const known = { ...newEntry({ ...wish, kind: 'dataset', uuid: '00000000-0000-4000-8000-000000000001' }), nid };
  const { entry, faults } = await proveNodeOnly(parts(), wish, { nid, known });
  expect(faults).toEqual([`node ${nid} ("Parks") is no longer ours`]);
  expect(entry).toMatchObject({ nid: null, live: false });
  expect((await proveNodeOnly(parts(), wish, { nid, known: { ...known, uuid: uuid.toUpperCase() } })).faults).toEqual(
    [],
  );
});

it('a dataset whose list lacks a resource, or has them in another order, is told', async () => {
  const { nid: dataset, uuid } = await city.make({ type: 'dataset', title: 'Parks' });
  const field_dataset_ref = { und: [{ target_id: dataset }] };
  const make = (title: string) => city.make({ type: 'resource', title, fields: { field_dataset_ref } });
  const [a, b] = [(await make('A')).nid, (await make('B')).nid];
  const proof = await proveNodeOnly(parts(), datasetWish(uuid), found(dataset));
  expect(proveLinks(proof, [a, b])).toMatchObject({ faults: [], broken: {}, entry: { links: [a, b] } });
  expect(proveLinks(proof, [b, a])).toMatchObject({
    faults: [`node ${dataset}: its list has the resources in another order`],
    broken: { links: null },
    entry: { links: null },
  });
  expect(proveLinks(proof, [a, '9999', b]).faults).toEqual([
    `node ${dataset}: resource nodes are missing from its list:  9999`,
  ]);
});

it('a node that is gone, or of another type, proves nothing', async () => {
  const { nid, uuid } = await city.make({ type: 'resource', title: 'Parks' });
  const gone = await proveNodeOnly(parts(), datasetWish(uuid), found('99999'));
  expect(gone).toMatchObject({ entry: { nid: null }, faults: ['node 99999 is not on the portal'], node: null });
  const other = await proveNodeOnly(parts(), datasetWish(uuid), found(nid));
  expect(other.faults).toEqual([`node ${nid} is a resource, not a dataset`]);
});

const content = 'id,word\n1,one\n2,two\n';
const resource = async (local: string) => {
  const { nid: dataset } = await city.make({ type: 'dataset', title: 'Of the table' });
  const { nid, uuid } = await city.makeTable({ dataset, title: 'Table', content });
  const path = city.write(`local-${uuid}.csv`, local);
  const source = await fingerprintFile(path, null);
  const wish: ResourceWish = {
    key: 'city/parks/t',
    uuid,
    datasetKey: 'city/parks',
    title: 'Table',
    published: true,
    fields: { field_dataset_ref: { und: [{ target_id: dataset }] } },
    source: { kind: 'file', path, name: 't.csv' },
    import: 'auto',
    metadataFingerprint: 'm',
  };
  const node: NodeWish = { ...wish, type: 'resource', fingerprint: 'f' };
  const rows = local.split('\n').length - 2;
  const file = {
    wish,
    source,
    sent: { bytes: source.bytes, sha256: source.sha256 },
    table: { rows, columns: null, dropped: async () => 0 },
    fetched: null,
  };
  return proveResource(parts(), node, found(nid), file);
};

it('a table with the same bytes and rows is live', async () => {
  const { entry, faults } = await resource(content);
  expect(faults).toEqual([]);
  expect(entry).toMatchObject({
    live: true,
    datastore: 'imported',
    rows: 2,
    file: { name: 't.csv', bytes: content.length },
  });
});

it('other bytes of the same length are found by downloading, others by their number; rows are counted', async () => {
  const same = await resource(content.replace('one', 'eno'));
  expect(same.faults).toEqual(['file t.csv differs from the local file']);
  expect(same.entry).toMatchObject({ live: false, file: null });
  const longer = await resource(`${content}3,three\n`);
  expect(longer.faults).toEqual([
    `file t.csv has ${content.length} bytes on the portal, ${content.length + 8} here`,
    'the datastore holds 2 rows, the file 3',
  ]);
  expect(longer.entry).toMatchObject({ live: false, file: null, datastore: 'failed' });
});
