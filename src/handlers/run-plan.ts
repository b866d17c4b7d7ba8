// Makes the planned work of a run: wishes x ledger, with the files as they are now.
import { HeldError } from '../errors.ts';
import type { RunData } from '../job.ts';
import { type LedgerEntry, newEntry } from '../ledger/entry.ts';
import type { DatasetWork, ResourceWork, RunWork } from '../ledger/runs.ts';
import type { OnDrift } from '../manifest/schema.ts';
import type { Knowledge, PlannedDataset, PlannedItem } from '../plan/plan.ts';
import type { Removal } from '../plan/removals.ts';
import { applyRenames, flatten, planManifest } from '../plan/whole-plan.ts';
import type { PlanFile } from '../plan-file.ts';
import type { Reason, ReportItem } from '../report.ts';
import type { DatasetWish, ResourceWish } from '../wish.ts';
import type { Gathered, HandlerDeps } from './deps.ts';
import { itemOfEntry, outcomeOf } from './items.ts';
import { lookAt, withKnownUuids } from './look.ts';
import { movedItems } from './plan-pins.ts';

/**
 * Gathers and plans. Writes nothing but what the comparison itself teaches: renames, and since when something is
 * missing. Throws {@link HeldError} when the guard holds the run; nothing has been touched then.
 */
export const planRun = async (deps: HandlerDeps, request: RunData, signal: AbortSignal): Promise<RunWork> => {
  if (request.remove) return planRemoval(deps, request, request.remove);
  const gathered = await deps.gather(request.manifestPath);
  const limited = request.only !== null || gathered.isDrop;
  const wanted = limitTo(gathered.wishes, request.only);
  const looked = await lookAt({ ledger: deps.ledger, target: request, wishes: wanted, portal: null }, signal);
  const plan = planManifest(gathered.manifest, wanted, looked, { limited, now: Date.now() });
  if (plan.held && request.release === null && request.plan === null) {
    const { runId, manifest, portal, manifestPath } = request;
    // An empty source never removes anything, released or not.
    const removals = wanted.length === 0 ? [] : plan.missing.removals.map(({ key }) => key);
    await deps.holdRun({ runId, manifest, portal, manifestPath, removals, why: plan.held, since: Date.now() });
    throw held(plan.held, runId);
  }
  for (const { from, to } of plan.missing.renames) await deps.ledger.rename(request.portal, from, to);
  for (const entry of plan.missing.newlyMissing) {
    await deps.ledger.put(request.portal, { ...entry, missingSince: Date.now() });
  }
  const known = applyRenames(looked, plan.missing);
  const pins = request.plan === null ? null : await deps.storedPlan(request.plan);
  const moved = pins
    ? await movedItems(deps.portal(request.portal), pins, { plan, known }, signal)
    : new Map<string, Reason>();
  const builder = new WorkBuilder(gathered, known, request.onDrift ?? gathered.manifest.onDrift, request);
  for (const [index, wish] of withKnownUuids(wanted, known.entries).entries()) {
    const planned = plan.datasets[index];
    if (planned) builder.add(wish, pins ? pinned(planned, pins, moved) : planned, moved);
  }
  const released = request.release === null ? null : await deps.heldRemovals(request.release);
  builder.remove(
    plan.missing.removals.filter(
      ({ key }) => (!pins || (isPinned(pins, key) && !moved.has(key))) && (!released || released.has(key)),
    ),
  );
  return builder.work;
};

/** Takes one item down on purpose; a dataset with all its resources. */
const planRemoval = async (
  deps: HandlerDeps,
  request: RunData,
  { key, how }: NonNullable<RunData['remove']>,
): Promise<RunWork> => {
  const entries = await deps.ledger.entries(request);
  const removals: Removal[] = [...entries.values()]
    .filter((entry) => (entry.key === key || entry.key.startsWith(`${key}/`)) && entry.nid !== null)
    .map((entry) => ({ key: entry.key, kind: entry.kind, how, entry }));
  const known: Knowledge = { entries, sources: new Map(), sent: new Map(), listed: null };
  const builder = new WorkBuilder({ superseded: [], refused: [] }, known, 'overwrite', request);
  builder.remove(removals);
  return builder.work;
};

const held = (verdict: string, runId: string): HeldError =>
  new HeldError(`held by the guard: ${verdict}`, {
    hint: `nothing was changed; look at the source, then \`sluice release ${runId}\` or \`sluice discard ${runId}\``,
  });

/** The wishes a limited run is for: named resources, and named datasets with all their resources. */
const limitTo = (wishes: DatasetWish[], only: string[] | null): DatasetWish[] => {
  if (only === null) return wishes;
  const keys = new Set(only);
  return wishes.flatMap((wish) => {
    if (keys.has(wish.key)) return [wish];
    const resources = wish.resources.filter((resource) => keys.has(resource.key));
    return resources.length > 0 ? [{ ...wish, resources }] : [];
  });
};

const isPinned = (pins: PlanFile, key: string): boolean =>
  pins.items.some((item) => item.key === key && item.actions.length > 0);

/** A plan file allows exactly its own actions: items it does not name with an action, and moved ones, have nothing to do. */
const pinned = (planned: PlannedDataset, pins: PlanFile, moved: ReadonlyMap<string, Reason>): PlannedDataset => {
  const allow = <T extends PlannedItem>(item: T): T =>
    isPinned(pins, item.key) && !moved.has(item.key) ? item : { ...item, actions: [], why: null };
  return { ...allow(planned), resources: planned.resources.map(allow) };
};

