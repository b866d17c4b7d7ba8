// Datasets and their resources on deployed portals: written from one side, kept in step on the other.
import { describe, expect, it } from 'vitest';
import { createNode, renewDatasets } from '../../../src/embedded-portal/content/save.ts';
import type { ProfileName } from '../../../src/embedded-portal/portal.ts';
import { openStore } from '../../../src/embedded-portal/store/open.ts';
import { type Caller, type Reply, startTestPortal } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';

const admin = async (profile: ProfileName): Promise<Caller> => (await startTestPortal({ profile })).as('admin');

const targets = async (user: Caller, nid: string, field: string): Promise<string[]> =>
  (((await user.read(nid))[field] as { und?: { target_id: string }[] }).und ?? []).map(({ target_id }) => target_id);

const listOf = (nids: string[]) => ({ und: nids.map((target_id) => ({ target_id })) });

const put = (user: Caller, nid: string, body: object): Promise<Reply> =>
  user.send('PUT', `/api/dataset/node/${nid}`, { body });

const resources = async (user: Caller, titles: string): Promise<string[]> => {
  const nids: string[] = [];
  for (const title of titles) nids.push(await user.create({ type: 'resource', title, uid: '1' }));
  return nids;
};

describe.each(['dkan-7.18.16', 'dkan-7.18'] as const)('the list of a dataset of %s', (profile) => {
  it('is written as a whole, in the order sent, and every resource points back', async () => {
    const user = await admin(profile);
    const [a = '', b = '', c = '', d = ''] = await resources(user, 'abcd');
    const dataset = await user.create({ type: 'dataset', title: 'City', field_resources: listOf([c, a, b]) });
    expect(await targets(user, dataset, 'field_resources')).toEqual([c, a, b]);
    for (const nid of [a, b, c]) expect(await targets(user, nid, 'field_dataset_ref')).toEqual([dataset]);
    await put(user, dataset, { field_resources: listOf([d, b, a]) });
    expect(await targets(user, dataset, 'field_resources')).toEqual([d, b, a]);
    expect(await targets(user, c, 'field_dataset_ref')).toEqual([]);
    expect(await targets(user, d, 'field_dataset_ref')).toEqual([dataset]);
  });

  it('stays with updates that do not send it, and loses what is deleted', async () => {
    const user = await admin(profile);
    const [a = '', b = ''] = await resources(user, 'ab');
    const dataset = await user.create({ type: 'dataset', title: 'City', field_resources: listOf([a, b]) });
    await put(user, dataset, { title: 'Town' });
    await put(user, a, { title: 'Table' });
    expect(await targets(user, dataset, 'field_resources')).toEqual([a, b]);
    expect(await targets(user, a, 'field_dataset_ref')).toEqual([dataset]);
    await user.send('DELETE', `/api/dataset/node/${a}`);
    expect(await targets(user, dataset, 'field_resources')).toEqual([b]);
  });
});

describe('a dataset that changed long before its resource', () => {
  it('is saved with it, as a new revision with a log of its own', async () => {
    const store = await openStore(tempDir());
    const change = { store, uid: 1, now: 1000, copies: new Map() };
    const make = (type: 'dataset' | 'resource', title: string, targets: number[]) =>
      createNode(
        change,
        { type, fields: [] },
        {
          core: { title },
          changes: { items: { field_dataset_ref: targets.map((target_id) => ({ target_id })) } },
        },
      ).nid;
    const dataset = make('dataset', 'City', []);
    const resource = make('resource', 'Table', [dataset]);
    const renewAt = (now: number) => {
      renewDatasets({ ...change, now }, { nid: resource, title: 'Table' });
      return store.nodes.byNid(dataset);
    };
    const before = store.nodes.byNid(dataset);
    expect(renewAt(1060)).toEqual(before);
    expect(renewAt(1061)).toMatchObject({ changed: 1061, log: 'Update to resource Table' });
    expect(store.nodes.byNid(dataset)?.vid).not.toBe(before?.vid);
    expect(store.nodes.targets(dataset)).toEqual([resource]);
    store.close();
  });
});

it('7.14 takes text forms only, and the way back is made all the same', async () => {
  const user = await admin('dkan-7.14');
  const [a = ''] = await resources(user, 'a');
  const bare = { type: 'dataset', title: 'City', field_resources: listOf([a]) };
  const reply = await user.send('POST', '/api/dataset/node', { body: bare });
  expect([reply.status, reply.reason]).toEqual([406, `Not Acceptable : There are no entities matching "${a}"`]);
  const dataset = await user.create({ ...bare, field_resources: { und: [{ target_id: `a (${a})` }] } });
  expect(await targets(user, a, 'field_dataset_ref')).toEqual([dataset]);
});
