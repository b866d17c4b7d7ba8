// Plans a run and stores its work, page by page.
import { HeldError } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import { isBelow, parentKey } from '../../model/key.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { PlanFile } from '../../model/plan-file.ts';
import type { Reason } from '../../model/report.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import { guardOf } from '../../sources/manifest/resource-keys.ts';
import { expectationsOf, expectedOf } from '../../state/deadlines.ts';
import type { PlannedCounts, PlanWriter } from '../../state/plan-writer.ts';
import type { RunWork } from '../../state/run-work.ts';
import { isStale } from '../../state/targets.ts';
import { listNodes, observe } from '../compare/observe.ts';
import type { Missing, Removal } from '../plan/missing.ts';
import type { KnownState, Observed, PlannedDataset, PlannedItem } from '../plan/plan.ts';
import { type PlannedPage, TargetPlan, type TargetPlanOptions } from '../plan/target-plan.ts';
import type { Gathered, PlanDeps } from './deps.ts';
import { lateDrops, withDecision } from './guard-table.ts';
import { movedItems, refuseOtherPortal } from './run-checks.ts';
import { skippedWork, sourceWork, WorkBuilder } from './run-work.ts';

/**
 * Gathers, plans, and stores the work of the run page by page. Otherwise it only records what the comparison shows: renames,
 * and since when something is missing.
 * @throws HeldError when the guard holds the run
 */
export const planRun = async (deps: PlanDeps, request: RunData, signal: AbortSignal): Promise<PlannedCounts> => {
  if (request.remove) return planRemoval(deps, request, request.remove, signal);
  const gathered = await deps.gather(request, signal);
  try {
    return await planGathered(deps, request, gathered, signal);
  } finally {
    await gathered.wishes.close();
  }
};

const planGathered = async (
  deps: PlanDeps,
  request: RunData,
  gathered: Gathered,
  signal: AbortSignal,
): Promise<PlannedCounts> => {
  const pins = request.plan === null ? null : await deps.plans.read(request.plan);
  const released = request.release === null ? null : new Set((await deps.plans.heldRun(request.release)).removals);
  const isLimited = request.only !== null || gathered.isDrop;
  const mayRefresh = !isLimited && !pins;
  const refresh = mayRefresh && (await needsRefresh(deps, request));
  await deps.deadlines.expect(expectationsOf(request, gathered.manifest.expectMs), Date.now());
  const write = (how: { refresh: boolean }): Promise<WrittenPages> =>
    writePages(deps, request, { gathered, pins, isLimited, released, ...how }, signal);
  const first = await write({ refresh });
  await passGuard(deps, request, { plan: first.plan, wished: gathered.wishes.length, isLimited });
  // A portal that has forgotten some nodes is compared as a whole.
  const hasGone = first.hasWork && (await refuseOtherPortal(deps, request, first.plan.index, signal));
  const isRepeated = hasGone && mayRefresh && !refresh;
  if (isRepeated) await deps.runs.phases.startOver(request.runId);
  const { plan, writer } = isRepeated ? await write({ refresh: true }) : first;
  await learn(deps, request, plan.missing);
  if (refresh || isRepeated || plan.index.size === 0) await deps.ledger.refreshed(request, Date.now());
  return writer.end(request.only === null ? [...gathered.remarks, ...plan.remarks] : [], gathered.manifest.priority);
};

interface PlanningHow {
  gathered: Gathered;
  pins: PlanFile | null;
  isLimited: boolean;
  /** Keys that a released run may remove; null for all. */
  released: ReadonlySet<string> | null;
  refresh: boolean;
}

interface WrittenPages {
  plan: TargetPlan;
  writer: PlanWriter;
  /** True where the plan does anything. */
  hasWork: boolean;
}

