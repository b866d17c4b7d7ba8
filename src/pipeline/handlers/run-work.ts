// The work of a run, collected from its plan: one entry for each dataset and resource with something to do.
import { maxPageSize } from '../../dataset-api/paths.ts';
import { DiscardedError, reasonOf } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import { kindOfKey, parentKey } from '../../model/key.ts';
import { type LedgerEntry, newEntry } from '../../model/ledger-entry.ts';
import type { OnDrift } from '../../model/policy.ts';
import type { Reason, ReportItem } from '../../model/report.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import type { SkippedEntry } from '../../sources/gather/dataset-wish.ts';
import type { DatasetWork, ResourceWork, RunWork } from '../../state/run-work.ts';
import { isLate, isRefusedFile } from '../plan/known-wish.ts';
import type { Removal } from '../plan/missing.ts';
import type { KnownState, PlannedDataset } from '../plan/plan.ts';
import { flatten, type PlannedPage } from '../plan/target-plan.ts';
import type { Gathered, HandlerDeps } from './deps.ts';
import { itemOfEntry, outcomeOf } from './item.ts';

/** How the work of a run is collected. */
interface WorkOptions {
  request: RunData;
  onDrift: OnDrift;
  /** True for a run of a stored plan: a dataset without planned actions is not written, whatever is wanted now. */
  pinned: boolean;
}

/** Collects the work of a page of the plan. */
export class WorkBuilder {
  readonly work: RunWork;
  readonly #known: KnownState;
  readonly #onDrift: OnDrift;
  readonly #pinned: boolean;
  readonly #createMissing: boolean;
  /** Keys of all resources of each dataset in the order of the source. */
  readonly #order: ReadonlyMap<string, readonly string[]>;
  readonly #below = new Map<string, LedgerEntry[]>();

  constructor({ known, order }: Pick<PlannedPage, 'known' | 'order'>, { request, onDrift, pinned }: WorkOptions) {
    this.#known = known;
    this.#onDrift = onDrift;
    this.#createMissing = request.createMissing;
    this.#order = order;
    for (const entry of known.entries.values()) {
      if (entry.kind !== 'resource' || entry.nid === null) continue;
      const parent = parentKey(entry.key);
      this.#below.set(parent, [...(this.#below.get(parent) ?? []), entry]);
    }
    this.#pinned = pinned;
    this.work = { datasets: [], resources: [], settled: [], claims: [] };
  }

