// The client against the embedded portal: both are ours, but they meet on the wire only.
import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fieldItems } from '../../src/dataset-api/fields.ts';
import { datastoreState } from '../../src/dataset-api/values.ts';
import { type PortalServer, startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { PortalConflictError, PortalGoneError, PortalLoginError, PortalRefusedError } from '../../src/model/errors.ts';
import { createLog } from '../../src/model/log.ts';
import { tempDir } from '../support/temp-dir.ts';
import { calm, failureFrom, openForTest } from './support/open.ts';

const dir = tempDir();
let server: PortalServer;

beforeAll(async () => {
  server = await startPortalServer({
    dataDir: join(dir, 'portal'),
    users: [
      { name: 'creator', password: 'open-sesame', roles: ['content creator'] },
      { name: 'reader', password: 'open-sesame', roles: [] },
    ],
    log: createLog({ level: 'silent' }),
  });
});
afterAll(() => server.close());

const dataset = (title = 'Budget') =>
  ({ type: 'dataset', title, status: 1, uuid: randomUUID(), log: 'sluice test', fields: {} }) as const;

const table = async (rows: number, name = 'spending.csv') => {
  const content = `department,amount\n${Array.from({ length: rows }, (_, n) => `dep ${n},${n}\n`).join('')}`;
  const path = join(dir, `${randomUUID()}.csv`);
  await writeFile(path, content);
  return { path, name, bytes: Buffer.byteLength(content), contentType: 'text/csv', content: Buffer.from(content) };
};

describe('the client on the embedded portal', () => {
  it('publishes a dataset with a table and finds it live', async () => {
    const portal = openForTest(server.url);
    const fields = {
      body: { und: [{ value: 'What is spent' }] },
      field_license: { und: [{ value: 'cc-by' }] },
      field_frequency: { und: [{ value: 'R/P1Y' }] },
      field_tags: { und: [{ tid: 'autocreate', name: 'budget', vocabulary_machine_name: 'tags' }] },
    };
    const wish = { ...dataset(), fields };
    const { nid } = await portal.createNode(wish, calm);
    const reference = { field_dataset_ref: { und: [{ target_id: nid }] } };
    const resource = { ...dataset('Spending'), type: 'resource' as const, fields: reference };
    const { nid: resourceNid } = await portal.createNode(resource, calm);
    const file = await table(1555);
    const { fid } = await portal.attach(resourceNid, file, calm);

    const node = await portal.nodes.read(nid, calm);
    const { uid } = await portal.session.identity(calm);
    expect(node).toMatchObject({ nid, uuid: wish.uuid, title: 'Budget', status: '1', log: 'sluice test', uid });
    expect(fieldItems(node, 'field_license')[0]).toMatchObject({ value: 'cc-by' });
    expect(fieldItems(node, 'field_frequency')[0]).toMatchObject({ value: 'R/P1Y' });
    expect(fieldItems(node, 'field_tags')).toHaveLength(1);
    expect(fieldItems(node, 'field_resources').map((item) => String(item.target_id))).toEqual([resourceNid]);
    const [upload] = fieldItems(await portal.nodes.read(resourceNid, calm), 'field_upload');
    expect(upload).toMatchObject({ fid, filename: 'spending.csv', filesize: String(file.bytes) });

    const status = await portal.datastore.status(resourceNid, calm);
    expect(status === null ? null : datastoreState(status)).toBe('imported');
    expect(await portal.datastore.table(resource.uuid, calm)).toMatchObject({ rows: 1555 });
    await portal.datastore.remove(resourceNid, calm);
    await portal.datastore.import(resourceNid, calm);
    expect(await portal.datastore.table(resource.uuid, calm)).toMatchObject({ rows: 1555 });
  });

  it('has a large file arrive byte for byte', async () => {
    const portal = openForTest(server.url);
    const { nid } = await portal.createNode({ ...dataset('Large'), type: 'resource' }, calm);
    const file = await table(200_000, 'large.csv');
    expect(file.bytes).toBeGreaterThan(2 * 1024 * 1024);
    await portal.attach(nid, file, calm);
    const reply = await fetch(`${server.url}/sites/default/files/large.csv`);
    const sha256 = (content: Uint8Array | string) => createHash('sha256').update(content).digest('hex');
    expect(sha256(await reply.bytes())).toBe(sha256(file.content));
  });

  it('is reported of a uuid that exists, with the nid', async () => {
    const portal = openForTest(server.url);
    const wish = dataset();
    const { nid } = await portal.createNode(wish, calm);
    const error = await failureFrom(portal.createNode(wish, calm));
    expect(error).toBeInstanceOf(PortalConflictError);
    expect(error).toHaveProperty('request.nid', nid);
    expect(await portal.findByUuid(wish.uuid, calm)).toMatchObject({ nid, title: 'Budget' });
    expect(await portal.findByUuid(randomUUID(), calm)).toBeNull();
  });

  it('sees what is updated and what is gone', async () => {
    const portal = openForTest(server.url);
    const { nid } = await portal.createNode(dataset(), calm);
    const before = await portal.nodes.read(nid, calm);
    await portal.nodes.update(nid, { title: 'Budget 2', log: 'second' }, calm);
    const after = await portal.nodes.read(nid, calm);
    expect(after).toMatchObject({ title: 'Budget 2', log: 'second' });
    expect(after.vid).not.toBe(before.vid);
    expect(await portal.nodes.highest(calm)).toBe(nid);
    await portal.nodes.remove(nid, calm);
    for (const call of [
      portal.nodes.read(nid, calm),
      portal.nodes.remove(nid, calm),
      portal.nodes.update(nid, { log: 'l' }, calm),
    ]) {
      expect(await failureFrom(call)).toBeInstanceOf(PortalGoneError);
    }
  });

  it('writes in the form dialect as well', async () => {
    const portal = openForTest(server.url, { dialect: 'form' });
    const fields = { field_license: { und: [{ value: 'cc-by' }] }, field_tags: { und: [{ name: 'older' }] } };
    const { nid } = await portal.createNode({ ...dataset(), fields }, calm);
    const node = await portal.nodes.read(nid, calm);
    expect(fieldItems(node, 'field_license')[0]).toMatchObject({ value: 'cc-by' });
  });

  it('refuses the datastore of a resource without a table', async () => {
    const portal = openForTest(server.url);
    const { nid } = await portal.createNode({ ...dataset('Empty'), type: 'resource' }, calm);
    expect(await failureFrom(portal.datastore.status(nid, calm))).toBeInstanceOf(PortalRefusedError);
    expect(await portal.datastore.isOffered(calm)).toBe(true);
  });

  it('is refused and told why', async () => {
    const reader = openForTest(server.url, { username: 'reader' });
    const error = await failureFrom(reader.createNode(dataset(), calm));
    expect(error).toBeInstanceOf(PortalRefusedError);
    expect(error).toHaveProperty(
      'message',
      'portal city: POST /api/dataset/node answered 403: Access denied for user reader',
    );
    const stranger = openForTest(server.url, { password: 'wrong' });
    expect(await failureFrom(stranger.nodes.list({}, calm))).toBeInstanceOf(PortalLoginError);
  });

  it('probes it without a write', async () => {
    const { writes } = server.requests();
    expect(await openForTest(server.url).probe(calm)).toMatchObject({
      api: true,
      dialect: 'entity',
      datastore: true,
      search: true,
      mayCreate: true,
      ok: true,
    });
    expect(await openForTest(server.url, { username: 'reader' }).probe(calm)).toMatchObject({
      mayCreate: false,
      ok: false,
    });
    expect(server.requests().writes).toBe(writes);
  });
});
