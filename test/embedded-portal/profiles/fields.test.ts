// What deployed portals drop of a node without a word, and whom they show it to.
import { describe, expect, it } from 'vitest';
import type { ProfileName } from '../../../src/embedded-portal/portal.ts';
import { type Caller, startTestPortal } from '../../support/portal.ts';

const creator = async (profile: ProfileName): Promise<Caller> =>
  (await startTestPortal({ profile, races: false })).as('creator');

const deployed: ProfileName[] = ['dkan-7.18.16', 'dkan-7.18', 'dkan-7.14'];

it.each(deployed)('%s has no date of the source data', async (profile) => {
  const user = await creator(profile);
  const field_modified_source_date = { und: [{ value: '2025-01-01 00:00:00' }] };
  const nid = await user.create({ type: 'dataset', title: 'x', uid: '3', field_modified_source_date });
  expect(await user.read(nid)).not.toHaveProperty('field_modified_source_date');
});

it.each(deployed)('%s shows the drafts of a content creator to him by number, and in no list', async (profile) => {
  const user = await creator(profile);
  // Only null unpublishes on 7.14.
  const nid = await user.create({
    type: 'dataset',
    title: 'Draft',
    uid: '3',
    status: profile === 'dkan-7.14' ? null : 0,
  });
  expect(await user.read(nid)).toMatchObject({ status: '0', uid: '3' });
  expect((await user.send('GET', '/api/dataset/node?parameters[title]=Draft')).json()).toEqual([]);
});

describe('a dataset of 7.14', () => {
  it('keeps neither area, parts, themes nor the uuid that is sent, and is published', async () => {
    const user = await creator('dkan-7.14');
    const uuid = 'dc4b539d-0000-4000-8000-000000000000';
    const nid = await user.create({
      type: 'dataset',
      title: 'x',
      uuid,
      status: 0,
      field_spatial: { und: [{ wkt: 'POINT (1 2)' }] },
      field_is_part_of: { und: [{ value: 'x' }] },
      field_pod_theme: { und: [{ value: 'x' }] },
      field_tags: { und: [{ tid: 'autocreate', name: 'x', vid: '2' }] },
    });
    const node = await user.read(nid);
    expect(node).toMatchObject({
      status: '1',
      field_spatial: [],
      field_is_part_of: [],
      field_pod_theme: [],
      field_tags: [],
    });
    expect(node.uuid).not.toBe(uuid);
  });
});