/** Plans page by page and stores the work of each; nothing takes effect before the plan is ended. */
const writePages = async (
  deps: PlanDeps,
  request: RunData,
  how: PlanningHow,
  signal: AbortSignal,
): Promise<WrittenPages> => {
  const { gathered, pins, isLimited } = how;
  const writer = deps.runs.newPlan(request.runId);
  const plan = await TargetPlan.open({
    ledger: deps.ledger,
    target: request,
    wishes: gathered.wishes,
    only: request.only,
    isLimited,
    isWhole: pins !== null,
    rules: gathered.manifest,
    stated: gathered,
    now: Date.now(),
    ...(pins ? { isCounted: (key: string) => isPinned(pins, key) } : {}),
    observe: await observer(deps, request, { refresh: how.refresh, isPinned: pins !== null }, signal),
  });
  await writer.add(sourceWork(request, gathered));
  if (gathered.isDrop) {
    const guard = guardOf(gathered.manifest.defaults.resource.guard);
    await writer.add(await lateDrops(deps, request, { guard, wished: gathered.wishes.keys }));
  }
  let hasWork = plan.missing.removals.length > 0;
  for await (const page of plan.pages()) {
    hasWork ||= page.datasets.some(hasActions);
    await expectData(deps, request, page.wishes);
    await writer.add(await workOfPage(deps, request, { page, how }, signal));
  }
  const isAsked = (key: string): boolean =>
    request.only?.some((each) => each === key || each === parentKey(key)) ?? true;
  const skipped = gathered.skipped.filter(({ key }) => isAsked(key));
  if (skipped.length > 0) await writer.add(await skippedWork(deps, request, skipped));
  return { plan, writer, hasWork };
};

/** The work of a page, without what a stored plan or a release does not name. */
const workOfPage = async (
  deps: PlanDeps,
  request: RunData,
  { page, how: { gathered, pins, released } }: { page: PlannedPage; how: PlanningHow },
  signal: AbortSignal,
): Promise<RunWork> => {
  const moved = pins ? await movedItems(deps.portal(request.portal), pins, page, signal) : new Map<string, Reason>();
  const onDrift = request.onDrift ?? gathered.manifest.onDrift;
  const builder = new WorkBuilder(page, { request, onDrift, pinned: pins !== null });
  for (const [index, wish] of page.wishes.entries()) {
    const dataset = page.datasets[index];
    if (dataset) builder.add(wish, pins ? pinned(dataset, pins, moved) : dataset, moved);
  }
  builder.joinLookups();
  builder.remove(
    page.removals.filter(
      ({ key }) => (released?.has(key) ?? true) && (pins === null || (isPinned(pins, key) && !moved.has(key))),
    ),
  );
  builder.refuse(moved);
  return builder.work;
};

/** Says how often new data of each dataset are expected. */
const expectData = (deps: PlanDeps, { portal }: RunData, wishes: DatasetWish[]): Promise<void> =>
  deps.deadlines.expect(
    wishes.map(({ key, expectMs }) => ({ member: expectedOf.data(portal, key), everyMs: expectMs ?? null })),
    Date.now(),
  );

/** Observes the wishes of a page, and clears from the ledger what was found wrong or is doubted. */
const observer = async (
  deps: PlanDeps,
  request: RunData,
  { refresh, isPinned }: { refresh: boolean; isPinned: boolean },
  signal: AbortSignal,
): Promise<TargetPlanOptions['observe']> => {
  const isDoubted = request.refresh;
  const readsStates = isDoubted || request.why === 'retry';
  const portal = refresh || readsStates ? deps.portal(request.portal) : null;
  const listed = refresh && portal ? await listNodes(portal, signal) : null;
  return async (wishes, entries, leavesNew) => {
    const options = {
      fetcher: deps.fetcher,
      listed,
      portal,
      readsStates,
      isDoubted,
      leavesNew: leavesNew && !isPinned,
    };
    const seen = await observe(wishes, entries, options, signal);
    if (isDoubted) await forgetVersions(deps, request, seen);
    return learnOfTables(deps, request, wishes, seen);
  };
};

/** Makes jobs of a run that doubts "unchanged" replies fetch the files. */
const forgetVersions = async (deps: PlanDeps, { portal }: RunData, seen: Observed): Promise<void> => {
  for (const key of seen.addresses?.keys() ?? []) {
    const entry = seen.entries.get(key);
    if (!entry?.fetched) continue;
    await deps.ledger.put(portal, { ...entry, fetched: { ...entry.fetched, etag: null, lastModified: null } });
  }
};

/** Records changes of tables: broken ones, refused ones that are retried, and decisions on held ones. */
const learnOfTables = async (
  deps: PlanDeps,
  request: RunData,
  wishes: DatasetWish[],
  known: Observed,
): Promise<Observed> => {
  const entries = new Map(known.entries);
  const tooLarge = deps.portal(request.portal).traits.get('tooLarge') ?? Number.POSITIVE_INFINITY;
  for (const wish of wishes.flatMap(({ resources }) => resources)) {
    const entry = entries.get(wish.key);
    if (!entry) continue;
    // A file or table that was changed on the portal is restored by the job of its resource.
    const drift = known.drift?.get(wish.key);
    const found = drift ? { ...entry, ...drift.broken } : entry;
    const learned = withDecision(
      isRetried(found, wish, request, tooLarge) ? { ...found, refused: null } : found,
      wish,
      request,
      Date.now(),
    );
    if (learned === entry) continue;
    entries.set(wish.key, learned);
    await deps.ledger.put(request.portal, learned);
  }
  return { ...known, entries };
};

