import { describe, expect, it, onTestFinished } from 'vitest';
import type { PortalNode } from '../../src/portal-client/client.ts';
import { echoedFields, fieldsFor } from '../../src/portal-client/dialect.ts';
import type { Dialect, PortalTraits } from '../../src/portal-client/settings.ts';
import { calm, failureFrom, openForTest } from './support/open.ts';
import { type SmallPortalOptions, startSmallPortal } from './support/small-portal.ts';

const uuid = '11111111-2222-5333-8444-555555555555';
const input = { type: 'dataset', title: 'Budget', status: 1, log: 'sluice', fields: {}, uuid } as const;
const license = { field_license: { und: [{ value: 'cc-by' }] } };

const start = async (options: SmallPortalOptions) => {
  const server = await startSmallPortal(options);
  onTestFinished(() => server.close());
  return server;
};

describe('fields for a form portal', () => {
  it.each([
    ['field_license', [{ value: 'cc-by' }], { select: 'cc-by' }],
    ['field_license', [{ value: 'Our own terms' }], { select: 'select_or_other', other: 'Our own terms' }],
    ['field_license', [], { select: 'notspecified' }],
    ['field_frequency', [{ value: 'R/P1Y' }], { value: '3' }],
    ['field_frequency', [{ value: 'irregular' }], { value: '5' }],
    ['field_frequency', [{ value: 18 }], { value: '18' }],
    ['field_frequency', [], '_none'],
    ['field_public_access_level', [{ value: 'public' }], { value: 'public' }],
    [
      'field_tags',
      [{ name: 'budget' }, { tid: 'autocreate', name: 'open data' }],
      { textfield: '', value_field: '""budget"" ""open data""' },
    ],
    ['field_tags', [{ name: 'say "hi"' }], { textfield: '', value_field: '""say hi""' }],
    ['field_format', [{ name: 'csv' }], { textfield: '', value_field: '""csv""' }],
    ['field_topic', [{ tid: '2' }, { tid: '3' }], ['2', '3']],
    ['field_language', [{ value: 'en' }], ['en']],
    ['field_dataset_ref', [{ target_id: '7' }], [{ target_id: 'node (7)' }]],
    ['field_dataset_ref', [], [{ target_id: '' }]],
    ['field_author', [], [{ value: '' }]],
    ['field_link_api', [], [{ url: '', title: '' }]],
    ['field_resources', [{ target_id: 'Budget (7)' }], [{ target_id: 'Budget (7)' }]],
    [
      'field_temporal_coverage',
      [{ value: '2024-03-01T00:00:00' }],
      [
        {
          value: { date: '03/01/2024', time: '00:00:00' },
          value2: { date: '03/01/2024', time: '00:00:00' },
          show_todate: 1,
        },
      ],
    ],
  ])('%s %j becomes %j', (field, items, shape) => {
    expect(fieldsFor('form', { [field]: { und: items } })).toEqual({
      fields: { [field]: { und: shape } },
      problems: {},
    });
  });

  it('keep their shape where the form takes the bare structure, or where they are written for it already', () => {
    const fields = {
      body: { und: [{ value: 'x', format: 'html' }] },
      field_author: { und: [{ value: 'Jane' }] },
      field_license: { und: { select: { value: 'cc-by' } } },
      field_own: 'anything',
    };
    expect(fieldsFor('form', fields)).toEqual({ fields, problems: {} });
  });

  it('name what cannot be said', () => {
    const { problems } = fieldsFor('form', {
      field_frequency: { und: [{ value: 'R/PT1H' }] },
      field_tags: { und: [{ tid: '8' }] },
      field_topic: { und: [{ tid: 'autocreate', name: 'Education' }] },
    });
    expect(problems).toEqual({
      field_frequency: [expect.stringContaining('"R/PT1H" has no number')],
      field_tags: [expect.stringContaining('an item has no "name"')],
      field_topic: [expect.stringContaining('terms: {topics:')],
    });
  });
});

describe('fields for an entity portal', () => {
  it('are sent as they are', () => {
    const fields = {
      ...license,
      field_frequency: { und: [{ value: 'R/P1Y' }] },
      field_dataset_ref: { und: [{ target_id: '7' }] },
      field_tags: {
        und: [{ tid: 'autocreate', name: 'budget', vid: '4', vocabulary_machine_name: 'tags' }, { tid: '9' }],
      },
    };
    expect(fieldsFor('entity', fields)).toEqual({ fields, problems: {} });
  });
});

describe('what goes along with an update through the editing form', () => {
  const node = (more: Record<string, unknown>) => more as PortalNode; // as read
  const upload = { und: [{ fid: 31, grid: '1', graph: '0', map: null, embed: '0', delimiter: ';' }] };
  const period = { und: [{ value: '2024-03-01 00:00:00', value2: '2024-12-31 12:30:00' }] };

  it('is its file, with how it is shown and read', () => {
    expect(echoedFields(node({ field_upload: upload }), {})).toEqual({
      field_upload: { und: [{ fid: '31', view: { grid: 1, graph: 0, map: 1 }, embed: 0, delimiter: ';' }] },
    });
    expect(echoedFields(node({ field_upload: { und: [{ fid: '31' }] } }), {})).toMatchObject({
      field_upload: { und: [{ delimiter: ',' }] },
    });
  });

  it('is its period, with day and time apart', () => {
    expect(echoedFields(node({ field_temporal_coverage: period }), {})).toEqual({
      field_temporal_coverage: {
        und: [
          {
            value: { date: '03/01/2024', time: '00:00:00' },
            value2: { date: '12/31/2024', time: '12:30:00' },
            show_todate: 1,
          },
        ],
      },
    });
  });

  it('is nothing that the update changes, and nothing that is not there', () => {
    const full = node({ field_upload: upload, field_temporal_coverage: period });
    expect(echoedFields(full, { field_upload: { und: [] }, field_temporal_coverage: { und: [] } })).toEqual({});
    expect(echoedFields(node({ field_upload: [], field_temporal_coverage: { und: [{ value: '' }] } }), {})).toEqual({});
  });
});

