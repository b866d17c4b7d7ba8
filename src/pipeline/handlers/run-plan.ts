// Makes the planned work of a run: wishes x ledger, with the files as they are now.
import { HeldError } from '../../model/errors.ts';
import type { RunData } from '../../model/job.ts';
import type { PlanFile } from '../../model/plan-file.ts';
import type { Reason } from '../../model/report.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { sparedBy } from '../../sources/gather/dataset-wish.ts';
import { isStale } from '../../state/refreshed.ts';
import type { RunWork } from '../../state/runs.ts';
import { withKnownNames } from '../plan/known-wishes.ts';
import type { Knowledge, PlannedDataset, PlannedItem } from '../plan/plan.ts';
import type { Missing, Removal } from '../plan/removals.ts';
import { applyRenames, planManifest, type WholePlan } from '../plan/whole-plan.ts';
import type { HandlerDeps } from './deps.ts';
import { lookAt } from './look.ts';
import { movedItems } from './plan-pins.ts';
import { refuseOtherPortal } from './portal-content.ts';
import { WorkBuilder } from './run-work.ts';

/**
 * Gathers and plans. Writes nothing but what the comparison itself teaches: renames, and since when something is
 * missing. Throws {@link HeldError} when the guard holds the run; nothing has been touched then.
 */
export const planRun = async (deps: HandlerDeps, request: RunData, signal: AbortSignal): Promise<RunWork> => {
  if (request.remove) return planRemoval(deps, request, request.remove, signal);
  const gathered = await deps.gather(request, signal);
  const pins = request.plan === null ? null : await deps.storedPlan(request.plan);
  const limited = request.only !== null || gathered.isDrop;
  const wanted = limitTo(gathered.wishes, request.only);
  let refresh = !limited && !pins && (await needsRefresh(deps, request));
  const planned = async (): Promise<{ looked: Knowledge; plan: WholePlan }> => {
    const knowledge = await look(deps, request, { wanted, refresh, isPinned: pins !== null }, signal);
    const whole = planManifest(gathered.manifest, withKnownNames(wanted, knowledge.entries), knowledge, {
      limited,
      now: Date.now(),
      isSpared: sparedBy(gathered.skipped),
      ...(pins ? { counts: (key: string) => isPinned(pins, key) } : {}),
    });
    return { looked: knowledge, plan: whole };
  };
  let { looked, plan } = await planned();
  await passGuard(deps, request, { plan, wished: wanted.length, limited });
  const isForgetful = hasWork(plan) && (await refuseOtherPortal(deps, request, looked.entries, signal));
  if (isForgetful && !refresh && !limited && !pins) {
    refresh = true;
    ({ looked, plan } = await planned());
  }
  await learn(deps, request, plan.missing);
  if (refresh) await deps.ledger.refreshed(request, Date.now());
  const known = applyRenames(looked, plan.missing);
  const moved = pins
    ? await movedItems(deps.portal(request.portal), pins, { plan, known }, signal)
    : new Map<string, Reason>();
  const work = new WorkBuilder(gathered, known, {
    request,
    onDrift: request.onDrift ?? gathered.manifest.onDrift,
    pinned: pins !== null,
    order: new Map(
      gathered.isDrop ? [] : gathered.wishes.map(({ key, resources }) => [key, resources.map((each) => each.key)]),
    ),
  });
  for (const [index, wish] of plan.wishes.entries()) {
    const dataset = plan.datasets[index];
    if (dataset) work.add(wish, pins ? pinned(dataset, pins, moved) : dataset, moved);
  }
  work.joinLookups();
  const released = request.release === null ? null : new Set((await deps.heldRun(request.release)).removals);
  const removals = plan.missing.removals.filter(({ key }) => !released || released.has(key));
  work.remove(pins ? removals.filter(({ key }) => isPinned(pins, key) && !moved.has(key)) : removals);
  work.refuse(moved);
  work.skip(gathered.skipped.filter(({ key }) => request.only?.includes(key) ?? true));
  work.work.remarks = request.only === null ? gathered.remarks : [];
  return work.work;
};

/** Looks at what the plan is made of, and forgets what was found wrong or is doubted. */
const look = async (
  deps: HandlerDeps,
  request: RunData,
  { wanted, refresh, isPinned }: { wanted: DatasetWish[]; refresh: boolean; isPinned: boolean },
  signal: AbortSignal,
): Promise<Knowledge> => {
  const { ledger, fetcher } = deps;
  const portal = refresh ? deps.portal(request.portal) : null;
  const isDoubted = request.refresh;
  const asksStates = isDoubted || request.why === 'retry';
  const onNews = (): void => void meet(deps, request.portal, signal).catch(() => undefined); // the jobs are told why
  const seen = await lookAt(
    {
      ledger,
      target: request,
      wishes: wanted,
      portal,
      fetcher,
      isDoubted,
      counted: asksStates ? deps.portal(request.portal) : portal,
      asksStates,
      leavesNew: !isPinned,
      onNews,
    },
    signal,
  );
  if (isDoubted) await forgetVersions(deps, request, seen);
  return forgetRefusals(deps, request, wanted, await forgetTables(deps, request, seen));
};

/**
 * A login takes a portal a while: it goes on beside the planning, and so do the reads before the first create. Where the
 * portal is shared they might be one request too many, beside those of jobs elsewhere.
 */
