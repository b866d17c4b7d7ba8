// Specification 4.5 and 4.6: what is sent in a field is kept whole, or the request is refused and says why.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal } from '../support/portal.ts';

let user: Caller;

beforeAll(async () => {
  user = await (await startTestPortal()).as('creator');
});

const put = (nid: string, body: object): Promise<Reply> => user.send('PUT', `/api/dataset/node/${nid}`, { body });

/** Updates a dataset and returns the values of one field. */
const valuesAfter = async (body: Record<string, unknown>, name: string): Promise<unknown[]> => {
  const nid = await user.create({ type: 'dataset', title: 'Shapes' });
  expect((await put(nid, body)).status).toBe(200);
  const value = (await user.read(nid))[name] as { und?: Record<string, unknown>[] };
  return (value.und ?? []).map((item) => item.value ?? item.wkt ?? item.first ?? item.url ?? item.target_id);
};

describe('the obvious shapes of a field are taken', () => {
  it.each([
    { body: 'text' },
    { body: ['text'] },
    { body: [{ value: 'text' }] },
    { body: { value: 'text' } },
    { body: { und: 'text' } },
    { body: { und: ['text'] } },
    { body: { und: { value: 'text' } } },
    { body: { und: { 0: { value: 'text' } } } },
    { body: { und: [{ value: 'text', format: 'html', summary: null, safe_value: 'old' }] } },
  ])('%j', async (sent) => {
    expect(await valuesAfter(sent, 'body')).toEqual(['text']);
  });

  it.each([
    [{ field_license: 'cc-by' }, 'cc-by'],
    [{ field_license: { select: 'cc-by' } }, 'cc-by'],
    [{ field_license: { und: { select: { value: 'cc-by' } } } }, 'cc-by'],
    [{ field_frequency: 'R/P1Y' }, 'R/P1Y'],
    [{ field_frequency: { und: { value: '3' } } }, '3'],
    [{ field_frequency: { und: [{ value: 5 }] } }, '5'],
    [{ field_public_access_level: ['restricted'] }, 'restricted'],
    [{ field_harvest_source_ref: { und: [{ target_id: '7' }] } }, '7'],
    [{ field_harvest_source_ref: 'feed-7' }, 'feed-7'],
  ])('%j', async (sent, value) => {
    expect(await valuesAfter(sent, Object.keys(sent)[0] ?? '')).toEqual([value]);
  });

  it.each([
    [{ field_tags: ['with, comma', 'two'] }, 2],
    [{ field_tags: 'one, two, three' }, 3],
    [{ field_tags: { und: { value_field: '""one"" ""two""' } } }, 2],
    [{ field_tags: [{ tid: 'autocreate', name: 'one', vocabulary_machine_name: 'tags', vid: '2' }] }, 1],
  ])('names make tags: %j', async (sent, count) => {
    expect(await valuesAfter(sent, 'field_tags')).toHaveLength(count);
  });

  it('a node can be sent back as it was read', async () => {
    const fields = {
      body: 'text',
      field_author: 'Ann',
      field_tags: ['one'],
      field_spatial: [{ wkt: 'POINT (1 2)' }],
      field_temporal_coverage: [{ value: '2025-01-01', value2: '2025-12-31' }],
      field_landing_page: [{ url: 'https://example.org', title: 'Home' }],
      field_additional_info: [{ first: 'k', second: 'v' }],
    };
    for (const node of [
      { type: 'dataset', title: 'Round', ...fields },
      { type: 'resource', title: 'Round', body: 'x' },
    ]) {
      const nid = await user.create(node);
      if (node.type === 'resource') await user.attach(nid, { name: 'round.csv', content: 'a\n1\n' });
      const read = await user.read(nid);
      expect(await put(nid, read).then(({ status, text }) => [status, text])).toEqual([200, expect.any(String)]);
      const again = await user.read(nid);
      const changing = ['vid', 'vuuid', 'changed', 'revision_timestamp'];
      for (const key of Object.keys(read)) if (!changing.includes(key)) expect(again[key]).toEqual(read[key]);
    }
  });

  it.each([
    ['resource', { field_link_api: { und: [{ url: 'https://example.org/api' }] } }],
    ['resource', { field_link_api: { und: [{ url: 'https://example.org/api', title: 'API' }] } }],
    ['dataset', { field_landing_page: { und: [{ url: 'https://example.org' }] } }],
    ['dataset', { field_harvest_source_ref: { und: [{ target_id: '7' }] } }],
    ['dataset', { field_frequency: { und: [{ value: '5' }] } }],
    ['dataset', { field_additional_info: { und: [{ first: 'k', second: 'v' }] } }],
  ])('an item of a %s is read as it was sent: %j', async (type, sent) => {
    const nid = await user.create({ type, title: 'Same', ...sent });
    const [[name, value] = ['', null]] = Object.entries(sent);
    expect((await user.read(nid))[name]).toEqual(value);
  });

  it('the settings of a file are kept', async () => {
    const nid = await user.create({ type: 'resource', title: 'File' });
    const { fid } = (await user.attach(nid, { name: 'set.csv', content: 'a\n1\n' })).json<{ fid: string }>();
    const settings = { delimiter: ';', grid: '1', embed: '1', title: 'The table' };
    expect((await put(nid, { field_upload: [{ fid, ...settings }] })).status).toBe(200);
    expect((await user.read(nid)).field_upload).toMatchObject({ und: [{ fid, ...settings }] });
  });

  it.each([{ body: '' }, { body: null }, { body: [] }, { body: { und: [] } }, { body: { und: [{ value: '' }] } }])(
    'an empty value clears: %j',
    async (sent) => {
      expect(await valuesAfter(sent, 'body')).toEqual([]);
    },
  );
});

