// Job kind `run`: plans a run and stores its work, page by page. Jobs on its items do it; the last of them lets the run close.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, HeldError } from '../../model/errors.ts';
import type { Handler, JobContext, RunData, RunRequest } from '../../model/job.ts';
import { isWithin, parentKey } from '../../model/key.ts';
import type { IndexedEntry, LedgerEntry } from '../../model/ledger-entry.ts';
import type { PlanFile, PlanFileItem } from '../../model/plan-file.ts';
import type { Reason } from '../../model/report.ts';
import type { ResourceWish } from '../../model/wish.ts';
import { type Deadlines, expectationsOf, expectedOf } from '../../state/deadlines.ts';
import type { PlannedCounts, RunWork } from '../../state/run-work.ts';
import type { storedPlans } from '../../state/stored-plans.ts';
import { isStale } from '../../state/targets.ts';
import { plural } from '../../util/plural.ts';
import { listNodes, observe } from '../compare/observe.ts';
import { mayHaveNode, ownersOf } from '../plan/known-wish.ts';
import type { Removal } from '../plan/missing.ts';
import type { PlannedDataset } from '../plan/plan.ts';
import { withDecision } from '../plan/table-guard.ts';
import {
  flatten,
  openTargetPlan,
  type PlannedPage,
  type TargetPlan,
  type TargetPlanOptions,
} from '../plan/target-plan.ts';
import { type ExportDeps, forJob, type Gathered } from './deps.ts';
import { planExport } from './export.ts';
import { movedItems, refuseOtherPortal } from './run-checks.ts';
import { lateDrops, sourceWork, workOfPage } from './run-work.ts';

interface RunDeps extends ExportDeps {
  deadlines: Pick<Deadlines, 'expect'>;
  /** Plans that runs are pinned to, and runs that the guard holds. */
  plans: ReturnType<typeof storedPlans>;
  /** Gathers the wishes of a manifest as it is now, those for this run. */
  gather(request: RunRequest, signal: AbortSignal): Promise<Gathered>;
  /** Notifies monitors that a run begins; waits for nothing and never fails. */
  started(request: RunData): void;
}

/** Plans a run once: after a kill from the start, unless the plan was ended before. */
export const runHandler = (shared: RunDeps): Handler<'run'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    const { runId, export: order } = job.data;
    await deps.runs.begin(runId, job.data);
    if ((await deps.runs.phases.startOver(runId)) !== 'planning') return;
    await (order ? planExport(deps, job, order) : plan(deps, job));
  },
  failed: async (job, reason) => {
    const { runs } = forJob(shared, job);
    await runs.begin(job.data.runId, job.data);
    await runs.phases.halt(job.data.runId, reason);
  },
});

const plan = async (deps: RunDeps, job: JobContext<'run'>): Promise<void> => {
  const { runId, manifest, manifestPath } = job.data;
  await deps.ledger.remember(job.data, manifestPath);
  await job.step(
    { name: 'plan', on: manifest },
    (signal) => {
      deps.started(job.data);
      return planRun(deps, job, signal);
    },
    ({ datasets, resources, settled }) =>
      `${plural(datasets, 'dataset')} with work, ${plural(resources, 'resource')} with work, ${plural(settled, 'item')} unchanged`,
  );
  const remarks = await deps.runs.remarks(runId);
  if (remarks.length > 0) await job.note(`differs from the source: ${remarks.join('; ')}`);
};

interface Planning extends Pick<JobContext, 'writer' | 'note'> {
  deps: RunDeps;
  request: RunData;
  signal: AbortSignal;
  gathered: Gathered;
  /** The stored plan that the run must do, and the keys that it acts on; null for none. */
  pins: (PlanFile & { keys: ReadonlySet<string> }) | null;
  /** True for a run on some items only. */
  isLimited: boolean;
}

