// Specification, section 3: the moves between states that it shows.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';
import { createTable, datastorePath, searchFor } from './support/table-resource.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

describe('States', () => {
  it('a node is published by status 1, and hidden from others by status 0', async () => {
    const [shown, hidden] = [
      await creator.create({ type: 'dataset', title: 'Shown', status: 1 }),
      await creator.create({ type: 'dataset', title: 'Hidden', status: 0 }),
    ];
    expect((await portal.anonymous.read(shown)).status).toBe('1');
    expect((await portal.anonymous.send('GET', `/api/dataset/node/${hidden}`)).status).toBe(403);
    expect((await creator.read(hidden)).status).toBe('0');
  });

  it('a valid CSV is imported as soon as it is attached: status 2, and its rows are found', async () => {
    const { nid, uuid } = await createTable(creator);
    expect((await creator.read(nid)).field_datastore_status).toEqual({ und: [{ value: '2' }] });
    expect((await creator.send('GET', datastorePath(nid, '.json'))).json()).toMatchObject({ data_import: 2 });
    expect((await searchFor(portal.anonymous, uuid)).json()).toMatchObject({ result: { total: 3 } });
  });

  it('a removal takes the table away, and an import brings it back', async () => {
    const { nid, uuid } = await createTable(creator);
    await creator.send('DELETE', datastorePath(nid));
    expect((await searchFor(portal.anonymous, uuid)).status).toBe(404);
    await creator.send('POST', datastorePath(nid, '/import'));
    expect((await creator.read(nid)).field_datastore_status).toEqual({ und: [{ value: '2' }] });
    expect((await searchFor(portal.anonymous, uuid)).json()).toMatchObject({ result: { total: 3 } });
  });

  it('a resource created with field_dataset_ref is added to the field_resources of its dataset', async () => {
    const dataset = await creator.create({ type: 'dataset', title: 'Parent' });
    const reference = { und: [{ target_id: dataset }] };
    const first = await creator.create({ type: 'resource', title: 'First', field_dataset_ref: reference });
    const second = await creator.create({ type: 'resource', title: 'Second', field_dataset_ref: reference });
    const items = [{ target_id: first }, { target_id: second }];
    expect((await creator.read(dataset)).field_resources).toEqual({ und: items });
  });
});
