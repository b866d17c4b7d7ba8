// Release C: what a client meets that publishes to it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import { RecordedDatastore } from '../../../src/embedded-portal/profiles/dkan/datastore.ts';
import { datastoreRelease } from '../../../src/embedded-portal/profiles/dkan/releases.ts';
import { siteWith } from '../../../src/embedded-portal/site.ts';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal({ profile: 'dkan-7.14' });
  creator = await portal.as('creator');
});

const post = (body: object): Promise<Reply> =>
  creator.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: 'x', ...body } });

const fieldOf = async (body: Record<string, unknown>, field: string): Promise<unknown> =>
  (await creator.read((await post(body)).json<{ nid: string }>().nid))[field];

const illegal = 'An illegal choice has been detected. Please contact the site administrator.';

describe('create through the form of 7.14', () => {
  it.each([
    ['field_license', { und: { select: 'cc-by' } }, { und: [{ value: 'cc-by', format: null, safe_value: 'cc-by' }] }],
    [
      'field_license',
      { und: [{ value: 'cc-by' }] },
      { und: [{ value: 'notspecified', format: null, safe_value: 'notspecified' }] },
    ],
    ['field_frequency', { und: { value: '3' } }, { und: [{ value: '3' }] }],
    ['field_author', { und: [{ value: 'Ann' }] }, { und: [{ value: 'Ann', format: null, safe_value: 'Ann' }] }],
    ['field_author', { und: 'Ann' }, []],
    ['field_tags', { und: [{ tid: '1' }] }, []],
    ['field_spatial', { und: [{ wkt: 'POINT (1 2)' }] }, []],
  ])('%s sent as %j reads %j', async (name, value, expected) => {
    expect(await fieldOf({ [name]: value }, name)).toEqual(expected);
  });

  it('makes terms of the names in the text field of tags', async () => {
    const field_tags = { und: { textfield: '', value_field: '""one"" ""two""' } };
    expect(await fieldOf({ field_tags }, 'field_tags')).toMatchObject({ und: [{}, {}] });
  });

  it('ignores uuid, status, uid and created, and makes the caller the author', async () => {
    const uuid = '11111111-2222-4333-8444-555555555555';
    const { nid } = (await post({ uuid, status: 0, uid: 1, created: 1_600_000_000 })).json<{ nid: string }>();
    const node = await creator.read(nid);
    expect(node).toMatchObject({ status: '1', uid: '3', language: 'und' });
    expect([node.uuid, node.created]).not.toContain(uuid);
    expect(node.created).not.toBe('1600000000');
  });

  it('tells its errors by element', async () => {
    const reply = await post({ title: '', field_frequency: { und: 'R/P1Y' } });
    expect([reply.status, reply.json()]).toEqual([
      406,
      { form_errors: { title: 'Title field is required.', 'field_frequency][und': illegal } },
    ]);
    expect(reply.reason).toBe(`Not Acceptable : Title field is required. ${illegal}`);
  });

  it('takes references in text form only', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Parent' });
    const make = (target_id: string) =>
      creator.send('POST', '/api/dataset/node', {
        body: { type: 'resource', title: 'Child', field_dataset_ref: { und: [{ target_id }] } },
      });
    expect((await make(nid)).status).toBe(406);
    expect((await make(`Parent (${nid})`)).status).toBe(200);
    expect((await creator.read(nid)).field_resources).toMatchObject({ und: [{}] });
  });

  it('has no datastore endpoints', async () => {
    const reply = await creator.send('GET', '/api/dataset/datastore/1');
    expect([reply.status, reply.reason]).toEqual([404, 'Not found : Could not find resource datastore.']);
  });

  it('shows 0, 2 and 3 in field_datastore_status for no file, a table, and any other file', async () => {
    const states: unknown[] = [];
    for (const name of [null, 'a.csv', 'a.pdf']) {
      const nid = await creator.create({ type: 'resource', title: 'x' });
      if (name !== null) await creator.attach(nid, { name, content: 'a\n1\n' });
      states.push((await creator.read(nid)).field_datastore_status);
    }
    expect(states).toEqual(['0', '2', '3'].map((value) => ({ und: [{ value }] })));
  });
});

describe('cron of 7.14', () => {
  it('imports tables that wait, and the status says so', async () => {
    const dir = tempDir();
    const db = new DatabaseSync(join(dir, 'portal.db'));
    writeFileSync(join(dir, 'a.csv'), 'a\n1\n');
    const datastore = new RecordedDatastore(
      { db, write: async (work) => work(), races: null, site: siteWith() },
      { ...datastoreRelease, cronMs: 10 },
    );
    datastore.note({ nid: '1', fid: '1', path: join(dir, 'a.csv'), filename: 'a.csv', mime: 'text/csv' });
    expect(datastore.fieldStatus('1')).toBe('2');
    await waitUntil('cron has imported the table', () => datastore.fieldStatus('1') === '1');
    await datastore.close();
    db.close();
  });
});