/** Plans and stores the work of a run page by page, and records what is renamed or missing. @throws HeldError by the guard */
const planRun = async (deps: RunDeps, job: JobContext<'run'>, signal: AbortSignal): Promise<PlannedCounts> => {
  const { data: request, writer, note } = job;
  if (request.remove) return planRemoval(deps, request, request.remove, signal);
  const gathered = await deps.gather(request, signal);
  try {
    const stored = request.plan === null ? null : await deps.plans.read(request.plan);
    const acted = stored?.items.filter(({ actions }) => actions.length > 0).map(({ key }) => key);
    const pins = stored && { ...stored, keys: new Set(acted) };
    const isLimited = request.only !== null || gathered.isDrop;
    return await planGathered({ deps, request, writer, note, signal, gathered, pins, isLimited });
  } finally {
    await gathered.wishes.close();
  }
};

const planGathered = async (planning: Planning): Promise<PlannedCounts> => {
  const { deps, request, signal, gathered, pins, isLimited } = planning;
  const { ledger, runs } = deps;
  const mayRefresh = !isLimited && !pins;
  const isAsked = request.refresh || request.createMissing;
  const afterMs = deps.settings.refreshAfterMs(request.portal);
  const refresh = mayRefresh && (isAsked || isStale(await ledger.refreshedAt(request), afterMs));
  await deps.deadlines.expect(expectationsOf(request, gathered.manifest.expectMs), Date.now());
  const first = await writePages(planning, refresh);
  await passGuard(planning, first.plan);
  // A portal that has forgotten some nodes is compared as a whole.
  const hasGone = first.hasWork && (await refuseOtherPortal(deps, request, first.plan.index, signal));
  const isRepeated = hasGone && mayRefresh && !refresh;
  if (isRepeated) await runs.phases.startOver(request.runId);
  const { plan, writer } = isRepeated ? await writePages(planning, true) : first;
  if (isRepeated) await passGuard(planning, plan);
  const { renames, newlyMissing, returned } = plan.missing;
  for (const { from, to } of renames) await ledger.rename(request.portal, from, to);
  const now = Date.now();
  await ledger.putAll(request.portal, [
    ...newlyMissing.map((entry) => ({ ...entry, missingSince: now })),
    ...returned.map((entry) => ({ ...entry, missingSince: null })),
  ]);
  // Not before: what is held changes nothing of what is expected.
  for (const page of first.expected) await deps.deadlines.expect(page, now);
  if (request.only === null && !pins) await forgetSpent(planning, plan);
  if (refresh || isRepeated || plan.index.size === 0) await ledger.refreshed(request, now);
  return writer.end(request.only === null ? [...gathered.remarks, ...plan.remarks] : [], gathered.manifest.priority);
};

/** Forgets what is neither on the portal nor named: what never was there at once, what was deleted once its runs are forgotten. */
const forgetSpent = async (planning: Planning, { index, missing }: TargetPlan): Promise<void> => {
  const { deps, request, gathered, isLimited, signal, note } = planning;
  const { ledger, settings, runs, deadlines } = deps;
  const named = gathered.wishes.keys;
  const isWhole = !isLimited && missing.unproven === null && gathered.skipped.length === 0;
  const owners = ownersOf(index.values());
  const isSpent = (entry: IndexedEntry): boolean => {
    if (named.has(entry.key) || mayHaveNode(entry, owners)) return false;
    return entry.removed === null ? isWhole : Date.now() - entry.syncedAt > runs.keepMs;
  };
  const known = Map.groupBy(index.values(), isSpent);
  const needed = new Set(known.get(false)?.flatMap(({ key, uuid }) => [parentKey(key), uuid]));
  const targets = (await ledger.targets()).filter(({ manifest }) => manifest === request.manifest);
  for (const { key, uuid } of known.get(true) ?? []) {
    signal.throwIfAborted();
    if (needed.has(key)) continue;
    await deadlines.expect([{ member: expectedOf.data(request.portal, key), everyMs: null }], Date.now());
    const logs = ['csv', 'json'].map((type) => join(settings.changeLogsDir, request.portal, `${uuid}.${type}`));
    const entries = await Promise.all(targets.map(({ portal }) => ledger.entry(portal, key)));
    const isElsewhere = entries.filter(Boolean).length > 1; // bad rows lie by key, for all portals
    // Under a new name an item goes on with its uuid and change log.
    const files = [...(isElsewhere ? [] : [join(settings.rejectsDir, key)]), ...(needed.has(uuid) ? [] : logs)];
    await Promise.all(files.map((path) => rm(path, { recursive: true, force: true }))).then(
      () => ledger.forget(request, key),
      (error: unknown) => note(`${key} is not forgotten, because its files cannot be removed: ${errorMessage(error)}`),
    );
  }
};

