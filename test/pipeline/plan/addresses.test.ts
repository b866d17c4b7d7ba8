// Resources whose files are fetched: what is known of their addresses decides what has to be done.
import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../../src/model/ledger-entry.ts';
import type { ResourceWish } from '../../../src/model/wish.ts';
import { type AddressLook, type KnownState, planDataset } from '../../../src/pipeline/plan/plan.ts';
import { datasetWish, liveState, resourceWish } from './support/make.ts';
import { planAll } from './support/plan-all.ts';

const url = 'https://a.example/r.csv';
const resource = resourceWish('m/d/r', { source: { kind: 'url', url, name: 'r.csv', isNamed: true } });
const wish = { ...datasetWish('m/d'), resources: [resource] };

const planOf = (known: KnownState, of: ResourceWish = resource) =>
  planDataset({ ...wish, resources: [of] }, known).resources[0];
const withLook = (look: AddressLook | null, entry: Partial<LedgerEntry> = {}): KnownState => {
  const known = liveState([wish]);
  const now = known.entries.get('m/d/r');
  if (now) known.entries.set('m/d/r', { ...now, ...entry });
  if (look === null) return known;
  known.sources.delete('m/d/r');
  return { ...known, addresses: new Map([['m/d/r', look]]) };
};

describe('an address', () => {
  it('that gives what is published needs nothing', () => {
    expect(planOf(withLook(null))).toMatchObject({ actions: [], why: null });
  });

  it('that gives another version is fetched and sent', () => {
    expect(planOf(withLook({ isOther: true, bytes: 70, why: 'another version', version: '"2"' }))).toMatchObject({
      actions: ['attach', 'import'],
      why: 'another version',
      bytes: 70,
      version: '"2"',
    });
  });

  it('of which only the bytes can tell is fetched, which is no update for the guard', async () => {
    const known = withLook({ isOther: false, bytes: 0, why: 'no versions', version: null });
    expect(planOf(known)).toMatchObject({ actions: ['fetch'], why: 'no versions', bytes: 0 });
    const rules = { onMissing: 'keep', missingForMs: 0, guard: { maxRemovals: 1, min: 0, maxUpdates: 0 } } as const;
    expect((await planAll([wish], known, { rules })).held).toBeNull();
    const sure = withLook({ isOther: true, bytes: 0, why: 'another version', version: null });
    expect((await planAll([wish], sure, { rules })).held).not.toBeNull();
  });

  it('that was never fetched is fetched and sent', () => {
    const nothing: KnownState = { entries: new Map(), sources: new Map(), sent: new Map(), listed: null };
    expect(planOf(nothing)).toMatchObject({ actions: ['create', 'attach', 'import'], why: 'not on the portal yet' });
    const known = withLook(null);
    const { sources: _sources, ...rest } = known;
    expect(planOf({ ...rest, sources: new Map() })).toMatchObject({
      actions: ['attach', 'import'],
      why: 'its file comes from an address now',
    });
  });
});
