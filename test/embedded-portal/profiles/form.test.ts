// What the editing form of 7.14 makes of the lists, periods, files and texts it is sent.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal } from '../../support/portal.ts';

let user: Caller;

beforeAll(async () => {
  user = await (await startTestPortal({ profile: 'dkan-7.14', races: false })).as('admin');
});

const put = (nid: string, body: object): Promise<Reply> => user.send('PUT', `/api/dataset/node/${nid}`, { body });

const field = async (nid: string, name: string): Promise<unknown> => (await user.read(nid))[name];

const numbers = (value: unknown): string[] =>
  ((value as { und?: { target_id: string }[] }).und ?? []).map(({ target_id }) => target_id);

describe('a list of references', () => {
  it('takes one item more than it holds, so that repeated updates add one each', async () => {
    const nids: string[] = [];
    for (const title of ['A', 'B', 'C']) nids.push(await user.create({ type: 'resource', title }));
    const und = nids.map((nid, index) => ({ target_id: `${'ABC'[index]} (${nid})` }));
    const dataset = await user.create({ type: 'dataset', title: 'City', field_resources: { und } });
    const held = [numbers(await field(dataset, 'field_resources'))];
    for (let round = 0; round < 3; round += 1) {
      await put(dataset, { field_resources: { und } });
      held.push(numbers(await field(dataset, 'field_resources')));
    }
    expect(held).toEqual([nids.slice(0, 1), nids.slice(0, 2), nids, nids]);
    await put(dataset, { field_resources: { und: und.toReversed() } });
    expect(numbers(await field(dataset, 'field_resources'))).toEqual(nids.toReversed());
  });

  it('grows by a resource that is created with the text form of its dataset, and the log is emptied only by updates', async () => {
    const dataset = await user.create({ type: 'dataset', title: 'Parent', log: 'made' });
    const reference = { und: [{ target_id: `Parent (${dataset})` }] };
    const nid = await user.create({ type: 'resource', title: 'Child', field_dataset_ref: reference });
    expect(numbers(await field(dataset, 'field_resources'))).toEqual([nid]);
    expect(await field(dataset, 'log')).toBe('made');
    await put(dataset, { title: 'Parent' });
    expect(await field(dataset, 'log')).toBe('');
  });

  it('refuses a node that is not there: 500 at create, 406 by place at update', async () => {
    const field_resources = { und: [{ target_id: 'Nope (9999)' }] };
    const made = await user.send('POST', '/api/dataset/node', {
      body: { type: 'dataset', title: 'x', field_resources },
    });
    expect([made.status, made.text]).toEqual([500, '']);
    const dataset = await user.create({ type: 'dataset', title: 'x' });
    const reply = await put(dataset, { field_resources });
    expect([reply.status, reply.json()]).toEqual([
      406,
      { form_errors: { 'field_resources][und][0': 'The referenced entity (node: 9999) is invalid.' } },
    ]);
  });
});

describe('other lists', () => {
  it.each([
    ['field_additional_info', [0, 1, 2].map((n) => ({ first: `k${n}`, second: `v${n}` }))],
    ['field_related_content', [0, 1, 2].map((n) => ({ url: `http://x.org/${n}`, title: `t${n}`, attributes: [] }))],
  ])('%s takes the first item at create and one more per update', async (name, und) => {
    const nid = await user.create({ type: 'dataset', title: 'Lists', [name]: { und } });
    const held = [await field(nid, name)];
    for (let round = 0; round < 2; round += 1) {
      await put(nid, { [name]: { und } });
      held.push(await field(nid, name));
    }
    expect(held).toEqual([{ und: und.slice(0, 1) }, { und: und.slice(0, 2) }, { und }]);
  });

  it('a tag with a comma becomes two tags', async () => {
    const field_tags = { und: { textfield: '', value_field: '""with, comma"" ""two""' } };
    const nid = await user.create({ type: 'dataset', title: 'Tags', field_tags });
    expect((await field(nid, 'field_tags')) as object).toMatchObject({ und: [{}, {}, {}] });
  });
});

const period = (start: string, end: string, time = '00:00:00') => ({
  und: [{ value: { date: start, time }, value2: { date: end, time }, show_todate: 1 }],
});