describe('the dialect of a portal', () => {
  const open = async (options: SmallPortalOptions, settings: { dialect?: 'auto' | Dialect; known?: Dialect } = {}) => {
    const learnt: Dialect[] = [];
    const server = await start(options);
    const onTraits = ({ dialect }: PortalTraits): void => {
      if (dialect !== undefined && learnt.at(-1) !== dialect) learnt.push(dialect);
    };
    const hooks = { onTraits, traits: settings.known ? { dialect: settings.known } : {} };
    const portal = openForTest(server.url, { dialect: settings.dialect ?? 'auto' }, hooks);
    const sent = (method: string) =>
      server.requests(method, '/api/dataset/node').map((seen) => JSON.parse(seen.body.toString()));
    return { server, portal, learnt, sent };
  };

  it('is entity where there are datastore endpoints, asked once; uid of the login and bare structures are sent', async () => {
    const { server, portal, learnt, sent } = await open({ dialect: 'entity' });
    await Promise.all(
      [1, 2, 3].map((n) => portal.createNode({ ...input, uuid: `${uuid}${n}`, fields: license }, calm)),
    );
    expect(learnt).toEqual(['entity']);
    expect(server.requests('GET', '/')).toHaveLength(1);
    expect(sent('POST')[0]).toEqual({ ...core, uuid: expect.any(String), uid: '3', ...license });
  });

  it('is form where there are none, told as certain when the read-back has another uuid', async () => {
    const { portal, learnt, sent } = await open({ dialect: 'form' });
    const { nid } = await portal.createNode(
      { ...input, fields: { ...license, field_frequency: { und: [{ value: 'R/P1W' }] } } },
      calm,
    );
    expect(learnt).toEqual([]);
    expect(sent('POST')[0]).toMatchObject({
      field_license: { und: { select: 'cc-by' } },
      field_frequency: { und: { value: '1' } },
    });
    expect(sent('POST')[0]).not.toHaveProperty('uid');
    await portal.nodes.read(nid, calm);
    expect(learnt).toEqual(['form']);
  });

  it('is entity without datastore endpoints where listed nodes have no language', async () => {
    const options = { dialect: 'entity', datastore: false } as const;
    const { server, portal, learnt } = await open(options);
    server.nodes.set('1', { nid: '1', status: '1', language: '' });
    await portal.createNode(input, calm);
    expect(learnt).toEqual(['entity']);
  });

  it('is learned from the first create on an empty entity portal without datastore endpoints', async () => {
    const { portal, learnt, sent } = await open({ dialect: 'entity', datastore: false });
    expect(await failureFrom(portal.createNode({ ...input, fields: license }, calm))).toMatchObject({
      request: { mayHaveHappened: true },
    });
    expect(learnt).toEqual(['entity']);
    const { nid } = await portal.createNode({ ...input, fields: license }, calm);
    expect(sent('POST').at(-1)).toMatchObject({ ...license, uid: '3' });
    await portal.nodes.read(nid, calm);
    expect(learnt).toEqual(['entity']);
  });

  it('is learned from the errors of an editing form, and the write is sent once more in it', async () => {
    const { portal, learnt, sent } = await open({ dialect: 'form', datastore: true });
    const fields = { field_frequency: { und: [{ value: 'R/P1W' }] } };
    expect(await portal.createNode({ ...input, fields }, calm)).toEqual({ nid: '1' });
    expect(learnt).toEqual(['entity', 'form']);
    expect(sent('POST')).toHaveLength(2);
    expect(sent('POST')[1]).toMatchObject({ field_frequency: { und: { value: '1' } } });
  });

  it('is what the configuration says, whatever the portal answers', async () => {
    const { server, portal, learnt, sent } = await open({ dialect: 'form' }, { dialect: 'entity' });
    const fields = { field_frequency: { und: [{ value: 'R/P1W' }] } };
    expect(await failureFrom(portal.createNode({ ...input, fields }, calm))).toMatchObject({ code: 'portal-refused' });
    expect(learnt).toEqual([]);
    expect(sent('POST')).toHaveLength(1);
    expect(server.requests('GET', '/')).toHaveLength(0);
  });

  it('is what was learned earlier, without a request', async () => {
    const { server, portal } = await open({ dialect: 'form' }, { known: 'form' });
    await portal.createNode(input, calm);
    expect(server.requests('GET', '/')).toHaveLength(0);
    expect(await portal.dialectInUse(calm)).toBe('form');
  });

  it('leaves out what the portal cannot take, and says why', async () => {
    const { portal, sent } = await open({ dialect: 'form' }, { known: 'form' });
    const fields = { field_frequency: { und: [{ value: 'R/PT1H' }] }, field_rights: { und: [{ value: 'none' }] } };
    await portal.nodes.update('1', { log: 'l', fields }, calm).catch(() => undefined);
    expect(JSON.parse(sent('PUT')[0]?.body ?? '{}')).not.toHaveProperty('field_frequency');
    expect(await portal.nodes.unsendable(fields, calm)).toEqual({
      field_frequency: [expect.stringContaining('R/PT1H')],
    });
  });
});

const core = { type: 'dataset', title: 'Budget', status: 1, log: 'sluice' };