describe('everything else is refused with field, reason and what is allowed, and changes nothing', () => {
  it.each([
    [{ body: { und: [{ val: 'x' }] } }, 'body', /"val".*allowed: value, summary, format/],
    [{ body: { en: [{ value: 'x' }] } }, 'body', /"en".*und/],
    [{ body: { und: [{ value: 'x' }], de: [{ value: 'y' }] } }, 'body', /"de"/],
    [{ body: { und: [{ value: ['x'] }] } }, 'body', /value must be a text/],
    [{ body: [['x']] }, 'body', /value must be a text/],
    [{ bodi: 'x' }, 'bodi', /has no field bodi.*body/],
    [{ field_format: 'csv' }, 'field_format', /has no field/],
    [{ field_license: 'CC BY 4.0' }, 'field_license', /allowed: cc-by/],
    [{ field_license: { und: { select: 'cc-by', extra: 1 } } }, 'field_license', /"extra"/],
    [{ field_author: ['Ann', 'Bob'] }, 'field_author', /takes one value/],
    [{ field_author: { und: [{ format: 'html', name: 'Ann' }] } }, 'field_author', /"name"/],
    [{ field_tags: [{ label: 'one' }] }, 'field_tags', /"label".*name/],
    [{ field_tags: [{ name: 'one', vocabulary_machine_name: 'format' }] }, 'field_tags', /vocabulary tags/],
    [{ field_landing_page: [{ title: 'Home' }] }, 'field_landing_page', /needs url/],
    [
      { field_temporal_coverage: [{ value: '2025-01-01', timezone: 'Europe/Berlin' }] },
      'field_temporal_coverage',
      /UTC/,
    ],
    [{ field_spatial: 'here' }, 'field_spatial', /WKT/],
    [{ title: ['x'] }, 'title', /required/],
    [{ status: { value: 1 } }, 'status', /0 or 1/],
    [{ status: null }, 'status', /0 or 1/],
    [{ log: ['x'] }, 'log', /text or number/],
    [{ language: 'en' }, 'language', /und/],
    [{ vid: '1' }, 'vid', /set by the portal/],
    [{ changed: 5 }, 'changed', /set by the portal/],
    [{ path: 'https://example.org/mine' }, 'path', /set by the portal/],
    [{ picture: '5' }, 'picture', /set by the portal/],
    [{ data: 'x' }, 'data', /set by the portal/],
    [{ name: 'editor' }, 'name', /administer nodes/],
    [{ revision: 0 }, 'revision', /revision/],
  ])('%j', async (sent, field, reason) => {
    const nid = await user.create({ type: 'dataset', title: 'Kept', body: 'kept' });
    const before = await user.read(nid);
    const reply = await put(nid, sent);
    expect([reply.status, Object.keys(reply.json<{ form_errors: object }>().form_errors)]).toEqual([406, [field]]);
    expect(Object.values(reply.json<{ form_errors: object }>().form_errors)[0]).toMatch(reason);
    expect(await user.read(nid)).toEqual(before);
  });

  it('the status of a datastore cannot be set', async () => {
    const nid = await user.create({ type: 'resource', title: 'x' });
    expect((await put(nid, { field_datastore_status: { und: [{ value: '2' }] } })).status).toBe(406);
    expect((await put(nid, { field_datastore_status: { und: [{ value: '0' }] } })).status).toBe(200);
  });
});
