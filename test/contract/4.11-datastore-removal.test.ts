// Specification, sections 4.11 and 3: datastore removal.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';
import { anyFormat, createTable, datastorePath, searchFor } from './support/table-resource.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

describe('Datastore removal', () => {
  it('removes table and record and returns a YAML list holding true', async () => {
    const { nid, uuid } = await createTable(creator);
    const reply = await creator.send('DELETE', datastorePath(nid), anyFormat);
    expect([reply.status, reply.text]).toEqual([200, '---\n- true\n']);
    expect((await creator.send('GET', datastorePath(nid, '.json'))).json()).toMatchObject({ storage: 0 });
    expect((await creator.read(nid)).field_datastore_status).toEqual({ und: [{ value: '0' }] });
    expect((await searchFor(portal.anonymous, uuid)).status).toBe(404);
  });

  it('leaves the resource and its file', async () => {
    const { nid } = await createTable(creator);
    const { field_upload } = await creator.read(nid);
    await creator.send('DELETE', datastorePath(nid));
    expect((await creator.read(nid)).field_upload).toEqual(field_upload);
  });

  it('leaves the tables of other resources', async () => {
    const [gone, kept] = [await createTable(creator), await createTable(creator)];
    await creator.send('DELETE', datastorePath(gone.nid));
    expect((await searchFor(portal.anonymous, kept.uuid)).json()).toMatchObject({ result: { total: 3 } });
  });

  it('drop removes the table too and answers an empty list', async () => {
    const { nid } = await createTable(creator);
    expect((await creator.send('POST', datastorePath(nid, '/drop.json'))).json()).toEqual([]);
    expect((await creator.send('GET', datastorePath(nid, '.json'))).json()).toMatchObject({ storage: 0 });
  });

  it('needs the token, and the right to edit the resource', async () => {
    const { nid, uuid } = await createTable(creator);
    const withoutToken = await creator.send('DELETE', datastorePath(nid), { headers: { 'x-csrf-token': '' } });
    expect([withoutToken.status, withoutToken.json()]).toEqual([401, ['CSRF validation failed']]);
    expect((await (await portal.as('creator2')).send('DELETE', datastorePath(nid))).status).toBe(403);
    expect((await portal.anonymous.send('DELETE', datastorePath(nid))).status).toBe(403);
    expect((await searchFor(portal.anonymous, uuid)).json()).toMatchObject({ result: { total: 3 } });
  });

  it('finds no datastore where there is no node', async () => {
    const reply = await creator.send('DELETE', datastorePath('9999'));
    expect([reply.status, reply.json()]).toEqual([404, ['Node 9999 could not be found']]);
  });
});