/** Collects the work of a run. */
class WorkBuilder {
  readonly work: RunWork;
  readonly #known: Knowledge;
  readonly #onDrift: OnDrift;

  constructor(
    gathered: Pick<Gathered, 'superseded' | 'refused'>,
    known: Knowledge,
    onDrift: OnDrift,
    request: RunData,
  ) {
    this.#known = known;
    this.#onDrift = onDrift;
    this.work = {
      datasets: [],
      resources: [],
      spare: [],
      settled: gathered.refused.map(({ claim, reason }) => refusedItem(request, claim, reason)),
      claims: [
        ...gathered.superseded.map(({ id }) => ({ claim: id, reason: null })),
        ...gathered.refused.map(({ claim, reason }) => ({ claim: claim.id, reason })),
      ],
    };
  }

  /** Adds a dataset as planned; items that moved since a plan are told as held. */
  add(wish: DatasetWish, planned: PlannedDataset, moved: ReadonlyMap<string, Reason>): void {
    const why = new Map(flatten([planned]).map((item) => [item.key, item.why]));
    const same = wish.resources.filter((resource) => why.get(resource.key) === null);
    for (const { source } of same) {
      if (source.kind === 'file' && source.claim !== undefined)
        this.work.claims.push({ claim: source.claim, reason: null });
    }
    const unchanged = same.map((resource) => this.#quiet(resource, 'resource', moved.get(resource.key) ?? null));
    const busy = wish.resources.flatMap((resource): ResourceWork[] => {
      const reason = why.get(resource.key);
      return reason ? [this.#resourceWork(resource, reason)] : [];
    });
    const reason = why.get(wish.key) ?? null;
    if (reason === null && busy.length === 0) {
      this.work.settled.push(this.#quiet(wish, 'dataset', moved.get(wish.key) ?? null), ...unchanged);
      return;
    }
    const { resources: _resources, ...bare } = wish;
    const nid = this.#known.entries.get(wish.key)?.nid ?? null;
    this.work.datasets.push({
      wish: bare,
      why: reason ?? 'its resources have work',
      nid,
      resources: busy.map((resource) => resource.wish.key),
      unchanged,
      verify: planned.actions.includes('verify'),
      removal: null,
      onDrift: this.#onDrift,
    });
    this.work.resources.push(...busy);
    if (nid === null) return;
    for (const resource of same) {
      this.work.spare.push(this.#resourceWork(resource, 'the node of its dataset is another one'));
    }
  }

  /** Adds what is to be taken down: resources below their dataset's job, whether that stays or goes. */
  remove(removals: Removal[]): void {
    for (const removal of removals.filter(({ kind }) => kind === 'resource')) {
      const datasetKey = parentOf(removal.key);
      this.work.resources.push(this.#removedResource(removal, datasetKey));
      this.#datasetFor(datasetKey, removals).resources.push(removal.key);
    }
    for (const removal of removals.filter(({ kind }) => kind === 'dataset')) this.#datasetFor(removal.key, removals);
  }

  #datasetFor(key: string, removals: Removal[]): DatasetWork {
    const there = this.work.datasets.find((dataset) => dataset.wish.key === key);
    if (there) return there;
    const entry = this.#known.entries.get(key) ?? newEntry({ key, kind: 'dataset', uuid: '', title: key });
    const settled = this.work.settled.filter((item) => item.key.startsWith(`${key}/`));
    this.work.settled = this.work.settled.filter((item) => item.key !== key && !item.key.startsWith(`${key}/`));
    const dataset: DatasetWork = {
      wish: bareWish(entry),
      why: 'the manifest no longer names it or some of its resources',
      nid: entry.nid,
      resources: [],
      unchanged: settled,
      verify: false,
      removal: removals.find((removal) => removal.key === key)?.how ?? null,
      onDrift: this.#onDrift,
    };
    this.work.datasets.push(dataset);
    return dataset;
  }

  #resourceWork(wish: ResourceWish, why: string): ResourceWork {
    const source = this.#known.sources.get(wish.key) ?? null;
    return { wish, why, source, removal: null, onDrift: this.#onDrift };
  }

  #removedResource({ how, entry }: Removal, datasetKey: string): ResourceWork {
    const wish: ResourceWish = {
      ...bareWish(entry),
      datasetKey,
      source: { kind: 'link', url: '' },
      import: 'never',
    };
    return { wish, why: 'the manifest no longer names it', source: null, removal: how, onDrift: this.#onDrift };
  }

  #quiet(
    wish: { key: string; uuid: string; title: string },
    kind: ReportItem['kind'],
    reason: Reason | null,
  ): ReportItem {
    const { key, uuid, title } = wish;
    const entry = this.#known.entries.get(key) ?? newEntry({ key, kind, uuid, title });
    return itemOfEntry(entry, { outcome: reason ? 'held' : 'unchanged', reason });
  }
}

const parentOf = (key: string): string => key.slice(0, key.lastIndexOf('/'));

/** What is left of a wish for a node that only is to be taken down, or whose dataset stays as it is. */
const bareWish = (entry: LedgerEntry): DatasetWork['wish'] => ({
  key: entry.key,
  uuid: entry.uuid,
  title: entry.title,
  published: entry.live,
  fields: {},
  metadataFingerprint: entry.metadataFingerprint ?? '',
});

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
