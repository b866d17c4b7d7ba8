// Which node of a portal a wish stands for.
import { expect, it } from 'vitest';
import { type FindOptions, type Found, findNode } from '../../../src/pipeline/compare/find.ts';
import type { Portal } from '../../../src/portal-client/client.ts';
import { calm } from '../../portal-client/support/open.ts';
import { useCity } from './support/city.ts';

const city = useCity();
type Sought = Omit<Parameters<typeof findNode>[1]['wish'], 'type'>;

const findDataset = (portal: Portal, wish: Sought, options: FindOptions, signal: AbortSignal): Promise<Found> =>
  findNode(portal, { wish: { ...wish, type: 'dataset' }, within: null }, options, signal);

const findResource = (portal: Portal, wish: Sought, within: string | null, options: FindOptions): Promise<Found> =>
  findNode(portal, { wish: { ...wish, type: 'resource' }, within }, options, calm);

const byIdentity = { mapping: new Map<string, string>(), byTitle: false };
const byTitle = { ...byIdentity, byTitle: true };
const nobody = '00000000-0000-4000-8000-000000000000';

it('a dataset is found by its uuid before all else', async () => {
  const ours = await city.make({ type: 'dataset', title: 'Parks' });
  const other = await city.make({ type: 'dataset', title: 'Parks' });
  const mapping = new Map([['city/parks', other.nid]]);
  const wish = { key: 'city/parks', uuid: ours.uuid, title: 'Parks', published: true };
  expect(await findDataset(city.portal(), wish, { ...byTitle, mapping }, calm)).toEqual({ how: 'uuid', nid: ours.nid });
});

it('then by the mapping file, then by exact title where that is requested', async () => {
  const { nid } = await city.make({ type: 'dataset', title: 'Roads' });
  const wish = { key: 'city/roads', uuid: nobody, title: 'Roads', published: true };
  const mapping = new Map([['city/roads', '77']]);
  expect(await findDataset(city.portal(), wish, { ...byTitle, mapping }, calm)).toEqual({ how: 'mapping', nid: '77' });
  expect(await findDataset(city.portal(), wish, byTitle, calm)).toEqual({ how: 'title', nid });
  expect(await findDataset(city.portal(), wish, byIdentity, calm)).toEqual({ how: 'none' });
  expect(await findDataset(city.portal(), { ...wish, title: 'roads' }, byTitle, calm)).toEqual({ how: 'none' });
});

it('a title with a comma is not read as a list of titles', async () => {
  const { nid } = await city.make({ type: 'dataset', title: 'Water, light and power' });
  await city.make({ type: 'dataset', title: 'Water' });
  const wish = { key: 'city/water', uuid: nobody, title: 'Water, light and power', published: true };
  expect(await findDataset(city.portal(), wish, byTitle, calm)).toEqual({ how: 'title', nid });
});

it('a draft that lists may hide is searched for by its id', async () => {
  const { nid, uuid } = await city.make({ type: 'dataset', title: 'Plans', status: 0, log: 'sluice city/plans abc' });
  const wish = { key: 'city/plans', uuid, title: 'Plans', published: false };
  const portal = city.ordinary();
  expect(await portal.findByUuid(uuid, calm)).toBeNull();
  expect(await findDataset(portal, wish, byIdentity, calm)).toEqual({ how: 'mark', nid });
  const other = { ...wish, key: 'city/other', uuid: nobody };
  expect(await findDataset(portal, other, byIdentity, calm)).toEqual({ how: 'none' });
});

it('two nodes of one title are reported, and none of them is taken', async () => {
  const twins = [
    await city.make({ type: 'dataset', title: 'Trees' }),
    await city.make({ type: 'dataset', title: 'Trees' }),
  ];
  const wish = { key: 'city/trees', uuid: nobody, title: 'Trees', published: true };
  expect(await findDataset(city.portal(), wish, byTitle, calm)).toEqual({
    how: 'ambiguous',
    nids: twins.map(({ nid }) => nid),
  });
});

it('a resource is found by title only below its own dataset', async () => {
  const [one, two] = [
    await city.make({ type: 'dataset', title: 'One' }),
    await city.make({ type: 'dataset', title: 'Two' }),
  ];
  const table = await city.makeTable({ dataset: one.nid, title: 'Spending', content: 'a\n1\n' });
  const wish = { key: 'city/one/t', uuid: nobody, title: 'Spending', published: true };
  expect(await findResource(city.portal(), wish, one.nid, byTitle)).toEqual({ how: 'title', nid: table.nid });
  expect(await findResource(city.portal(), wish, two.nid, byTitle)).toEqual({ how: 'none' });
  expect(await findResource(city.portal(), wish, null, byTitle)).toEqual({ how: 'none' });
});