/** Plans page by page and stores the work of each; nothing takes effect before the plan is ended. */
const writePages = async (planning: Planning, refresh: boolean) => {
  const { deps, request, gathered, pins, isLimited } = planning;
  const { manifest, wishes, isDrop } = gathered;
  const writer = deps.runs.newPlan(request.runId);
  const plan = await openTargetPlan({
    ledger: deps.ledger,
    target: request,
    wishes,
    only: request.only,
    isLimited,
    isWhole: pins !== null,
    rules: manifest,
    isReleased: request.release !== null,
    stated: gathered,
    now: Date.now(),
    ...(pins ? { isCounted: (key: string) => pins.keys.has(key) } : {}),
    observe: await observer(planning, refresh),
  });
  await writer.add(await sourceWork(deps.ledger, request, gathered));
  if (isDrop) await writer.add(await lateDrops(deps.ledger, request, gathered));
  const released = request.release === null ? null : new Set((await deps.plans.heldRun(request.release)).removals);
  const expected: Parameters<Deadlines['expect']>[0][] = [];
  let hasWork = plan.missing.removals.length > 0;
  for await (const page of plan.pages()) {
    hasWork ||= flatten(page.datasets).some(({ actions }) => actions.length > 0);
    const memberOf = (key: string): string => expectedOf.data(request.portal, key);
    expected.push(page.wishes.map(({ key, expectMs }) => ({ member: memberOf(key), everyMs: expectMs ?? null })));
    const removals = page.removals.filter(({ key }) => released?.has(key) ?? true);
    await writer.add(await pinnedWork(planning, page, removals));
  }
  return { plan, writer, hasWork, expected };
};

/** The work of a page with its released `removals`, without what a stored plan does not name. */
const pinnedWork = async (planning: Planning, page: PlannedPage, removals: Removal[]): Promise<RunWork> => {
  const { deps, request, signal, gathered, pins } = planning;
  const { createMissing, onDrift } = request;
  const how = { onDrift: onDrift ?? gathered.manifest.onDrift, createMissing, isPinned: pins !== null };
  if (!pins) return workOfPage({ ...page, removals }, { ...how, moved: new Map<string, Reason>() });
  const moved = await movedItems(deps.portal(request.portal), pins, page, signal);
  const isTodo = ({ key }: { key: string }): boolean => pins.keys.has(key) && !moved.has(key);
  const allow = <T extends PlanFileItem>(item: T): T => (isTodo(item) ? item : { ...item, actions: [], why: null });
  const datasets = page.datasets.map(
    (dataset): PlannedDataset => ({ ...allow(dataset), resources: dataset.resources.map(allow) }),
  );
  return workOfPage({ ...page, datasets, removals: removals.filter(isTodo) }, { ...how, moved });
};

