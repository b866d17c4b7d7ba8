import { describe, expect, it } from 'vitest';
import type { LedgerEntry, SourceFingerprint } from '../../src/ledger/entry.ts';
import { isTabular, type PlannedItem, planDataset, resourceFingerprint } from '../../src/plan/plan.ts';
import type { DatasetWish, ResourceWish } from '../../src/wish.ts';
import { entryOf } from '../handlers/support/job.ts';

const source: SourceFingerprint = { bytes: 9, sha256: 's1', mtimeNs: '1', ctimeNs: '1', ino: '1', hashedAt: 1 };
const resource: ResourceWish = {
  key: 'm/d/r',
  uuid: 'u-r',
  datasetKey: 'm/d',
  title: 'R',
  published: true,
  fields: {},
  source: { kind: 'file', path: '/r.csv', name: 'r.csv' },
  import: 'auto',
  metadataFingerprint: 'mr',
};
const dataset: DatasetWish = {
  key: 'm/d',
  uuid: 'u-d',
  title: 'D',
  published: true,
  fields: {},
  metadataFingerprint: 'md',
  resources: [resource],
};

const liveDataset = entryOf('m/d', { kind: 'dataset', nid: '1', vid: '1', live: true, metadataFingerprint: 'md' });
const liveResource = entryOf('m/d/r', {
  nid: '2',
  vid: '2',
  live: true,
  metadataFingerprint: resourceFingerprint(resource, '1'),
  file: { fid: '3', name: 'r.csv', bytes: 9, sha256: 's1', url: null },
  datastore: 'imported',
});

const plan = (
  changes: { dataset?: Partial<LedgerEntry> | null; resource?: Partial<LedgerEntry> | null } = {},
  wish: DatasetWish = dataset,
  file: SourceFingerprint | null = source,
): { dataset: PlannedItem; resource: PlannedItem | undefined } => {
  const entries = new Map<string, LedgerEntry>();
  if (changes.dataset !== null) entries.set('m/d', { ...liveDataset, ...changes.dataset });
  if (changes.resource !== null) entries.set('m/d/r', { ...liveResource, ...changes.resource });
  const known = { entries, sources: new Map([['m/d/r', file]]), sent: new Map(), listed: null };
  const planned = planDataset(wish, known);
  return { dataset: planned, resource: planned.resources[0] };
};

describe('the plan', () => {
  it('asks for nothing where everything is live as wished', () => {
    expect(plan()).toMatchObject({ dataset: { actions: [], why: null }, resource: { actions: [], why: null } });
  });

  it('creates what is not on the portal, with its file and rows', () => {
    expect(plan({ dataset: null, resource: null })).toMatchObject({
      dataset: { actions: ['create'], why: 'not on the portal yet' },
      resource: { actions: ['create', 'attach', 'import'], bytes: 9 },
    });
  });

  it('updates only the node whose metadata changed', () => {
    expect(plan({ dataset: { metadataFingerprint: 'older' } })).toMatchObject({
      dataset: { actions: ['update'], why: 'its metadata changed' },
      resource: { actions: [] },
    });
    expect(plan({ resource: { metadataFingerprint: 'older' } })).toMatchObject({
      dataset: { actions: [] },
      resource: { actions: ['update'], bytes: 0 },
    });
  });

  it('updates resources whose dataset stands under another node', () => {
    expect(plan({ dataset: { nid: '9' } }).resource?.actions).toEqual(['update']);
  });

  it('sends only the file that changed', () => {
    expect(plan({}, dataset, { ...source, sha256: 's2', bytes: 11 }).resource).toMatchObject({
      actions: ['attach', 'import'],
      why: 'its file changed',
      bytes: 11,
    });
    expect(plan({ resource: { file: null } }).resource?.why).toContain('not attached yet');
  });

  it('lets the job tell why a file cannot be read', () => {
    expect(plan({}, dataset, null).resource).toMatchObject({ why: 'its file cannot be read', sha256: null });
  });

  it.each(['pending', 'failed'] as const)('looks at an import that is %s again', (datastore) => {
    expect(plan({ resource: { datastore } }).resource?.actions).toEqual(['import']);
  });

  it('proves again what was not proven live', () => {
    expect(plan({ dataset: { live: false } }).dataset).toMatchObject({ why: 'not proven live' });
    expect(plan({ resource: { live: false } }).resource).toMatchObject({ why: 'not proven live' });
  });

  it('imports no file that is no table, and none where it is told not to', () => {
    const text = { ...resource, source: { kind: 'file' as const, path: '/r.txt', name: 'r.txt' } };
    const fresh = { dataset: null, resource: null };
    expect(plan(fresh, { ...dataset, resources: [text] }).resource?.actions).toEqual(['create', 'attach']);
    const never = { ...resource, import: 'never' as const };
    expect(plan(fresh, { ...dataset, resources: [never] }).resource?.actions).toEqual(['create', 'attach']);
    const link = { ...resource, source: { kind: 'link' as const, url: 'https://x.example' } };
    expect(plan(fresh, { ...dataset, resources: [link] }).resource?.actions).toEqual(['create']);
    expect(['a.csv', 'A.TSV', 'a.csv.gz', 'csv'].map(isTabular)).toEqual([true, true, false, false]);
  });
});