  /** Adds a dataset as planned; items that moved since a plan are reported as held. */
  add(wish: DatasetWish, planned: PlannedDataset, moved: ReadonlyMap<string, Reason>): void {
    const why = new Map(flatten([planned]).map((item) => [item.key, item.why]));
    const same = wish.resources.filter((resource) => why.get(resource.key) === null);
    for (const resource of wish.resources) this.#settleClaim(resource, same.includes(resource));
    this.work.settled.push(
      ...same.map((resource) => this.#quiet(resource, 'resource', moved.get(resource.key) ?? null)),
    );
    const busy = wish.resources.flatMap((resource): ResourceWork[] => {
      const reason = why.get(resource.key);
      return reason ? [this.#resourceWork(resource, reason)] : [];
    });
    const reason = why.get(wish.key) ?? null;
    if (reason === null && busy.length === 0) {
      this.work.settled.push(this.#quiet(wish, 'dataset', moved.get(wish.key) ?? null));
      return;
    }
    const { resources: _resources, ...bare } = wish;
    const nid = this.#known.entries.get(wish.key)?.nid ?? null;
    this.work.datasets.push({
      wish: bare,
      why: reason ?? 'its resources have work',
      nid,
      resources: busy.map((resource) => resource.wish.key),
      next: [wish, ...busy.map((resource) => resource.wish)].map(
        ({ key, uuid }) => this.#known.entries.get(key)?.uuid || uuid,
      ),
      order: this.#orderOf(wish),
      // A node that is missing from the listing is checked as well.
      verify: planned.actions.includes('verify') || (nid !== null && planned.actions.includes('create')),
      frozen: this.#pinned && planned.actions.length === 0,
      refused: moved.get(wish.key) ?? null,
      removal: null,
      onDrift: this.#onDrift,
      createMissing: this.#createMissing,
    });
    this.work.resources.push(...busy);
  }

  /** Settles a dropped file that needs no job, or that was discarded; a held one waits. */
  #settleClaim(wish: ResourceWish, isSame: boolean): void {
    const { key, source } = wish;
    if (source.kind !== 'file' || source.claim === undefined) return;
    const entry = this.#known.entries.get(key);
    const isRefused = !!entry && isRefusedFile(entry, wish, this.#known.sources.get(key)?.sha256 ?? '');
    const refused = isRefused ? entry.refused : null;
    if (refused?.guard === 'discarded') {
      const discarded = new DiscardedError(refused.reason.message, { hint: 'the previous version stays live' });
      this.work.claims.push({ claim: source.claim, reason: reasonOf(discarded) });
    } else if (isSame) this.work.claims.push({ claim: source.claim, reason: refused?.reason ?? null });
  }

  /** Groups look-ups of datasets: the first of as many as one list request holds looks up the others as well. */
  joinLookups(): void {
    let first: DatasetWork | null = null;
    for (const dataset of this.work.datasets) {
      if (first && first.next.length + dataset.next.length <= maxPageSize) first.next.push(...dataset.next);
      else first = { ...dataset };
      if (first.wish.key === dataset.wish.key) dataset.next = first.next;
    }
  }

  /** Adds removals: resources below the job of their dataset, whether that stays or goes. */
  remove(removals: Removal[]): void {
    for (const removal of removals.filter(({ kind }) => kind === 'resource')) {
      const datasetKey = parentKey(removal.key);
      this.work.resources.push(this.#removedResource(removal, datasetKey));
      this.#datasetFor(datasetKey, removals).resources.push(removal.key);
    }
    for (const removal of removals.filter(({ kind }) => kind === 'dataset')) this.#datasetFor(removal.key, removals);
  }

  /** Adds refused items of a stored plan that nothing else reports. */
  refuse(moved: ReadonlyMap<string, Reason>): void {
    const handled = new Set([
      ...this.work.settled.map(({ key }) => key),
      ...this.work.datasets.map(({ wish }) => wish.key),
    ]);
    for (const [key, reason] of moved) {
      if (handled.has(key)) continue;
      const kind = kindOfKey(key);
      this.work.settled.push(this.#quiet({ key, uuid: '', title: key }, kind, reason));
    }
  }

  #datasetFor(key: string, removals: Removal[]): DatasetWork {
    const there = this.work.datasets.find((dataset) => dataset.wish.key === key);
    if (there) return there;
    const entry = this.#known.entries.get(key) ?? newEntry({ key, kind: 'dataset', uuid: '', title: key });
    const settledSelf = this.work.settled.find((item) => item.key === key);
    this.work.settled = this.work.settled.filter((item) => item.key !== key);
    const dataset: DatasetWork = {
      wish: bareWish(entry),
      why: 'the manifest no longer names it or some of its resources',
      nid: entry.nid,
      resources: [],
      next: [],
      order: this.#orderOf({ key, resources: [] }),
      verify: false,
      frozen: true,
      refused: settledSelf?.reason ?? null,
      removal: removals.find((removal) => removal.key === key)?.how ?? null,
      onDrift: this.#onDrift,
      createMissing: this.#createMissing,
    };
    this.work.datasets.push(dataset);
    return dataset;
  }

  /** Resources in the order for the list of their dataset: as in the source, then the others as listed. */
  #orderOf({ key, resources }: { key: string; resources: readonly { key: string }[] }): string[] {
    const named = this.#order.get(key) ?? resources.map((resource) => resource.key);
    const links = this.#known.entries.get(key)?.links ?? [];
    const place = ({ nid }: LedgerEntry): number =>
      links.includes(nid ?? '') ? links.indexOf(nid ?? '') : links.length;
    const others = (this.#below.get(key) ?? []).filter((entry) => !named.includes(entry.key));
    others.sort((a, b) => place(a) - place(b) || (a.key < b.key ? -1 : 1));
    return [...named, ...others.map((entry) => entry.key)];
  }

  #resourceWork(wish: ResourceWish, why: string): ResourceWork {
    const source = this.#known.sources.get(wish.key) ?? null;
    return { wish, why, source, removal: null, onDrift: this.#onDrift, createMissing: this.#createMissing };
  }

  #removedResource({ how, entry }: Removal, datasetKey: string): ResourceWork {
    const wish: ResourceWish = {
      ...bareWish(entry),
      datasetKey,
      source: { kind: 'link', url: '' },
      import: 'never',
    };
    const why = 'the manifest no longer names it';
    return { wish, why, source: null, removal: how, onDrift: this.#onDrift, createMissing: this.#createMissing };
  }

  #quiet(
    wish: { key: string; uuid: string; title: string },
    kind: ReportItem['kind'],
    reason: Reason | null,
  ): ReportItem {
    const { key, uuid, title } = wish;
    const entry = this.#known.entries.get(key) ?? newEntry({ key, kind, uuid, title });
    if (reason) return itemOfEntry(entry, { outcome: 'held', reason });
    // Its file could not be imported, or is held: the last good one is live.
    const standing =
      entry.refused?.isReplaced && !entry.live ? entry.refused.reason : isLate(entry) ? entry.reason : null;
    return itemOfEntry(entry, { outcome: standing ? outcomeOf(standing) : 'unchanged', reason: standing });
  }
}

/** The wish for a node that is only removed, or that stays as it is. */
const bareWish = (entry: LedgerEntry): DatasetWork['wish'] => ({
  key: entry.key,
  uuid: entry.uuid,
  title: entry.title,
  published: entry.live,
  fields: {},
  metadataFingerprint: entry.metadataFingerprint ?? '',
});

/** Work for dropped files that were replaced by a newer one, or refused. */
export const sourceWork = (request: RunData, { superseded, refused }: Gathered): RunWork => ({
  datasets: [],
  resources: [],
  settled: refused.map(({ claim, reason }) => refusedItem(request, claim, reason)),
  claims: [
    ...superseded.map(({ id }) => ({ claim: id, reason: null })),
    ...refused.map(({ claim, reason }) => ({ claim: claim.id, reason })),
  ],
});

/** Reports faulty entries of the source; what they published before stays. */
export const skippedWork = async (
  { ledger }: HandlerDeps,
  { portal }: RunData,
  skipped: SkippedEntry[],
): Promise<RunWork> => {
  const entries = await ledger.entriesOf(
    portal,
    skipped.map(({ key }) => key),
  );
  const settled = skipped.map(({ reason, ...names }, at) =>
    itemOfEntry(entries[at] ?? newEntry({ ...names, kind: kindOfKey(names.key) }), {
      outcome: outcomeOf(reason),
      reason,
    }),
  );
  return { datasets: [], resources: [], settled, claims: [] };
};

const refusedItem = (
  request: RunData,
  claim: { id: string; dataset: string; resource: string },
  reason: Reason,
): ReportItem => {
  const key = `${request.manifest}/${claim.dataset}/${claim.resource}`;
  return itemOfEntry(newEntry({ key, kind: 'resource', uuid: '', title: claim.resource }), {
    outcome: outcomeOf(reason),
    reason,
  });
};
