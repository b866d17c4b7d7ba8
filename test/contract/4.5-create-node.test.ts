// Specification, sections 4.5, 2.2, 2.3, 2.5 and 3: create a node.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;
let admin: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
  admin = await portal.as('admin');
});

const post = (body: unknown, caller: Caller = creator): Promise<Reply> =>
  caller.send('POST', '/api/dataset/node', { body });

const made = async (fields: Record<string, unknown>): Promise<Record<string, unknown>> =>
  creator.read(await creator.create({ type: 'dataset', title: 'Made', ...fields }));

describe('Create a node', () => {
  it('answers nid and uri', async () => {
    const reply = await post({ type: 'dataset', title: 'Answer' });
    const { nid } = reply.json<{ nid: string }>();
    expect(reply.status).toBe(200);
    expect(reply.json()).toEqual({ nid, uri: `${portal.url}/api/dataset/node/${nid}` });
  });

  it('makes the caller the author, and refuses to name another one', async () => {
    expect(await made({ uid: 3 })).toMatchObject({ uid: '3', name: 'creator' });
    const body = { type: 'dataset', title: 'x', uid: 1 };
    expect((await creator.send('POST', '/api/dataset/node', { body })).status).toBe(406);
  });

  it('lets those who administer nodes name the author', async () => {
    const nid = await admin.create({ type: 'dataset', title: 'Named', name: 'creator2' });
    expect(await admin.read(nid)).toMatchObject({ uid: '4', name: 'creator2', revision_uid: '1' });
    expect((await post({ type: 'dataset', title: 'x', name: 'nobody' }, admin)).status).toBe(406);
  });

  it('keeps uuid, log, status and created as given, promote and sticky of who administers nodes', async () => {
    const given = {
      uuid: '11111111-2222-4333-8444-555555555555',
      log: 'made by a test',
      status: 0,
      created: 1_600_000_000,
    };
    expect(await made(given)).toMatchObject({ ...given, status: '0', created: '1600000000' });
    const admin = await portal.as('admin');
    const nid = await admin.create({ type: 'dataset', title: 'x', promote: 1, sticky: '1' });
    expect(await admin.read(nid)).toMatchObject({ promote: '1', sticky: '1' });
  });

  it('refuses a uuid that exists with 409 and names the node', async () => {
    const uuid = '11111111-2222-4333-8444-666666666666';
    const nid = await creator.create({ type: 'dataset', title: 'First', uuid });
    const reply = await post({ type: 'resource', title: 'Second', uuid: uuid.toUpperCase() });
    expect(reply.status).toBe(409);
    expect(reply.json<string[]>()[0]).toMatch(new RegExp(`nid ${nid}$`));
    expect(reply.reason).toContain(`nid ${nid}`);
  });

  it('lets only one of many simultaneous creates of a uuid through', async () => {
    const uuid = '11111111-2222-4333-8444-777777777777';
    const replies = await Promise.all(Array.from({ length: 20 }, () => post({ type: 'dataset', title: 'Race', uuid })));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, ...Array<number>(19).fill(409)]);
  });

  it('unwraps a body that is wrapped in node once', async () => {
    const reply = await post({ node: { type: 'dataset', title: 'Wrapped' } });
    expect((await creator.read(reply.json<{ nid: string }>().nid)).title).toBe('Wrapped');
  });

  it.each([
    [{ title: 'x' }, 406, ['Node type is required']],
    [{ type: null, title: 'x' }, 406, ['Node type is required']],
    [{}, 406, ['Node type is required']],
    [[], 406, ['Node type is required']],
    ['"text"', 406, ['Node type is required']],
    [{ type: '', title: 'x' }, 403, ['Access denied for user creator']],
    [{ type: 'unknown', title: 'x' }, 403, ['Access denied for user creator']],
    [{ type: ['dataset'], title: 'x' }, 406, ['Node type  does not exist.']],
    [{ type: 'dataset' }, 406, { form_errors: { title: 'Title field is required.' } }],
    [{ type: 'dataset', title: '  ' }, 406, { form_errors: { title: 'Title field is required.' } }],
    [{ type: 'resource', title: null }, 406, { form_errors: { title: 'Title field is required.' } }],
    [{ type: 'dataset', title: ['a'] }, 406, { form_errors: { title: 'Title field is required.' } }],
    [
      { type: 'dataset', title: 'x', nid: '1' },
      406,
      { form_errors: { nid: 'The nid of a new node cannot be chosen.' } },
    ],
    [{ type: 'dataset', title: 'x', uuid: 'x' }, 406, { form_errors: { uuid: 'The value of uuid is not a UUID.' } }],
    [
      { type: 'dataset', title: 'x', status: 2 },
      406,
      { form_errors: { status: 'The value of status must be 0 or 1.' } },
    ],
  ])('refuses %j', async (body, status, answer) => {
    const headers = { 'content-type': 'application/json' };
    const reply = await creator.send('POST', '/api/dataset/node', { body, headers });
    expect([reply.status, reply.json()]).toEqual([status, answer]);
  });

  it('takes a title of 255 characters and refuses one of 256', async () => {
    expect((await post({ type: 'dataset', title: '😀'.repeat(255) })).status).toBe(200);
    expect((await post({ type: 'dataset', title: 'x'.repeat(256) })).status).toBe(406);
  });

  it('reports an administrator that a type does not exist', async () => {
    const reply = await post({ type: 'unknown', title: 'x' }, admin);
    expect([reply.status, reply.json()]).toEqual([406, ['Node type unknown does not exist.']]);
  });

  it.each(['anonymous', 'plain'])('requires a user who may create: %s may not', async (name) => {
    const caller = name === 'anonymous' ? portal.anonymous : await portal.as(name);
    const reply = await post({ type: 'dataset', title: 'x' }, caller);
    expect([reply.status, reply.json()]).toEqual([403, [`Access denied for user ${name}`]]);
  });

  it('reports all faults of the fields at once and keeps nothing', async () => {
    const before = portal.server.requests().writes;
    const reply = await post({
      type: 'dataset',
      title: 'Faulty',
      field_tags: { und: [{ name: 'tag of a faulty node' }] },
      field_license: { und: [{ value: 'none' }] },
      field_frequency: { und: 'daily' },
    });
    expect(reply.status).toBe(406);
    expect(reply.json<{ form_errors: object }>().form_errors).toEqual({
      field_frequency: expect.stringMatching(/^Invalid option for field field_frequency; allowed: R\/PT1S, /),
      field_license: expect.stringMatching(/^Invalid option for field field_license; allowed: cc-by, /),
    });
    expect(portal.server.requests().writes).toBe(before + 1);
    const list = await admin.send('GET', '/api/dataset/node?parameters[title]=Faulty');
    expect(list.json()).toEqual([]);
  });
});

