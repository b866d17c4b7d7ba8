// Plans for tables that are made: the same source by the same recipe has nothing to do.
import { expect, it } from 'vitest';
import type { PortalFile } from '../../../src/model/ledger-entry.ts';
import type { ResourceWish } from '../../../src/model/wish.ts';
import { isSent } from '../../../src/pipeline/plan/known-wish.ts';
import { findMissing } from '../../../src/pipeline/plan/missing.ts';
import { planDataset } from '../../../src/pipeline/plan/plan.ts';
import { gatherManifest } from '../../../src/sources/gather/dataset-wish.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { writeText } from '../../support/yaml-file.ts';
import { datasetWish, liveState, resourceWish, sha } from './support/make.ts';

const recipeFor = async (table: string): Promise<NonNullable<ResourceWish['recipe']>> => {
  const text = `name: m\ndatasets: [{ id: d, title: D, resources: [{ id: r, file: a.csv, table: ${table} }] }]\n`;
  const [dataset] = await gatherManifest(await loadManifest(writeText(tempDir(), 'm.yaml', text)));
  const recipe = dataset?.resources[0]?.recipe;
  if (!recipe) throw new Error('no recipe');
  return recipe;
};

const one = await recipeFor('[{ select: [a] }]');
const other = await recipeFor('[{ select: [b] }]');
const made = (from: PortalFile['from']): PortalFile => ({
  fid: '1',
  name: 'table.csv',
  bytes: 4,
  sha256: sha('made'),
  ...(from ? { from } : {}),
});

it('a file is sent when the same recipe made it of the same bytes', () => {
  const source = sha('raw');
  const sent = made({ sha256: source, recipe: one.fingerprint });
  expect(isSent(sent, source, { recipe: one })).toBe(true);
  expect(isSent(sent, source, { recipe: other })).toBe(false);
  expect(isSent(sent, sha('new'), { recipe: one })).toBe(false);
  expect(isSent(sent, source, {})).toBe(false);
  expect(isSent(made(undefined), source, { recipe: one })).toBe(false);
  expect(isSent(made(undefined), sha('made'), {})).toBe(true);
  expect(isSent(null, source, { recipe: one })).toBe(false);
});

it('the plan attaches when the source or the steps changed, and says which; its pins tell both apart', () => {
  const wish = datasetWish('m/d', [], { resources: [resourceWish('m/d/r', { recipe: one })] });
  const known = liveState([wish]);
  const entry = known.entries.get('m/d/r');
  const source = known.sources.get('m/d/r');
  if (!entry || !source) throw new Error('nothing known');
  known.entries.set('m/d/r', { ...entry, file: made({ sha256: source.sha256, recipe: one.fingerprint }) });
  const planned = (recipe: typeof one | null, sha256 = source.sha256) => {
    const { recipe: _, ...plain } = resourceWish('m/d/r');
    const resources = [recipe ? { ...plain, recipe } : plain];
    const sources = new Map([['m/d/r', { ...source, sha256 }]]);
    const [item] = planDataset({ ...wish, resources }, { ...known, sources }).resources;
    return { actions: item?.actions, why: item?.why, pin: item?.sha256 };
  };
  expect(planned(one)).toMatchObject({ actions: [], why: null });
  expect(planned(other)).toMatchObject({ actions: ['attach', 'import'], why: 'its transform steps changed' });
  expect(planned(null)).toMatchObject({ actions: ['attach', 'import'], why: 'its transform steps changed' });
  expect(planned(one, sha('new'))).toMatchObject({ actions: ['attach', 'import'], why: 'its file changed' });
  expect(
    new Set([planned(one), planned(other), planned(null), planned(one, sha('new'))].map(({ pin }) => pin)).size,
  ).toBe(4);
});

it('another sheet of the same workbook is no renamed resource', () => {
  const before = datasetWish('m/d', [], { resources: [resourceWish('m/d/old', { recipe: one })] });
  const known = liveState([before]);
  const entry = known.entries.get('m/d/old');
  const source = known.sources.get('m/d/old');
  if (!entry || !source) throw new Error('nothing known');
  known.entries.set('m/d/old', { ...entry, file: made({ sha256: source.sha256, recipe: one.fingerprint }) });
  const renames = (recipe: typeof one) => {
    const after = datasetWish('m/d', [], { resources: [resourceWish('m/d/new', { recipe })] });
    const rules = { onMissing: 'keep', missingForMs: 0, now: 1 } as const;
    const looked = { ...known, sources: new Map([['m/d/new', source]]) };
    return findMissing([after], looked, rules).renames.map(({ to }) => to);
  };
  expect(renames(one)).toEqual(['m/d/new']);
  expect(renames(other)).toEqual([]);
});