/**
 * A file that could not be imported is retried on request, when it is dropped again, or where it is no longer `tooLarge` (bytes);
 * a held table waits for a decision.
 */
const isRetried = ({ refused }: LedgerEntry, { source }: ResourceWish, { why }: RunData, tooLarge: number): boolean =>
  refused !== null &&
  refused.guard === undefined &&
  (why === 'retry' || (refused.bytes ?? tooLarge) < tooLarge || (source.kind === 'file' && source.claim !== undefined));

/** True on request, or when the last comparison with the portal's listing is too old. */
const needsRefresh = async (deps: PlanDeps, request: RunData): Promise<boolean> =>
  request.refresh ||
  request.createMissing ||
  isStale(await deps.ledger.refreshedAt(request), deps.settings.refreshAfterMs(request.portal));

/** Holds a run beyond the limits of the guard; one that passes replaces any that was held before. */
const passGuard = async (
  deps: PlanDeps,
  request: RunData,
  { plan, wished, isLimited }: { plan: TargetPlan; wished: number; isLimited: boolean },
): Promise<void> => {
  const { runId, manifest, portal, manifestPath } = request;
  if (plan.held && request.release === null) {
    const keys = plan.missing.removals.map(({ key }) => key);
    // An empty source never removes anything, released or not.
    const removals = wished === 0 ? [] : keys;
    const why = plan.held;
    await deps.plans.hold({
      runId,
      manifest,
      portal,
      manifestPath,
      removals,
      plan: request.plan,
      why,
      since: Date.now(),
    });
    throw new HeldError(`held by the guard: ${why}`, {
      hint: `nothing was changed; check the source, then \`sluice release ${runId}\` or \`sluice discard ${runId}\``,
    });
  }
  if (!isLimited && request.release === null && request.plan === null) await deps.plans.forgetHeld(request);
};

/** Records what the comparison found. */
const learn = async (deps: PlanDeps, { portal }: RunData, missing: Missing): Promise<void> => {
  for (const { from, to } of missing.renames) await deps.ledger.rename(portal, from, to);
  const missingSince = Date.now();
  await deps.ledger.putAll(portal, [
    ...missing.newlyMissing.map((entry) => ({ ...entry, missingSince })),
    ...missing.returned.map((entry) => ({ ...entry, missingSince: null })),
  ]);
};

/** Plans the removal of one item on request; a dataset with all its resources. */
const planRemoval = async (
  deps: PlanDeps,
  request: RunData,
  { key, how }: NonNullable<RunData['remove']>,
  signal: AbortSignal,
): Promise<PlannedCounts> => {
  const entries = await deps.ledger.entries(request);
  await refuseOtherPortal(deps, request, entries, signal);
  const removals: Removal[] = [...entries.values()]
    .filter((entry) => (entry.key === key || isBelow(entry.key, key)) && entry.nid !== null)
    .map((entry) => ({ key: entry.key, kind: entry.kind, how, entry }));
  const known: KnownState = { entries, sources: new Map(), sent: new Map(), listed: null };
  const builder = new WorkBuilder({ known, order: new Map() }, { request, onDrift: 'overwrite', pinned: false });
  builder.remove(removals);
  const writer = deps.runs.newPlan(request.runId);
  await writer.add(builder.work);
  return writer.end([]);
};

const hasActions = ({ actions, resources }: PlannedDataset): boolean =>
  actions.length > 0 || resources.some((resource) => resource.actions.length > 0);

const isPinned = (pins: PlanFile, key: string): boolean =>
  pins.items.some((item) => item.key === key && item.actions.length > 0);

/** Limits a dataset to the actions of a plan file: items without an action there, and changed ones, have no work. */
const pinned = (planned: PlannedDataset, pins: PlanFile, moved: ReadonlyMap<string, Reason>): PlannedDataset => {
  const allow = <T extends PlannedItem>(item: T): T =>
    isPinned(pins, item.key) && !moved.has(item.key) ? item : { ...item, actions: [], why: null };
  return { ...allow(planned), resources: planned.resources.map(allow) };
};