describe('Field shapes on input', () => {
  it.each([
    ['list of items', { und: [{ value: 'cc-by' }] }],
    ['select with value (4.6)', { und: { select: { value: 'cc-by' } } }],
    ['select', { und: { select: 'cc-by' } }],
    ['item', { und: { value: 'cc-by' } }],
    ['text', { und: 'cc-by' }],
    ['list of texts', { und: ['cc-by'] }],
    ['numbered items', { und: { '0': { value: 'cc-by' } } }],
    ['other text of the form', { und: { select: 'select_or_other', other: 'cc-by' } }],
  ])('field_license as %s', async (_name, field_license) => {
    expect((await made({ field_license })).field_license).toEqual({
      und: [{ value: 'cc-by', format: null, safe_value: 'cc-by' }],
    });
  });

  it.each([
    ['list of items', { und: [{ value: 'R/P1Y' }] }],
    ['item (4.6)', { und: { value: 'R/P1Y' } }],
  ])('field_frequency as %s', async (_name, field_frequency) => {
    expect((await made({ field_frequency })).field_frequency).toEqual({ und: [{ value: 'R/P1Y' }] });
  });

  it.each([
    ['names', { und: [{ name: 'alpha' }, { name: 'beta' }] }],
    [
      'autocreate',
      {
        und: [
          { tid: 'autocreate', name: 'alpha' },
          { tid: 'autocreate', name: 'beta' },
        ],
      },
    ],
    ['the text field of the form', { und: { textfield: '', value_field: '""alpha"" ""beta""' } }],
    ['text parted by commas', { und: 'alpha, beta' }],
  ])('field_tags as %s: terms that are new are made, known ones used', async (_name, field_tags) => {
    const first = await made({ field_tags });
    const second = await made({ field_tags });
    expect((first.field_tags as { und: { tid: string }[] }).und).toEqual([
      { tid: expect.stringMatching(/^\d+$/) },
      { tid: expect.stringMatching(/^\d+$/) },
    ]);
    expect(second.field_tags).toEqual(first.field_tags);
    expect((await made({ field_tags: first.field_tags })).field_tags).toEqual(first.field_tags);
  });

  it('refuses a tid that is unknown or of another vocabulary', async () => {
    for (const tid of ['99999', '1']) {
      expect((await post({ type: 'dataset', title: 'x', field_tags: { und: [{ tid }] } })).status).toBe(406);
    }
  });

  it.each([null, [], { und: [] }, { und: null }, { und: '' }, { und: [{ value: '' }] }, {}])(
    'a field sent as %j is empty',
    async (field_author) => {
      expect((await made({ field_author })).field_author).toEqual([]);
    },
  );

  it('takes dates in ISO 8601 and shows them with their parts', async () => {
    const { field_temporal_coverage } = await made({
      field_temporal_coverage: { und: [{ value: '2012-01-01', value2: '2012-12-31T00:00:00Z' }] },
    });
    expect(field_temporal_coverage).toMatchObject({
      und: [
        {
          value: '2012-01-01 00:00:00',
          value2: '2012-12-31 00:00:00',
          timezone: 'UTC',
          timezone_db: 'UTC',
          date_type: 'datetime',
          db: { value: { originalTime: '2012-01-01T00:00:00+00:00' } },
        },
      ],
    });
  });

  it('takes links and shows their address, and a title where they have one', async () => {
    const url = 'http://example.org/l';
    expect((await made({ field_landing_page: { und: [{ url }] } })).field_landing_page).toEqual({ und: [{ url }] });
    const titled = { und: [{ url, title: 'L' }] };
    expect((await made({ field_landing_page: titled })).field_landing_page).toEqual(titled);
  });

  it.each([
    { field_author: { und: [{ value: 'x'.repeat(256) }] } },
    { field_author: { und: [{ value: 'a' }, { value: 'b' }] } },
    { field_landing_page: { und: [{ url: 'javascript:alert(1)' }] } },
    { field_landing_page: { und: [{ url: 'not a url' }] } },
    { field_temporal_coverage: { und: [{ value: 'yesterday' }] } },
    { field_spatial: { und: [{ wkt: 'NOT WKT' }] } },
    { field_public_access_level: { und: [{ value: 'secret' }] } },
    { field_resources: { und: [{ target_id: '9999' }] } },
    { og_group_ref: { und: [{ target_id: '9999' }] } },
  ])('refuses %j with 406 and names the field', async (fields) => {
    const reply = await post({ type: 'dataset', title: 'x', ...fields });
    expect(reply.status).toBe(406);
    expect(Object.keys(reply.json<{ form_errors: object }>().form_errors)).toEqual(Object.keys(fields));
  });
});

