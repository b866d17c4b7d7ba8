// Empty and odd values that public clients send, as deployed portals take them.
import { describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal } from '../../support/portal.ts';

const entities = ['dkan-7.18.16', 'dkan-7.18'] as const;

const deployed = [...entities, 'dkan-7.14'] as const;

const open = async (profile: (typeof deployed)[number] | 'spec'): Promise<Caller> =>
  (await startTestPortal({ profile, races: false })).as('admin');

const make = (user: Caller, type: string, field: string, und: unknown): Promise<Reply> =>
  user.send('POST', '/api/dataset/node', { body: { type, title: 'x', [field]: { und } } });

/** The items that a new node has in the field. */
const items = async (user: Caller, type: string, field: string, und: unknown): Promise<unknown> => {
  const reply = await make(user, type, field, und);
  expect([reply.reason, reply.status]).toEqual(['OK', 200]);
  const held = (await user.read(reply.json<{ nid: string }>().nid))[field];
  return (held as { und?: unknown }).und ?? held;
};

const links = [
  ['resource', 'field_link_api'],
  ['dataset', 'field_landing_page'],
] as const;

describe.each(entities)('links of %s', (profile) => {
  it.each(links)('that are empty are stored in a %s as %s', async (type, field) => {
    const user = await open(profile);
    const empty = { url: '', title: null, attributes: [], original_title: null, original_url: '' };
    for (const item of [{ url: '' }, { url: null }, {}, 'a text', 7]) {
      expect(await items(user, type, field, [item])).toEqual([empty]);
    }
    expect((await make(user, type, field, [{ title: 'alone' }])).text).toBe('["Field validation errors"]');
  });

  it.each(links)('may lack the scheme, but not leave ASCII, in a %s as %s', async (type, field) => {
    const user = await open(profile);
    for (const url of ['//x.org/y', 'ftp://x.org/y', 'x.org']) {
      expect(await items(user, type, field, [{ url }])).toMatchObject([{ url, original_url: url }]);
    }
    for (const url of ['http://x.org/ü', 'not a url', 'javascript:alert(1)']) {
      const reply = await make(user, type, field, [{ url }]);
      expect([reply.status, reply.json()]).toEqual([500, ['Field validation errors']]);
    }
  });
});

it.each(links)('the form takes umlauts and ftp in a %s as %s, no missing scheme', async (type, field) => {
  const user = await open('dkan-7.14');
  for (const url of ['http://x.org/ü', 'ftp://x.org/y'])
    expect(await items(user, type, field, [{ url }])).toMatchObject([{ url }]);
  expect((await make(user, type, field, [{ url: '//x.org/y' }])).status).toBe(406);
  expect(await items(user, type, field, [{ url: '' }])).toEqual([]);
});

it.each(links)('spec ignores an empty item in a %s as %s', async (type, field) => {
  const user = await open('spec');
  for (const item of [{ url: '' }, { url: null }, {}]) expect(await items(user, type, field, [item])).toEqual([]);
});

describe.each(entities)('a text or number as an item of %s', (profile) => {
  it.each([
    ['field_author', { value: null, format: null, safe_value: '' }],
    ['field_license', { value: null, format: null, safe_value: '' }],
    ['field_data_dictionary', { value: null, format: null }],
    ['body', { value: null, summary: null, format: null }],
    ['field_temporal_coverage', { value: null, value2: null }],
  ])('leaves %s without value', async (field, item) => {
    const user = await open(profile);
    for (const sent of ['a text', 7, {}]) expect(await items(user, 'dataset', field, [sent])).toMatchObject([item]);
  });

  it.each(['field_tags', 'field_frequency', 'field_spatial', 'field_related_content'])('breaks %s', async (field) => {
    expect((await make(await open(profile), 'dataset', field, ['a text'])).status).toBe(500);
  });

  it('an unknown property of the description is dropped', async () => {
    const found = await items(await open(profile), 'dataset', 'body', [{ text: 'x' }]);
    expect(found).toEqual([{ value: null, summary: null, format: null }]);
  });
});

describe('an update with an empty type', () => {
  it.each([...deployed, 'spec'] as const)('to %s', async (profile) => {
    const user = await open(profile);
    const nid = await user.create({ type: 'dataset', title: 'x' });
    for (const type of ['', null]) {
      const reply = await user.send('PUT', `/api/dataset/node/${nid}`, { body: { type, title: `t${type}` } });
      expect([reply.status, reply.reason, reply.text === '']).toEqual(
        profile.startsWith('dkan-7.18')
          ? [
              500,
              'Internal Server Error : An error occurred (0): Missing bundle property on entity of type node.',
              true,
            ]
          : [200, 'OK', false],
      );
    }
  });
});

describe('a group that is not in a list', () => {
  it.each(entities)('breaks %s when the node is stored already', async (profile) => {
    const user = await open(profile);
    const group = await user.create({ type: 'group', title: 'Harbour' });
    const reply = await make(user, 'dataset', 'og_group_ref', { target_id: group });
    expect([reply.status, reply.reason]).toEqual([500, 'Service unavailable (with message)']);
    expect(reply.text).toContain('<title>Error | DKAN</title>');
    const [stored] = (await user.send('GET', '/api/dataset/node?parameters[type]=dataset')).json<{ nid: string }[]>();
    expect(await user.read(stored?.nid ?? '')).toMatchObject({ title: 'x', og_group_ref: [] });
    const body = { title: 'y', og_group_ref: { und: { target_id: group } } };
    expect((await user.send('PUT', `/api/dataset/node/${stored?.nid}`, { body })).status).toBe(500);
    expect(await user.read(stored?.nid ?? '')).toMatchObject({ title: 'y', og_group_ref: [] });
  });

  it('is what 7.14 takes, also from those who are no members; a list is dropped', async () => {
    const portal = await startTestPortal({ profile: 'dkan-7.14', races: false });
    const [manager, creator] = [await portal.as('manager'), await portal.as('creator')];
    const group = await manager.create({ type: 'group', title: 'Harbour' });
    expect(await items(creator, 'dataset', 'og_group_ref', { target_id: group })).toEqual([{ target_id: group }]);
    expect(await items(creator, 'dataset', 'og_group_ref', [{ target_id: group }])).toEqual([]);
  });
});
