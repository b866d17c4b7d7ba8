// Groups and pages: who makes them, how they read, and what may be named as a dataset's group.
import { beforeAll, describe, expect, it } from 'vitest';
import type { ProfileName } from '../../../src/embedded-portal/portal.ts';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../../support/portal.ts';

const profiles: ProfileName[] = ['spec', 'dkan-7.18.16', 'dkan-7.18', 'dkan-7.14'];

/** A group in the shape that a profile takes. */
const groupShape = (profile: ProfileName, nid: string): unknown =>
  profile === 'dkan-7.14' ? { und: [nid] } : { und: [{ target_id: nid }] };

describe.each(profiles)('groups and pages of %s', (profile) => {
  let portal: TestPortal;
  let manager: Caller;

  beforeAll(async () => {
    portal = await startTestPortal({ profile, races: false });
    manager = await portal.as('manager');
  });

  const make = (user: Caller, body: object): Promise<Reply> => user.send('POST', '/api/dataset/node', { body });

  it('a site manager makes a group, a content creator may not', async () => {
    const nid = await manager.create({ type: 'group', title: 'City Hall', body: { und: [{ value: 'All of it' }] } });
    expect(await manager.read(nid)).toMatchObject({
      type: 'group',
      title: 'City Hall',
      uid: '6',
      body: { und: [{ value: 'All of it' }] },
      group_group: { und: [{ value: '1' }] },
      path: `${portal.url}/group/city-hall`,
    });
    const list = await portal.anonymous.send('GET', '/api/dataset/node?parameters[type]=group');
    expect(list.json()).toMatchObject([{ nid, type: 'group' }]);
    expect((await make(await portal.as('creator'), { type: 'group', title: 'x' })).status).toBe(403);
    expect((await make(manager, { type: 'group' })).status).toBe(406);
  });

  it('a dataset names a group, and no other node as one', async () => {
    const nid = await manager.create({ type: 'group', title: 'Harbour' });
    const dataset = await manager.create({ type: 'dataset', title: 'Ships', og_group_ref: groupShape(profile, nid) });
    expect((await manager.read(dataset)).og_group_ref).toEqual({ und: [{ target_id: nid }] });
    for (const other of [dataset, '9999']) {
      const reply = await make(manager, { type: 'dataset', title: 'x', og_group_ref: groupShape(profile, other) });
      expect(reply.status).toBe(profile.startsWith('dkan-7.18') ? 500 : 406);
    }
  });

  it('resources get the groups of a dataset when it is updated, not when it is created with them', async () => {
    const [harbour, parks] = await Promise.all(
      ['Harbour office', 'Parks office'].map((title) => manager.create({ type: 'group', title })),
    );
    const resources = ['One', 'Two', 'Three'].map((title) => manager.create({ type: 'resource', title }));
    const [one, two, three] = await Promise.all(resources);
    const listOf = (...nids: (string | undefined)[]) => ({
      und: nids.map((nid) => ({ target_id: profile === 'dkan-7.14' ? `x (${nid})` : nid })),
    });
    const groupsOf = async (...nids: (string | undefined)[]): Promise<unknown[]> =>
      Promise.all(nids.map(async (nid) => (await manager.read(nid ?? '')).og_group_ref));
    const [none, first, second] = [[], ...[harbour, parks].map((nid) => ({ und: [{ target_id: nid }] }))];
    const dataset = await manager.create({
      ...{ type: 'dataset', title: 'Boats', og_group_ref: groupShape(profile, harbour ?? '') },
      field_resources: listOf(one),
    });
    const update = async (body: object): Promise<void> => {
      expect((await manager.send('PUT', `/api/dataset/node/${dataset}`, { body })).status).toBe(200);
    };
    expect(await groupsOf(one, two)).toEqual([none, none]);
    const { vid } = await manager.read(two ?? '');
    await update({ field_resources: listOf(one, two) });
    expect(await groupsOf(one, two, three)).toEqual([none, first, none]);
    expect((await manager.read(two ?? '')).vid).toBe(vid);
    // From the other side it is an update of the dataset, too.
    const four = await manager.create({ type: 'resource', title: 'Four', field_dataset_ref: listOf(dataset) });
    expect(await groupsOf(four)).toEqual([first]);
    await update({ og_group_ref: groupShape(profile, parks ?? '') });
    expect(await groupsOf(one, two, four)).toEqual([second, second, second]);
    if (profile === 'dkan-7.14') return; // its form takes nothing off a list that is merely left out
    await update({ field_resources: listOf(two) });
    expect(await groupsOf(one, two, four)).toEqual([none, second, none]);
  });

  it('a page is made, and deployed portals send its author on to it', async () => {
    const reply = await make(manager, { type: 'page', title: 'About us' });
    if (profile === 'spec') expect(reply.json()).toMatchObject({ nid: expect.any(String) });
    else expect([reply.status, reply.headers.location]).toEqual([302, `${portal.url}/about-us?edit=true`]);
    const list = await portal.anonymous.send('GET', '/api/dataset/node?parameters[type]=page');
    expect(list.json()).toMatchObject([{ title: 'About us', type: 'page' }]);
  });
});

it('deployed portals keep the titles of groups apart', async () => {
  const manager = await (await startTestPortal({ profile: 'dkan-7.18' })).as('manager');
  await manager.create({ type: 'group', title: 'Parks' });
  const reply = await manager.send('POST', '/api/dataset/node', { body: { type: 'group', title: 'Parks' } });
  expect([reply.status, reply.reason]).toEqual([
    406,
    'Not Acceptable : A group with title Parks exists on the site. Please use another title.',
  ]);
});

it('7.18 lets only the members of a group and user 1 name it, and drops what is no item', async () => {
  const portal = await startTestPortal({ profile: 'dkan-7.18', races: false });
  const [manager, admin] = [await portal.as('manager'), await portal.as('admin')];
  const nid = await manager.create({ type: 'group', title: 'Parks' });
  const body = { type: 'dataset', title: 'x', og_group_ref: { und: [{ target_id: nid }] } };
  expect((await manager.send('POST', '/api/dataset/node', { body })).status).toBe(200);
  expect((await admin.send('POST', '/api/dataset/node', { body })).status).toBe(200);
  const other = await portal.as('administrator');
  const reply = await other.send('POST', '/api/dataset/node', { body });
  expect([reply.status, reply.json()]).toEqual([500, ['Field validation errors']]);
  const bare = await manager.create({ ...body, og_group_ref: { und: [nid] } });
  expect((await manager.read(bare)).og_group_ref).toEqual([]);
});