describe('References', () => {
  it('a resource created with field_dataset_ref is added to the field_resources of the dataset', async () => {
    const dataset = await creator.create({ type: 'dataset', title: 'Parent' });
    const resource = await creator.create({
      type: 'resource',
      title: 'Child',
      field_dataset_ref: { und: [{ target_id: dataset }] },
    });
    expect((await creator.read(dataset)).field_resources).toEqual({ und: [{ target_id: resource }] });
    expect((await creator.read(resource)).field_dataset_ref).toEqual({ und: [{ target_id: dataset }] });
  });

  it('a dataset created with field_resources is entered on the resources', async () => {
    const resource = await creator.create({ type: 'resource', title: 'Text form' });
    const target_id = `Whatever is written here (${resource})`;
    const dataset = await creator.create({
      type: 'dataset',
      title: 'Parent',
      field_resources: { und: [{ target_id }] },
    });
    expect((await creator.read(resource)).field_dataset_ref).toEqual({ und: [{ target_id: dataset }] });
  });

  it('a title alone is enough when only one node has it', async () => {
    const resource = await creator.create({ type: 'resource', title: 'The only one' });
    const node = await made({ field_resources: { und: [{ target_id: 'the only one' }] } });
    expect(node.field_resources).toEqual({ und: [{ target_id: resource }] });
    await creator.create({ type: 'resource', title: 'The only one' });
    expect(
      (await post({ type: 'dataset', title: 'x', field_resources: { und: [{ target_id: 'The only one' }] } })).status,
    ).toBe(406);
  });

  it('must point to a node of the right type', async () => {
    const dataset = await creator.create({ type: 'dataset', title: 'Not a resource' });
    const reply = await post({ type: 'dataset', title: 'x', field_resources: { und: [{ target_id: dataset }] } });
    expect(reply.json()).toEqual({
      form_errors: { field_resources: `The referenced entity (node: ${dataset}) is invalid.` },
    });
  });
});
