// The plan of a target: what is missing, renamed, held, and counted, whatever page it stands on.
import { describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../../src/model/key.ts';
import type { ResourceWish } from '../../../src/model/wish.ts';
import type { TargetPlanOptions } from '../../../src/pipeline/plan/target-plan.ts';
import { planFileItems, planTotals } from '../../../src/pipeline/plan/target-plan.ts';
import { defaultRules } from '../../../src/sources/manifest/schema.ts';
import { datasetWish, liveState, resourceWish, source } from './support/make.ts';
import { planAll } from './support/plan-all.ts';

const rules = { ...defaultRules, onMissing: 'delete' as const };
const catalogue = Array.from({ length: 338 }, (_, index) => datasetWish(`m/d${index}`, ['r']));
const options = { rules };

it('338 datasets, then none, then 338 again: nothing is ever taken down', async () => {
  const known = liveState(catalogue);
  const empty = await planAll([], known, options);
  expect(empty.held).toContain('never removes');
  expect(await planAll(catalogue, known, options)).toMatchObject({ held: null, missing: { removals: [] } });
});

it('a shrunken catalogue is held, a slightly smaller one goes', async () => {
  const known = liveState(catalogue);
  expect((await planAll(catalogue.slice(0, 100), known, options)).held).toContain('476 of 676');
  expect((await planAll(catalogue.slice(0, 330), known, options)).held).toBeNull();
});

it('what is to be removed stays where its source still offers it; what the guard holds is asked about once it is released', async () => {
  const live = liveState(catalogue);
  const known = { ...live, sent: new Map(live.sent) };
  const landing = { field_landing_page: { und: [{ url: 'https://a.example/337' }] } };
  known.sent.set('m/d337', { title: '', published: true, fields: landing });
  const entry = known.entries.get('m/d337');
  if (entry) known.entries.set('m/d337', { ...entry, identifier: 'd-337', alias: 'urn:337' });
  const asked: string[][] = [];
  const offered = async (title: string, names: string[]) => {
    asked.push([title, ...names]);
    return names.includes('d-337') ? 'still there' : null;
  };
  const asking = { ...options, stated: { complete: true as const, skipped: [], offered } };
  const few = await planAll(catalogue.slice(0, 335), known, asking);
  const title = entry?.title;
  expect(asked).toEqual([
    [expect.any(String)],
    [expect.any(String)],
    [title, 'd-337', 'urn:337', 'https://a.example/337'],
  ]);
  expect(few.removals.map(({ key }) => key)).toEqual(['m/d335', 'm/d335/r', 'm/d336', 'm/d336/r']);
  expect(few.missing).toMatchObject({
    staying: ['m/d337', 'm/d337/r'],
    offered: ['m/d337 stays, although the source no longer names it: still there'],
  });

  asked.length = 0;
  const many = await planAll(catalogue.slice(0, 100), known, asking);
  expect([many.held, asked]).toEqual([expect.stringContaining('476 of 676'), []]);
  const released = await planAll(catalogue.slice(0, 100), known, { ...asking, isReleased: true });
  expect([released.removals.length, asked.length]).toEqual([476, 30]);
});

it('a limited run says nothing about what is missing', async () => {
  const plan = await planAll(catalogue.slice(0, 1), liveState(catalogue), { ...options, isLimited: true });
  expect(plan).toMatchObject({ held: null, missing: { removals: [], newlyMissing: [] } });
});

it('only the items of a stored plan count before its guard', async () => {
  const known = liveState(catalogue);
  const plan = async (isCounted: (key: string) => boolean) =>
    (await planAll(catalogue.slice(0, 100), known, { ...options, isCounted })).held;
  expect(await plan((key) => key === 'm/d337')).toBeNull();
  expect(await plan(() => true)).not.toBeNull();
});

it('a rename is planned as no work but its new metadata, with the uuid of its node', async () => {
  const known = liveState([datasetWish('m/a', ['old'])]);
  known.sources.set('m/a/new', source('a\n1\nm/a/old'));
  const plan = await planAll([datasetWish('m/a', ['new'])], known, options);
  expect(plan.datasets[0]?.resources[0]).toMatchObject({ actions: ['update'], uuid: uuidOfKey('m/a/old'), nid: '2' });
  expect(plan.missing.removals).toEqual([]);
});

it('a new item under a key whose node continues under another one does not take that node over', async () => {
  const known = liveState([datasetWish('m/a', ['new'])]);
  const entry = known.entries.get('m/a/new');
  if (entry) known.entries.set('m/a/new', { ...entry, uuid: uuidOfKey('m/a/old') });
  const [dataset] = (await planAll([datasetWish('m/a', ['new', 'old'])], known, options)).wishes;
  expect(dataset?.resources.map(({ uuid }) => uuid)[0]).toBe(uuidOfKey('m/a/old'));
  expect(new Set(dataset?.resources.map(({ uuid }) => uuid)).size).toBe(2);
});

it('totals count actions and the bytes to send', async () => {
  const known = liveState(catalogue.slice(0, 2));
  known.sources.set('m/d1/r', source('12345'));
  const plan = await planAll(catalogue.slice(1, 3), known, options);
  const items = planFileItems(plan.datasets, plan.removals);
  const counted = planTotals();
  counted.add(items.slice(0, 2));
  counted.add(items.slice(2));
  expect(counted.totals).toEqual({
    actions: { none: 1, attach: 2, import: 2, create: 2, delete: 2 },
    bytes: 5,
  });
  expect(items.filter(({ actions }) => actions.includes('delete')).map(({ key }) => key)).toEqual(['m/d0', 'm/d0/r']);
});

it('is the same in pages and as a whole, and takes what left a dataset down on its page', async () => {
  const shrunken = catalogue.slice(10, 330).map((wish) => ({ ...wish, resources: [] }));
  const known = liveState(catalogue);
  const lax = { rules: { ...rules, guard: { ...rules.guard, maxRemovals: 1 } } };
  const [paged, whole] = [
    await planAll(shrunken, known, lax),
    await planAll(shrunken, known, { ...lax, isWhole: true }),
  ];
  const sorted = (items: { key: string }[]) => items.map(({ key }) => key).sort();
  expect(paged.pages.length).toBeGreaterThan(1);
  expect(whole.pages).toHaveLength(1);
  expect(sorted(paged.datasets)).toEqual(sorted(whole.datasets));
  expect(sorted(paged.removals)).toEqual(sorted(whole.removals));
  expect(paged.held).toBe(whole.held);
  const page = paged.pages.find((keys) => keys.includes('m/d20'));
  expect(page).toContain('m/d20/r');
});

it('finds out what was renamed across pages', async () => {
  const known = liveState([datasetWish('m/old', ['r'])]);
  const moved = { ...datasetWish('m/new'), uuid: uuidOfKey('m/old') };
  const plan = await planAll([...catalogue, moved], known, options);
  expect(plan.missing.renames).toMatchObject([{ from: { key: 'm/old' }, to: 'm/new' }]);
  expect(plan.datasets.find(({ key }) => key === 'm/new')).toMatchObject({ nid: '1', actions: ['update'] });
});

it('looks at new files at once only where one of them may be what is gone', async () => {
  const known = liveState([datasetWish('m/a', ['kept', 'gone'])]);
  const looked: { keys: string[]; leavesNew: boolean }[] = [];
  const observe: TargetPlanOptions['observe'] = async (wishes, entries, leavesNew) => {
    looked.push({ keys: wishes.flatMap(({ resources }) => resources.map(({ key }) => key)), leavesNew });
    return { ...known, entries };
  };
  const wishes = [datasetWish('m/a', ['kept', 'new']), datasetWish('m/b', ['r'])];
  await planAll(wishes, known, { ...options, observe });
  expect(looked).toEqual([
    { keys: ['m/a/new'], leavesNew: false },
    { keys: ['m/a/kept', 'm/a/new', 'm/b/r'], leavesNew: true },
  ]);
});

describe('a link that changed', () => {
  const link = (id: string, url: string, title = 'Table') =>
    resourceWish(`m/a/${id}`, {
      title,
      byAddress: true,
      source: { kind: 'link', url },
      fields: { field_link_api: { und: [{ url }] } },
      metadataFingerprint: url,
    });
  const dataset = (...resources: ResourceWish[]) => datasetWish('m/a', [], { resources });
  const known = () => {
    const old = link('old', 'https://a.example/1.csv');
    const state = liveState([dataset(old)]);
    return { ...state, sent: new Map([[old.key, { title: old.title, published: true, fields: old.fields }]]) };
  };

  it('is an update of its node, not a new one beside a removal', async () => {
    const plan = await planAll([dataset(link('new', 'https://b.example/2.csv'))], known(), options);
    expect(plan.datasets[0]?.resources).toMatchObject([
      {
        key: 'm/a/new',
        nid: '2',
        uuid: uuidOfKey('m/a/old'),
        actions: ['update'],
        changes: [{ field: 'field_link_api', from: 'https://a.example/1.csv', to: 'https://b.example/2.csv' }],
      },
    ]);
    expect(plan).toMatchObject({ removals: [], held: null });
  });

  it('continues although a faulty entry may be any of those that are missing; one that certainly is faulty stays as it is', async () => {
    const wishes = [dataset(link('new', 'https://b.example/2.csv'))];
    const possible = await planAll(wishes, known(), { ...options, stated: { complete: 'cut off', skipped: [] } });
    expect(possible).toMatchObject({ missing: { renames: [{ to: 'm/a/new' }] }, removals: [] });
    const reason = { code: 'entry-fault', message: 'faulty', hint: null } as const;
    const skipped = [{ key: 'm/a/old', uuid: '', title: 'Old', isKnown: true, problems: [], reason }];
    const certain = await planAll(wishes, known(), { ...options, stated: { complete: true, skipped } });
    expect(certain).toMatchObject({ missing: { renames: [] }, removals: [] });
    expect(certain.datasets[0]?.resources[0]?.actions).toEqual(['create']);
  });

  it('is not taken for one whose title another resource has, which kept its address', async () => {
    const [kept, other] = [link('old', 'https://a.example/1.csv'), link('other', 'https://a.example/2.csv')];
    const state = { ...liveState([dataset(kept, other)]), sent: new Map() };
    const plan = await planAll([dataset(kept, link('new', 'https://a.example/3.csv'))], state, options);
    expect(plan.missing).toMatchObject({ renames: [], removals: [{ key: 'm/a/other' }] });
  });
});
