// Specification, section 4.7: delete a node.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';
import { waitUntil } from '../support/wait-until.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

describe('Delete a node', () => {
  it('answers an empty body, and the node is gone', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Gone' });
    const path = `/api/dataset/node/${nid}`;
    const reply = await creator.send('DELETE', path, { headers: { 'content-type': 'application/json' } });
    expect([reply.status, reply.text]).toEqual([200, '']);
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const again = await creator.send(method, path);
      expect([again.status, again.json()]).toEqual([404, [`Node ${nid} could not be found`]]);
    }
  });

  it('never gives a nid twice', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Last' });
    await creator.send('DELETE', `/api/dataset/node/${nid}`);
    expect(Number(await creator.create({ type: 'dataset', title: 'Next' }))).toBeGreaterThan(Number(nid));
  });

  it('leaves the resources of a dataset, without the reference', async () => {
    const dataset = await creator.create({ type: 'dataset', title: 'Parent' });
    const resource = await creator.create({
      type: 'resource',
      title: 'Child',
      field_dataset_ref: { und: [{ target_id: dataset }] },
    });
    await creator.send('DELETE', `/api/dataset/node/${dataset}`);
    expect((await creator.read(resource)).field_dataset_ref).toEqual([]);
  });

  it('of a resource empties the reference of its dataset, and takes file and datastore along', async () => {
    const dataset = await creator.create({ type: 'dataset', title: 'Parent' });
    const resource = await creator.create({
      type: 'resource',
      title: 'Child',
      field_dataset_ref: { und: [{ target_id: dataset }] },
    });
    await creator.attach(resource, { name: 'gone.csv', content: 'a,b\n1,2\n' });
    const { uuid } = await creator.read(resource);
    await creator.send('DELETE', `/api/dataset/node/${resource}`);
    expect((await creator.read(dataset)).field_resources).toEqual([]);
    expect((await portal.anonymous.send('GET', '/sites/default/files/gone.csv')).status).toBe(404);
    const search = await portal.anonymous.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
    expect(search.status).toBe(404);
    await waitUntil('the bytes are gone', () => readdirSync(join(portal.server.dataDir, 'files')).length === 0);
  });

  it('needs the permission and the token', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Kept' });
    const path = `/api/dataset/node/${nid}`;
    expect((await portal.anonymous.send('DELETE', path)).status).toBe(403);
    expect((await (await portal.as('creator2')).send('DELETE', path)).status).toBe(403);
    expect((await creator.send('DELETE', path, { headers: { 'x-csrf-token': 'wrong' } })).json()).toEqual([
      'CSRF validation failed',
    ]);
    expect((await (await portal.as('editor')).send('DELETE', path)).status).toBe(200);
  });
});
