// Specification 2: items of tags, formats and topics are term ids; what they stand for can be looked up.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let user: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  user = await portal.as('creator');
});

const get = (path: string): Promise<Reply> => portal.anonymous.send('GET', `/api/dataset/taxonomy_term${path}`);

describe('Terms', () => {
  it('are found by the tid that a node shows, and by name', async () => {
    const nid = await user.create({ type: 'dataset', title: 'Tagged', field_tags: ['Harbour'] });
    const { und } = (await user.read(nid)).field_tags as { und: [{ tid: string }] };
    const [{ tid }] = und;
    const term = { tid, vid: '2', vocabulary_machine_name: 'tags', name: 'Harbour' };
    expect((await get(`/${tid}.json`)).json()).toEqual(term);
    expect((await get('?parameters[vocabulary_machine_name]=tags&parameters[name]=harbour')).json()).toEqual([term]);
    expect((await get('?parameters[vid]=3')).json<unknown[]>()).toHaveLength(6);
  });

  it('that are not there are 404, filters that are none 406', async () => {
    expect((await get('/99999')).status).toBe(404);
    expect((await get('?parameters[bogus]=1')).status).toBe(406);
    expect((await get('?page=x')).status).toBe(406);
  });

  it('of a release cannot be looked up so', async () => {
    const deployed = await startTestPortal({ profile: 'dkan-7.18' });
    expect((await deployed.anonymous.send('GET', '/api/dataset/taxonomy_term')).status).toBe(404);
  });
});