const meet = async (deps: HandlerDeps, name: string, signal: AbortSignal): Promise<void> => {
  if (await deps.isShared(name)) return;
  const portal = deps.portal(name);
  await portal.identity(signal);
  await portal.dialectInUse(signal);
};

/** The jobs of a run that doubts what servers call unchanged must not ask them. */
const forgetVersions = async (deps: HandlerDeps, { portal }: RunData, seen: Knowledge): Promise<void> => {
  for (const key of seen.addresses?.keys() ?? []) {
    const entry = seen.entries.get(key);
    if (!entry?.fetched) continue;
    await deps.ledger.put(portal, { ...entry, fetched: { ...entry.fetched, etag: null, lastModified: null } });
  }
};

/** Tables that are not as they were imported are made anew by the jobs of their resources. */
const forgetTables = async (deps: HandlerDeps, { portal }: RunData, known: Knowledge): Promise<Knowledge> => {
  const entries = new Map(known.entries);
  for (const key of known.tables?.keys() ?? []) {
    const entry = entries.get(key);
    if (!entry) continue;
    entries.set(key, { ...entry, datastore: 'pending' });
    await deps.ledger.put(portal, { ...entry, datastore: 'pending' });
  }
  return { ...known, entries };
};

/** What a portal could not import is tried once more when somebody asks for it: by a retry, or by dropping it again. */
const forgetRefusals = async (
  deps: HandlerDeps,
  request: RunData,
  wishes: DatasetWish[],
  known: Knowledge,
): Promise<Knowledge> => {
  const entries = new Map(known.entries);
  for (const { key, source } of wishes.flatMap(({ resources }) => resources)) {
    const entry = entries.get(key);
    const isAsked = request.why === 'retry' || (source.kind === 'file' && source.claim !== undefined);
    if (!entry?.refused || !isAsked) continue;
    entries.set(key, { ...entry, refused: null });
    await deps.ledger.put(request.portal, { ...entry, refused: null });
  }
  return { ...known, entries };
};

/** Asked for, or the last comparison with the portal's own listing is too long ago. */
const needsRefresh = async (deps: HandlerDeps, request: RunData): Promise<boolean> =>
  request.refresh ||
  request.createMissing ||
  isStale(await deps.ledger.refreshedAt(request), deps.settings.refreshAfterMs(request.portal));

/** Holds a run that the guard does not let go; one that does go answers any held before it. */
const passGuard = async (
  deps: HandlerDeps,
  request: RunData,
  { plan, wished, limited }: { plan: WholePlan; wished: number; limited: boolean },
): Promise<void> => {
  const { runId, manifest, portal, manifestPath } = request;
  if (plan.held && request.release === null) {
    const keys = plan.missing.removals.map(({ key }) => key);
    // An empty source never removes anything, released or not.
    const removals = wished === 0 ? [] : keys;
    const why = plan.held;
    await deps.holdRun({ runId, manifest, portal, manifestPath, removals, plan: request.plan, why, since: Date.now() });
    throw new HeldError(`held by the guard: ${why}`, {
      hint: `nothing was changed; look at the source, then \`sluice release ${runId}\` or \`sluice discard ${runId}\``,
    });
  }
  if (!limited && request.release === null && request.plan === null) await deps.forgetHeld(request);
};

/** Writes down what the comparison taught. */
const learn = async (deps: HandlerDeps, { portal }: RunData, missing: Missing): Promise<void> => {
  for (const { from, to } of missing.renames) await deps.ledger.rename(portal, from, to);
  for (const entry of missing.newlyMissing) await deps.ledger.put(portal, { ...entry, missingSince: Date.now() });
  for (const entry of missing.returned) await deps.ledger.put(portal, { ...entry, missingSince: null });
};

/** Takes one item down on purpose; a dataset with all its resources. */
const planRemoval = async (
  deps: HandlerDeps,
  request: RunData,
  { key, how }: NonNullable<RunData['remove']>,
  signal: AbortSignal,
): Promise<RunWork> => {
  const entries = await deps.ledger.entries(request);
  await refuseOtherPortal(deps, request, entries, signal);
  const removals: Removal[] = [...entries.values()]
    .filter((entry) => (entry.key === key || entry.key.startsWith(`${key}/`)) && entry.nid !== null)
    .map((entry) => ({ key: entry.key, kind: entry.kind, how, entry }));
  const known: Knowledge = { entries, sources: new Map(), sent: new Map(), listed: null };
  const builder = new WorkBuilder({ superseded: [], refused: [] }, known, {
    request,
    onDrift: 'overwrite',
    pinned: false,
  });
  builder.remove(removals);
  return builder.work;
};

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

const hasWork = ({ missing, datasets }: WholePlan): boolean =>
  missing.removals.length > 0 || datasets.some((dataset) => hasActions(dataset));

const hasActions = ({ actions, resources }: PlannedDataset): boolean =>
  actions.length > 0 || resources.some((resource) => resource.actions.length > 0);

const isPinned = (pins: PlanFile, key: string): boolean =>
  pins.items.some((item) => item.key === key && item.actions.length > 0);

/** A plan file allows exactly its own actions: items it does not name with an action, and moved ones, have nothing to do. */
const pinned = (planned: PlannedDataset, pins: PlanFile, moved: ReadonlyMap<string, Reason>): PlannedDataset => {
  const allow = <T extends PlannedItem>(item: T): T =>
    isPinned(pins, item.key) && !moved.has(item.key) ? item : { ...item, actions: [], why: null };
  return { ...allow(planned), resources: planned.resources.map(allow) };
};
