// What has to be done for one dataset, and why.
import { expect, it } from 'vitest';
import { uuidOfKey } from '../../../src/model/key.ts';
import type { LedgerEntry } from '../../../src/model/ledger-entry.ts';
import { importFingerprint } from '../../../src/pipeline/plan/known-wish.ts';
import { type KnownState, planDataset, withChanges } from '../../../src/pipeline/plan/plan.ts';
import { metadataFingerprint } from '../../../src/sources/gather/dataset-wish.ts';
import { datasetWish, liveState, resourceWish, sha, source } from './support/make.ts';

const wish = datasetWish('m/d', ['r']);
const nothing: KnownState = { entries: new Map(), sources: new Map(), sent: new Map(), listed: null };

const explained = (of: typeof wish, known: KnownState) => withChanges(planDataset(of, known), of, known);

const actionsOf = (known: KnownState, of = wish) => {
  const { actions, resources } = planDataset(of, known);
  return [actions, ...resources.map((resource) => resource.actions)];
};

const changed = (key: string, more: Partial<LedgerEntry>) => {
  const known = liveState([wish]);
  const entry = known.entries.get(key);
  if (!entry) throw new Error(`no entry ${key}`);
  known.entries.set(key, { ...entry, ...more });
  return known;
};

it('what is live and unchanged needs nothing', () => {
  expect(actionsOf(liveState([wish]))).toEqual([[], []]);
  expect(planDataset(wish, liveState([wish])).why).toBeNull();
});

it('what was never published is created, with its file and rows', () => {
  const plan = planDataset(wish, { ...nothing, sources: new Map([['m/d/r', source('a\n1\n')]]) });
  expect([plan.actions, plan.resources[0]?.actions]).toEqual([['create'], ['create', 'attach', 'import']]);
  expect(plan.resources[0]).toMatchObject({ bytes: 4, sha256: sha('a\n1\n'), nid: null, vid: null });
});

it('links have no file, files that are no table no rows, and neither has a resource that is never imported', () => {
  const link = resourceWish('m/d/link', { source: { kind: 'link', url: 'https://a.example' } });
  const text = resourceWish('m/d/text', { source: { kind: 'file', path: '/x', name: 'notes.txt' } });
  const never = resourceWish('m/d/never', { import: 'never' });
  expect(actionsOf(nothing, { ...wish, resources: [link, text, never] }).slice(1)).toEqual([
    ['create'],
    ['create', 'attach'],
    ['create', 'attach'],
  ]);
});

it('new bytes are attached and imported, without touching the node', () => {
  const known = liveState([wish]);
  known.sources.set('m/d/r', source('a\n2\n'));
  const [resource] = explained(wish, known).resources;
  expect(resource).toMatchObject({ actions: ['attach', 'import'], why: 'its file changed', bytes: 4, changes: [] });
});

it('a group that is wished by title is no change where it is the one that was published', () => {
  const group = (title: string) => ({ og_group_ref: { und: [{ title }] } });
  const former = { title: 'm/d', published: true, fields: group('City Hall') };
  const sent = new Map([['m/d', { ...former, fields: { og_group_ref: { und: [{ target_id: '5' }] } } }]]);
  const known = { ...changed('m/d', { metadataFingerprint: metadataFingerprint(former) }), sent };
  const changesOf = (title: string, of: string) =>
    explained({ ...wish, title, fields: group(of), metadataFingerprint: 'x' }, known).changes.map(({ field }) => field);
  expect(changesOf('New', 'City Hall')).toEqual(['title']);
  expect(changesOf('New', 'Harbour')).toEqual(['title', 'og_group_ref']);
});

it('new metadata is an update that names the fields', () => {
  const plan = explained({ ...wish, title: 'New', metadataFingerprint: 'x' }, liveState([wish]));
  expect(plan).toMatchObject({ actions: ['update'], changes: [{ field: 'title', from: 'm/d', to: 'New' }] });
});

it('an import that is not proven is done again, and an item that is not proven live is checked', () => {
  expect(actionsOf(changed('m/d/r', { datastore: 'pending' }))[1]).toEqual(['import']);
  expect(actionsOf(changed('m/d', { live: false }))[0]).toEqual(['verify']);
});

it('a draft is proven without being live', () => {
  const draft = datasetWish('m/d', [], { published: false });
  const known = liveState([draft]);
  const entry = known.entries.get('m/d');
  if (entry) known.entries.set('m/d', { ...entry, live: false });
  expect(actionsOf(known, draft)).toEqual([[]]);
});

it('a new file that cannot be read is reported, unless it is left to its job', () => {
  const unreadable = { ...nothing, sources: new Map([['m/d/r', null]]) };
  const [resource] = planDataset(wish, unreadable).resources;
  expect(resource).toMatchObject({ why: 'not on the portal yet; its file /data/m/d/r.csv cannot be read', bytes: 0 });
  expect(planDataset(wish, nothing).resources[0]).toMatchObject({ why: 'not on the portal yet' });
});

it('a file that cannot be read is told', () => {
  const known = liveState([wish]);
  known.sources.set('m/d/r', null);
  expect(planDataset(wish, known).resources[0]).toMatchObject({
    why: 'its file /data/m/d/r.csv cannot be read',
    bytes: 0,
  });
});

it('what was taken down comes back, and says how', () => {
  expect(explained(wish, changed('m/d', { removed: 'orphan', metadataFingerprint: null, live: false }))).toMatchObject({
    actions: ['update'],
    changes: [
      { field: 'field_orphan', from: '1', to: '0' },
      { field: 'status', from: 0, to: 1 },
    ],
  });
});

