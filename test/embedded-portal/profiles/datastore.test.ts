// The states of datastores on deployed portals, one request after the other.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal } from '../../support/portal.ts';

let user: Caller;

beforeAll(async () => {
  user = await (await startTestPortal({ profile: 'dkan-7.18' })).as('admin');
});

const imported = async (): Promise<string> => {
  const nid = await user.create({ type: 'resource', title: 'Table', uid: '1' });
  await user.attach(nid, { name: 'a.csv', content: 'a|b\n1|2\n' });
  await user.send('PUT', `/api/dataset/datastore/${nid}`, { body: { manager: '', configuration: { delimiter: '|' } } });
  await user.send('POST', `/api/dataset/datastore/${nid}/import`, { body: {} });
  return nid;
};

const statusOf = async (nid: string): Promise<Record<string, unknown>> =>
  (await user.send('GET', `/api/dataset/datastore/${nid}`)).json();

const rowsOf = async (nid: string): Promise<number | undefined> => {
  const { uuid } = await user.read(nid);
  const reply = await user.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
  return reply.json<{ result?: { total: number } }>().result?.total;
};

describe('a datastore of 7.18', () => {
  it.each([
    ['DELETE', ''],
    ['POST', '/drop'],
  ])('loses its configuration with its table: %s%s', async (method, action) => {
    const nid = await imported();
    expect(await statusOf(nid)).toMatchObject({
      storage: 1,
      data_import: 6,
      configurable_properties: { delimiter: '|' },
    });
    await user.send(method, `/api/dataset/datastore/${nid}${action}`, { body: {} });
    expect(await statusOf(nid)).toMatchObject({
      storage: 0,
      data_import: 2,
      configurable_properties: { delimiter: ',' },
    });
    expect(await rowsOf(nid)).toBeUndefined();
  });

  it('keeps state and rows while its resource has no file', async () => {
    const nid = await imported();
    await user.send('PUT', `/api/dataset/node/${nid}`, { body: { field_upload: [] } });
    expect((await user.send('GET', `/api/dataset/datastore/${nid}`)).status).toBe(403);
    await user.attach(nid, { name: 'b.csv', content: 'a|b\n7|8\n9|9\n' });
    expect(await statusOf(nid)).toMatchObject({ storage: 1, data_import: 6 });
    expect(await rowsOf(nid)).toBe(1);
  });

  it('refuses a configuration that names a manager, with a 500', async () => {
    const nid = await imported();
    const reply = await user.send('PUT', `/api/dataset/datastore/${nid}`, {
      body: { manager: 'simple', configuration: {} },
    });
    expect([reply.status, reply.json()]).toEqual([500, [expect.stringContaining('You may not change the manager')]]);
  });

  it('is not configured by properties that it does not have', async () => {
    const nid = await imported();
    const body = { manager: '', configuration: { bogus: 'x' } };
    await user.send('PUT', `/api/dataset/datastore/${nid}`, { body });
    expect(await statusOf(nid)).toMatchObject({ data_import: 6, configurable_properties: { delimiter: '|' } });
  });

  it('goes with its resource', async () => {
    const nid = await imported();
    await user.send('DELETE', `/api/dataset/node/${nid}`);
    expect((await user.send('GET', `/api/dataset/datastore/${nid}`)).status).toBe(404);
  });

  it('loses the rows that share a block with every 1000th, counted from the header', async () => {
    const nid = await user.create({ type: 'resource', title: 'Many', uid: '1' });
    const lines = Array.from({ length: 3500 }, (_, index) => `${index},${index % 7}`);
    await user.attach(nid, { name: 'many.csv', content: `a,b\n${lines.join('\n')}\n` });
    await user.send('POST', `/api/dataset/datastore/${nid}/import`, { body: {} });
    expect(await statusOf(nid)).toMatchObject({ data_import: 6 });
    expect(await rowsOf(nid)).toBeLessThan(3500);
    expect(await rowsOf(nid)).toBeGreaterThan(3485);
  });
});

it('7.18.16 tells the encoding in the status, and of a missing table only that there is a log', async () => {
  const admin = await (await startTestPortal({ profile: 'dkan-7.18.16' })).as('admin');
  const nid = await admin.create({ type: 'resource', title: 'Table', uid: '1' });
  await admin.attach(nid, { name: 'a.csv', content: 'a\n1\n' });
  const status = await admin.send('GET', `/api/dataset/datastore/${nid}.json`);
  expect(Object.entries(status.json<{ configurable_properties: object }>().configurable_properties)).toEqual([
    ['encoding', { PHP: 'UTF-8', MYSQL: 'utf8' }],
    ['delimiter', ','],
    ['quote', '"'],
    ['escape', '\\'],
    ['trailing_delimiter', false],
  ]);
  const { uuid } = await admin.read(nid);
  const search = await admin.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
  expect([search.status, search.json()]).toEqual([
    200,
    { error: { message: 'Exception Caught, please check logs for more information' } },
  ]);
});
