// The plan of a whole manifest.
import { expect, it } from 'vitest';
import { uuidOfKey } from '../../../src/model/key.ts';
import { planFileItems, planManifest, planTotals } from '../../../src/pipeline/plan/whole-plan.ts';
import { defaultRules } from '../../../src/sources/manifest/schema.ts';
import { datasetWish, liveKnowledge, source } from './support/make.ts';

const rules = { ...defaultRules, onMissing: 'delete' as const };
const catalogue = Array.from({ length: 338 }, (_, index) => datasetWish(`m/d${index}`, ['r']));
const options = { limited: false, now: 1 };

it('338 datasets, then none, then 338 again: nothing is ever taken down', () => {
  const known = liveKnowledge(catalogue);
  const empty = planManifest(rules, [], known, options);
  expect(empty.held).toContain('never removes');
  expect(planManifest(rules, catalogue, known, options)).toMatchObject({ held: null, missing: { removals: [] } });
});

it('a shrunken catalogue is held, a slightly smaller one goes', () => {
  const known = liveKnowledge(catalogue);
  expect(planManifest(rules, catalogue.slice(0, 100), known, options).held).toContain('476 of 676');
  expect(planManifest(rules, catalogue.slice(0, 330), known, options).held).toBeNull();
});

it('a limited run says nothing about what is missing', () => {
  const plan = planManifest(rules, catalogue.slice(0, 1), liveKnowledge(catalogue), { ...options, limited: true });
  expect(plan).toMatchObject({ held: null, missing: { removals: [], newlyMissing: [] } });
});

it('only the items of a stored plan count before its guard', () => {
  const known = liveKnowledge(catalogue);
  const plan = (counts: (key: string) => boolean) =>
    planManifest(rules, catalogue.slice(0, 100), known, { ...options, counts }).held;
  expect(plan((key) => key === 'm/d337')).toBeNull();
  expect(plan(() => true)).not.toBeNull();
});

it('a rename is planned as no work but its new metadata, with the uuid of its node', () => {
  const known = liveKnowledge([datasetWish('m/a', ['old'])]);
  known.sources.set('m/a/new', source('a\n1\nm/a/old'));
  const plan = planManifest(rules, [datasetWish('m/a', ['new'])], known, options);
  expect(plan.datasets[0]?.resources[0]).toMatchObject({ actions: ['update'], uuid: uuidOfKey('m/a/old'), nid: '2' });
  expect(plan.missing.removals).toEqual([]);
});

it('a new item under a key whose node goes on under another one does not take that node over', () => {
  const known = liveKnowledge([datasetWish('m/a', ['new'])]);
  const entry = known.entries.get('m/a/new');
  if (entry) known.entries.set('m/a/new', { ...entry, uuid: uuidOfKey('m/a/old') });
  const [dataset] = planManifest(rules, [datasetWish('m/a', ['new', 'old'])], known, options).wishes;
  expect(dataset?.resources.map(({ uuid }) => uuid)[0]).toBe(uuidOfKey('m/a/old'));
  expect(new Set(dataset?.resources.map(({ uuid }) => uuid)).size).toBe(2);
});

it('totals count actions and the bytes to send', () => {
  const known = liveKnowledge(catalogue.slice(0, 2));
  known.sources.set('m/d1/r', source('12345'));
  const plan = planManifest(rules, catalogue.slice(1, 3), known, options);
  const items = planFileItems(plan);
  expect(planTotals(items)).toEqual({
    actions: { none: 1, attach: 2, import: 2, create: 2, delete: 2 },
    bytes: 5,
  });
  expect(items.filter(({ actions }) => actions.includes('delete')).map(({ key }) => key)).toEqual(['m/d0', 'm/d0/r']);
});