describe('a period', () => {
  it('is taken in the shape of the form only, and must be sent with every update', async () => {
    const field_temporal_coverage = period('05/05/2025', '06/05/2025');
    const nid = await user.create({ type: 'dataset', title: 'Period', field_temporal_coverage });
    expect(await field(nid, 'field_temporal_coverage')).toMatchObject({
      und: [{ value: '2025-05-05 00:00:00', value2: '2025-06-05 00:00:00' }],
    });
    const refused = await put(nid, { title: 'Period 2' });
    expect(refused.status).toBe(406);
    expect(Object.keys(refused.json<{ form_errors: object }>().form_errors)).toEqual([
      'field_temporal_coverage][und][0][value',
      'field_temporal_coverage][und][0][value2',
    ]);
    expect((await put(nid, { title: 'Period 2', field_temporal_coverage })).status).toBe(200);
    expect(await field(nid, 'title')).toBe('Period 2');
  });

  it.each([
    ['plain texts', { und: [{ value: '2025-05-05', value2: '2025-06-05' }] }, 'The dates are invalid.'],
    [
      'an end before its start',
      period('06/05/2025', '05/05/2025'),
      'The End date must be greater than the Start date.',
    ],
    ['ISO dates', period('2025-05-05', '2025-06-05'), 'does not match the expected format.'],
  ])('is refused in %s', async (_what, field_temporal_coverage, words) => {
    const body = { type: 'dataset', title: 'x', field_temporal_coverage };
    const reply = await user.send('POST', '/api/dataset/node', { body });
    expect(reply.status).toBe(406);
    expect(reply.reason).toContain(words);
  });

  it('that is not there leaves an item of nulls behind at every second update', async () => {
    const nid = await user.create({ type: 'dataset', title: 'None' });
    const held: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      await put(nid, { title: 'None' });
      held.push(await field(nid, 'field_temporal_coverage'));
    }
    const empty = { und: [{ value: null, value2: null, timezone: 'UTC', timezone_db: 'UTC', date_type: 'datetime' }] };
    expect(held).toEqual([empty, [], empty]);
  });
});

describe('a resource with a file', () => {
  const view = { view: { grid: 1, graph: 0, map: 1 }, embed: 1, delimiter: ',' };

  it('is updated only with the settings of its preview beside the fid', async () => {
    const nid = await user.create({ type: 'resource', title: 'File', log: 'made' });
    await user.attach(nid, { name: 'a.csv', content: 'a\n1\n' });
    expect(await field(nid, 'log')).toBe('made');
    const fid = ((await field(nid, 'field_upload')) as { und: { fid: string }[] }).und[0]?.fid;
    const refused = await put(nid, { title: 'New' });
    expect([refused.status, refused.text]).toEqual([500, '']);
    expect((await put(nid, { title: 'New', field_upload: { und: [{ fid, ...view }] } })).status).toBe(200);
    const node = await user.read(nid);
    expect(node).toMatchObject({ title: 'New', log: '' });
    expect(node.field_upload).toMatchObject({
      und: [{ fid, delimiter: ',', grid: '1', graph: '0', map: '1', embed: '1' }],
    });
  });

  it('loses it to an update that sends the settings without the fid', async () => {
    const nid = await user.create({ type: 'resource', title: 'File' });
    await user.attach(nid, { name: 'b.csv', content: 'a\n1\n' });
    expect((await put(nid, { field_upload: { und: [view] } })).status).toBe(200);
    expect(await field(nid, 'field_upload')).toEqual([]);
  });

  it('cannot be made with a fid alone', async () => {
    const nid = await user.create({ type: 'resource', title: 'Other' });
    await user.attach(nid, { name: 'c.zip', content: 'PK' });
    const { field_upload, field_datastore_status } = await user.read(nid);
    expect(field_datastore_status).toEqual({ und: [{ value: '3' }] });
    const { fid } = (field_upload as { und: [{ fid: string }] }).und[0];
    const body = { type: 'resource', title: 'Copy', field_upload: { und: [{ fid }] } };
    expect((await user.send('POST', '/api/dataset/node', { body })).status).toBe(500);
  });
});

describe('texts and options', () => {
  it('a body keeps format and summary that an update does not send', async () => {
    const body = { und: [{ value: '**x**', summary: 's', format: 'plain_text' }] };
    const nid = await user.create({ type: 'dataset', title: 'Body', body });
    await put(nid, { body: { und: [{ value: '**y**' }] } });
    expect(await field(nid, 'body')).toMatchObject({ und: [{ value: '**y**', summary: 's', format: 'plain_text' }] });
  });

  it('a status of null unpublishes, 0 and false do not', async () => {
    const made = [null, 0, false].map((status) => user.create({ type: 'resource', title: 'x', status }));
    expect(await Promise.all((await Promise.all(made)).map((nid) => field(nid, 'status')))).toEqual(['0', '1', '1']);
  });

  it('an empty access level is the default', async () => {
    for (const field_public_access_level of [[], { und: [] }, { und: {} }]) {
      const nid = await user.create({ type: 'dataset', title: 'x', field_public_access_level });
      expect(await field(nid, 'field_public_access_level')).toEqual({ und: [{ value: 'public' }] });
    }
  });
});