/** Observes the wishes of a page, and records tables that are broken, retried, decided on, or doubted. */
const observer = async (
  { deps, request, signal, pins }: Planning,
  refresh: boolean,
): Promise<TargetPlanOptions['observe']> => {
  const isDoubted = request.refresh;
  const readsStates = isDoubted || request.why === 'retry';
  const own = deps.portal(request.portal);
  const portal = refresh || readsStates ? own : null;
  const listed = refresh ? await listNodes(own, signal) : null;
  const tooLarge = own.traits.get('tooLarge') ?? Number.POSITIVE_INFINITY;
  return async (wishes, known, leavesNew) => {
    const look = { fetcher: deps.fetcher, listed, portal, readsStates, isDoubted, leavesNew: leavesNew && !pins };
    const seen = await observe(wishes, known, look, signal);
    const entries = new Map(seen.entries);
    for (const wish of wishes.flatMap(({ resources }) => resources)) {
      const entry = entries.get(wish.key);
      if (!entry) continue;
      const { fetched } = entry;
      const isRead = isDoubted && seen.addresses?.has(wish.key) && fetched;
      const changes: Partial<LedgerEntry> = {
        // A file or table that was changed on the portal is restored by the job of its resource.
        ...seen.drift?.get(wish.key)?.broken,
        ...(isRead ? { fetched: { ...fetched, etag: null, lastModified: null } } : {}),
        ...(isRetried(entry, wish, request, tooLarge) ? { refused: null } : {}),
      };
      const found = Object.keys(changes).length > 0 ? { ...entry, ...changes } : entry;
      const learned = withDecision(found, wish, request, Date.now());
      if (learned === entry) continue;
      entries.set(wish.key, learned);
      await deps.ledger.put(request.portal, learned);
    }
    return { ...seen, entries };
  };
};

/** A file that could not be imported is retried on request, when dropped again, or once the portal's limit (bytes) is higher. */
const isRetried = ({ refused }: LedgerEntry, { source }: ResourceWish, { why }: RunData, tooLarge: number): boolean =>
  refused !== null &&
  refused.guard === undefined &&
  (why === 'retry' || (refused.bytes ?? tooLarge) < tooLarge || (source.kind === 'file' && source.claim !== undefined));

/** Holds a run beyond the limits of the guard; one that passes replaces any that was held before. */
const passGuard = async ({ deps, request, writer, gathered, isLimited }: Planning, plan: TargetPlan): Promise<void> => {
  const { runId, manifest, portal, manifestPath } = request;
  const why = request.release === null ? plan.held() : null;
  if (why !== null) {
    // An empty source never removes anything, released or not.
    const removals = gathered.wishes.length === 0 ? [] : plan.missing.removals.map(({ key }) => key);
    const since = Date.now();
    await deps.plans.hold({ runId, manifest, portal, manifestPath, removals, plan: request.plan, why, since }, writer);
    throw new HeldError(`held by the guard: ${why}`, {
      hint: `nothing was changed; check the source, then \`sluice release ${runId}\` or \`sluice discard ${runId}\``,
    });
  }
  if (!isLimited && request.release === null && request.plan === null) await deps.plans.forgetHeld(request, writer);
};

/** Plans the removal of one item on request; a dataset with all its resources. */
const planRemoval = async (
  deps: RunDeps,
  request: RunData,
  { key, how }: NonNullable<RunData['remove']>,
  signal: AbortSignal,
): Promise<PlannedCounts> => {
  const entries = await deps.ledger.entries(request);
  await refuseOtherPortal(deps, request, entries, signal);
  const owners = ownersOf(entries.values());
  const removals = [...entries.values()]
    .filter((entry) => isWithin(entry.key, key) && mayHaveNode(entry, owners))
    .map((entry) => ({ key: entry.key, kind: entry.kind, how, entry }));
  const known = { entries, sources: new Map(), sent: new Map(), listed: null };
  const page = { wishes: [], datasets: [], removals, known, order: new Map() };
  const rules = { onDrift: 'overwrite', createMissing: request.createMissing, isPinned: false } as const;
  const writer = deps.runs.newPlan(request.runId);
  await writer.add(workOfPage(page, { ...rules, moved: new Map() }));
  return writer.end([]);
};
