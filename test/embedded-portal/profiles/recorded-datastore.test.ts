import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../../support/portal.ts';

let portal: TestPortal;
let admin: Caller;

beforeAll(async () => {
  portal = await startTestPortal({ profile: 'dkan-7.18' });
  admin = await portal.as('admin');
});

const attached = async (content: string): Promise<{ nid: string; uuid: unknown }> => {
  const nid = await admin.create({ type: 'resource', title: 'x' });
  await admin.attach(nid, { name: 'a.csv', content });
  return { nid, uuid: (await admin.read(nid)).uuid };
};

const post = (nid: string, action: string) => admin.send('POST', `/api/dataset/datastore/${nid}/${action}`);

const state = async (nid: string): Promise<unknown[]> => {
  const status = (await admin.send('GET', `/api/dataset/datastore/${nid}`)).json();
  return [status.storage, status.data_import];
};

const search = async (uuid: unknown): Promise<{ result?: { total: number; records: unknown[] }; error?: object }> =>
  (await admin.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`)).json();

describe('the datastore of release B', () => {
  it('goes from 0/2 to 1/6 and back', async () => {
    const { nid, uuid } = await attached('a,b\n1,2\n');
    expect(await state(nid)).toEqual([0, 2]);
    expect(await search(uuid)).toHaveProperty('error');
    expect((await post(nid, 'import')).json()).toEqual([true]);
    expect(await state(nid)).toEqual([1, 6]);
    expect((await search(uuid)).result?.records).toEqual([{ a: '1', b: '2', entry_id: '1' }]);
    await post(nid, 'drop');
    expect(await state(nid)).toEqual([0, 2]);
  });

  it('loses the rows that share a block of 32 bytes with every 1000th row', async () => {
    const rows = Array.from({ length: 1200 }, (_, index) => `${index},r${index}\n`);
    const { nid, uuid } = await attached(`a,b\n${rows.join('')}`);
    await post(nid, 'import');
    expect((await search(uuid)).result?.total).toBe(1199);
  });

  it('keeps the old rows when the file is replaced and imported again', async () => {
    const { nid, uuid } = await attached('a\n1\n2\n');
    await post(nid, 'import');
    await admin.attach(nid, { name: 'b.csv', content: 'a\n3\n4\n' });
    await post(nid, 'import');
    expect((await search(uuid)).result?.records).toEqual([
      { a: '1', entry_id: '1' },
      { a: '2', entry_id: '2' },
    ]);
  });

  it.each([
    ['a,a\n1,2\n', [1, 7]],
    ['a,b\n1\n', [1, 7]],
  ])('answers true to the import of %j, and only the state tells', async (content, expected) => {
    const { nid } = await attached(content);
    expect((await post(nid, 'import')).json()).toEqual([true]);
    expect(await state(nid)).toEqual(expected);
  });

  it.each(['', 'a,,c\n1,2,3\n', 'a,b\nx"y,2\n'])('answers 500 where %j makes no table', async (content) => {
    const { nid } = await attached(content);
    const reply = await post(nid, 'import');
    expect([reply.status, reply.text]).toEqual([500, '']);
    expect(await state(nid)).toEqual([0, 2]);
  });

  it('replaces the configuration by what is sent', async () => {
    const { nid, uuid } = await attached('a|b\n1|2\n');
    const body = { manager: '', configuration: { delimiter: '|' } };
    await admin.send('PUT', `/api/dataset/datastore/${nid}`, { body });
    expect((await admin.send('GET', `/api/dataset/datastore/${nid}`)).json()).toMatchObject({
      data_import: 3,
      configurable_properties: { delimiter: '|' },
    });
    await post(nid, 'import');
    expect((await search(uuid)).result?.records).toEqual([{ a: '1', b: '2', entry_id: '1' }]);
  });
});