it('the listing shows what was edited and what is gone', () => {
  const row = (key: string, nid: string, vid: string) =>
    [uuidOfKey(key).toLowerCase(), { nid, vid, status: '1', title: '', changed: '0' }] as const;
  const known = { ...liveState([wish]), listed: new Map([row('m/d', '1', '9')]) };
  const plan = planDataset(wish, known);
  expect(plan).toMatchObject({ actions: ['verify'], vid: '9', why: expect.stringContaining('revision 9, ours was 1') });
  expect(plan.resources[0]).toMatchObject({ actions: ['create', 'attach', 'import'], nid: '2' });
  expect(actionsOf({ ...known, listed: new Map([row('m/d', '1', '1'), row('m/d/r', '2', '1')]) })).toEqual([[], []]);
});

it('a uuid that the listing shows at another node is checked', () => {
  const listed = new Map(
    ['m/d', 'm/d/r'].map((key, index) => [
      uuidOfKey(key),
      { nid: String(index + 11), vid: '1', status: '1', title: '', changed: '0' },
    ]),
  );
  const plan = planDataset(wish, { ...liveState([wish]), listed });
  expect([plan.actions, plan.resources[0]?.actions]).toEqual([['verify'], ['verify']]);
  expect(plan.why).toBe('it is node 11 now');
});

it('a uuid in capitals is found in the listing', () => {
  const known = changed('m/d', { uuid: uuidOfKey('m/d').toUpperCase() });
  const rows = ['m/d', 'm/d/r'].map(
    (key, index) =>
      [uuidOfKey(key), { nid: String(index + 1), vid: '1', status: '1', title: '', changed: '0' }] as const,
  );
  expect(actionsOf({ ...known, listed: new Map(rows) })).toEqual([[], []]);
});

it('a list of resources that is not proven is checked, one in another order is written', () => {
  const two = datasetWish('m/d', ['a', 'b']);
  const known = liveState([two]);
  const withLinks = (links: string[] | null) => {
    const entry = known.entries.get('m/d');
    if (!entry) throw new Error('no entry m/d');
    return planDataset(two, { ...known, entries: new Map([...known.entries, ['m/d', { ...entry, links }]]) });
  };
  expect(withLinks(null)).toMatchObject({ actions: ['verify'], why: 'its list of resources is not verified' });
  expect(withLinks(['3', '2'])).toMatchObject({ actions: ['update'], why: 'the order of its resources changed' });
  // Those that others linked may stand anywhere.
  expect(withLinks(['2', '99', '3'])).toMatchObject({ actions: [], why: null });
});

it('a table that is wrong on the portal is imported again, unless its file is sent anyway', () => {
  const why = 'its table holds 1 of 2 rows';
  const known = {
    ...liveState([wish]),
    drift: new Map([['m/d/r', { why, broken: { datastore: 'failed' as const } }]]),
  };
  expect(planDataset(wish, known).resources[0]).toMatchObject({
    actions: ['import'],
    why,
  });
  known.sources.set('m/d/r', source('a\n2\n'));
  expect(planDataset(wish, known).resources[0]).toMatchObject({
    actions: ['attach', 'import'],
    why: 'its file changed',
  });
});

it('a file that is another one on the portal is sent again', () => {
  const why = 'file a.csv was replaced on the portal';
  const known = { ...liveState([wish]), drift: new Map([['m/d/r', { why, broken: { file: null } }]]) };
  expect(planDataset(wish, known).resources[0]).toMatchObject({ actions: ['attach', 'import'], why });
});

/** The second file `b` could not be imported; the good one, of the known state, is in its place or on its way there. */
const refusedKnowledge = (isReplaced: boolean, more: Partial<LedgerEntry> = {}) => {
  const [resource] = wish.resources;
  const before = liveState([wish]).entries;
  const file = before.get('m/d/r')?.file;
  if (!resource || !file) throw new Error('no file');
  const reason = { code: 'import-failed', message: 'no', hint: null };
  const known = changed('m/d/r', {
    live: false,
    stale: true,
    good: { ...file, rows: 1, delimiter: ',' },
    refused: { sha256: sha('b'), importFingerprint: importFingerprint(resource), delimiter: ',', isReplaced, reason },
    ...more,
  });
  known.sources.set('m/d/r', source('b'));
  return known;
};

it('a file that could not be imported is not sent again while the good one is in its place', () => {
  expect(actionsOf(refusedKnowledge(true))).toEqual([[], []]);
});

it('it is sent again when it changes, or what is wanted of it does; the good file itself is checked', () => {
  const known = refusedKnowledge(true);
  known.sources.set('m/d/r', source('c'));
  expect(actionsOf(known)[1]).toEqual(['verify', 'attach', 'import']);
  known.sources.set('m/d/r', liveState([wish]).sources.get('m/d/r') ?? null);
  expect(actionsOf(known)[1]).toEqual(['verify']);
  const resources = wish.resources.map((resource) => ({ ...resource, title: 'New', metadataFingerprint: 'new' }));
  expect(actionsOf(refusedKnowledge(true), { ...wish, resources })[1]).toEqual(['update', 'attach', 'import']);
});

it('a good file that is not back yet is work', () => {
  expect(actionsOf(refusedKnowledge(false))[1]).toEqual(['verify', 'attach', 'import']);
});
