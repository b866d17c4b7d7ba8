// Specification, sections 4.10 and 3: datastore import.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, sendRaw, startTestPortal, type TestPortal } from '../support/portal.ts';
import { anyFormat, createTable, datastorePath, searchFor } from './support/table-resource.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const importOf = (nid: string, caller = creator) => caller.send('POST', datastorePath(nid, '/import'));

describe('Datastore import', () => {
  it('returns a YAML list holding true', async () => {
    const { nid } = await createTable(creator);
    const reply = await creator.send('POST', datastorePath(nid, '/import'), anyFormat);
    expect([reply.status, reply.text]).toEqual([200, '---\n- true\n']);
    expect(reply.headers['content-type']).toBe('text/yaml;charset=UTF-8');
  });

  it('takes the headers of the specification, with an empty body', async () => {
    const { nid } = await createTable(creator);
    const reply = await sendRaw(portal.url, 'POST', datastorePath(nid, '/import'), {
      body: '',
      headers: { 'content-type': 'application/json', 'x-csrf-token': creator.token, cookie: creator.cookie },
    });
    expect([reply.status, reply.text]).toEqual([200, '---\n- true\n']);
  });

  it('brings the rows back after a removal', async () => {
    const { nid, uuid } = await createTable(creator);
    await creator.send('DELETE', datastorePath(nid));
    expect((await importOf(nid)).text).toBe('---\n- true\n');
    expect((await searchFor(portal.anonymous, uuid)).json()).toMatchObject({ result: { total: 3 } });
    expect((await creator.send('GET', datastorePath(nid, '.json'))).json()).toMatchObject({
      storage: 1,
      data_import: 2,
    });
  });

  it('of what is imported already adds no rows', async () => {
    const { nid, uuid } = await createTable(creator);
    expect((await importOf(nid)).text).toBe('---\n- true\n');
    expect((await importOf(nid)).text).toBe('---\n- true\n');
    expect((await searchFor(portal.anonymous, uuid)).json()).toMatchObject({ result: { total: 3 } });
  });

  it('of a faulty table is refused and says why; the file stays attached', async () => {
    const { nid } = await createTable(creator, { name: 'faulty.csv', content: 'a,b\n1,2\n3\n' });
    const reply = await importOf(nid);
    expect(reply.status).toBe(406);
    expect(reply.json<string[]>()[0]).toMatch(/^The import failed: .*3/);
    expect((await creator.send('GET', datastorePath(nid, '.json'))).json()).toMatchObject({
      storage: 0,
      data_import: 7,
    });
    expect((await creator.read(nid)).field_upload).toMatchObject({ und: [{ filename: 'faulty.csv' }] });
  });

  it('needs the token', async () => {
    const { nid } = await createTable(creator);
    const reply = await creator.send('POST', datastorePath(nid, '/import'), { headers: { 'x-csrf-token': '' } });
    expect([reply.status, reply.json()]).toEqual([401, ['CSRF validation failed']]);
  });

  it('is for those who may edit the resource', async () => {
    const { nid } = await createTable(creator);
    for (const name of ['plain', 'creator2']) expect((await importOf(nid, await portal.as(name))).status).toBe(403);
    for (const name of ['editor', 'manager']) expect((await importOf(nid, await portal.as(name))).status).toBe(200);
  });

  it('has nothing to import where there is no table, or no node', async () => {
    const empty = await creator.create({ type: 'resource', title: 'Without a file' });
    expect((await importOf(empty)).status).toBe(403);
    const missing = await importOf('9999');
    expect([missing.status, missing.json()]).toEqual([404, ['Node 9999 could not be found']]);
  });
});
