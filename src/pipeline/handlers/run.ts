// Job kind `run`: gather, plan, one job for each dataset with work to do, settle, report.
import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledError, JobLostError, JobsStuckError, reasonOf } from '../../model/errors.ts';
import {
  type ChildOutcome,
  cancelledHint,
  childId,
  type DatasetData,
  type Handler,
  type JobContext,
  type ProveData,
} from '../../model/job.ts';
import { kindOfKey, parentKey } from '../../model/key.ts';
import type { Reason, StoredReport } from '../../model/report.ts';
import type { ChildKind, Planned, PlannedCounts } from '../../state/runs.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { type HandlerDeps, inNameOf } from './deps.ts';
import { endFailed, executeExport } from './export-run.ts';
import { failedEntry, itemOfEntry, knownEntry, outcomeOf } from './item.ts';
import { tablesAJob } from './prove.ts';
import { planRun } from './run-plan.ts';

/** Jobs in a page that prove tables. */
const proofsAPage = 100;

/** Returns the counts of the report; the report itself is kept with the run's record. */
export const runHandler = (deps: HandlerDeps): Handler<'run'> => ({
  run: async (job) => execute(inNameOf(deps, job), job),
  failed: async (job, reason) => {
    const { runId } = job.data;
    const startedAt = await deps.runs.begin(runId, job.data);
    const known = await deps.runs.report(runId);
    const report = known ?? (await reportOf(deps, job, { startedAt, reason }));
    if (!known) await deps.runs.close(report);
    const planned = await deps.runs.planned(runId);
    if (planned) {
      // Files that cannot be moved now stay where they are; the next run takes them.
      await settleDrops(deps, job, report, planned).catch((error: unknown) =>
        job.note(`dropped files were not settled: ${reasonOf(error).message}`),
      );
    }
    await closeRun(deps, job, report);
  },
});

const execute = async (deps: HandlerDeps, job: JobContext<'run'>): Promise<StoredReport['counts']> => {
  const { runId } = job.data;
  const known = await deps.runs.report(runId);
  const report = known ?? (await ((await deps.isCancelled(runId)) ? cancel : work)(deps, job));
  if (job.data.release !== null && report.reason?.code !== 'cancelled') await deps.plans.dropHeld(job.data.release);
  await closeRun(deps, job, report);
  return report.counts;
};

const work = async (deps: HandlerDeps, job: JobContext<'run'>): Promise<StoredReport> => {
  const { halt, export: order } = job.data;
  if (halt) throw new JobsStuckError(halt.message, halt.hint === null ? {} : { hint: halt.hint });
  if (!order) return publish(deps, job);
  return executeExport(deps, job, {
    order,
    work: () => workThrough(deps, job, 'datasets', datasetJobs(deps, job)),
  });
};

const publish = async (deps: HandlerDeps, job: JobContext<'run'>): Promise<StoredReport> => {
  const { runId } = job.data;
  const startedAt = await deps.runs.begin(runId, job.data);
  await deps.ledger.remember(job.data, job.data.manifestPath);
  const isFirst = !(await deps.runs.isPlanned(runId));
  const counts = isFirst ? await plan(deps, job) : null;
  // Most runs of a schedule find nothing to do.
  if (counts?.datasets !== 0) {
    await workThrough(deps, job, 'datasets', datasetJobs(deps, job));
    const proofs = await proveJobs(deps, job);
    await workThrough(deps, job, 'proofs', proofs);
  }
  const planned = await deps.runs.planned(runId);
  if (!planned) throw new JobLostError(`the plan of run ${runId} vanished`, { hint: lostHint });
  return end(deps, job, { startedAt, planned, reason: null });
};

const lostHint = 'publish again; if it happens again, Redis evicts keys: set its `maxmemory-policy` to `noeviction`';

/** Plans a run, in a step of its own. */
const plan = async (deps: HandlerDeps, job: JobContext<'run'>): Promise<PlannedCounts> => {
  const counts = await job.step(
    { name: 'plan', on: job.data.manifest },
    (signal) => {
      deps.started(job.data);
      return planRun(deps, job.data, signal);
    },
    ({ datasets, resources, settled }) =>
      `${datasets} datasets with work, ${resources} resources with work, ${settled} items unchanged`,
  );
  const remarks = await deps.runs.remarks(job.data.runId);
  if (remarks.length > 0) await job.note(`differs from the source: ${remarks.join('; ')}`);
  return counts;
};

/** Makes the report of a run whose items have ended, and stores it. */
const end = async (
  deps: HandlerDeps,
  job: JobContext<'run'>,
  { startedAt, planned, reason }: { startedAt: number; planned: Planned | null; reason: Reason | null },
): Promise<StoredReport> => {
  const { remarks = [] } = planned ?? {};
  const report = await reportOf(deps, job, { startedAt, reason, ...(remarks.length > 0 ? { remarks } : {}) });
  if (planned) await settleDrops(deps, job, report, planned);
  await deps.runs.close(report);
  await job.note(`ended: ${JSON.stringify(report.counts)}`);
  return report;
};

/** Items of a cancelled run that are ended at once. */
const endedAtOnce = 50;

/** Ends a cancelled run: its jobs leave the queue, running ones after their step, and open items are reported as cancelled. */
const cancel = async (deps: HandlerDeps, job: JobContext<'run'>): Promise<StoredReport> => {
  const { runId, manifest } = job.data;
  const startedAt = await deps.runs.begin(runId, job.data);
  const reason = reasonOf(new CancelledError(`run ${runId} was cancelled`, { hint: cancelledHint(job.data) }));
  const planned = await deps.runs.planned(runId);
  if (planned) {
    const proofs = await proveJobs(deps, job);
    await job.step({ name: 'cancel', on: manifest }, async (signal) => {
      const isWorked = (): Promise<boolean> => removeJobs(deps, job, proofs);
      while (await isWorked()) await sleep(workedMs, undefined, { signal });
    });
    await eachAtOnce(planned.datasets, endedAtOnce, (key) => endItems(deps, job, key, reason));
  } else if (job.data.only === null) await deps.leaveDrops(job.data, reason);
  return end(deps, job, { startedAt, planned, reason });
};

/** How often running jobs are checked, milliseconds. */
const workedMs = 100;

/** Removes the jobs of open pages and of the last settled one; true while workers have some of them. */
const removeJobs = async (deps: HandlerDeps, job: JobContext<'run'>, proofs: JobPages): Promise<boolean> => {
  const datasets = await closePages(deps, job, 'datasets', datasetJobs(deps, job));
  return (await closePages(deps, job, 'proofs', proofs)) + datasets > 0;
};

/** Runs the jobs of a kind page by page. */
const workThrough = async (
  deps: HandlerDeps,
  job: JobContext<'run'>,
  kind: ChildKind,
  page: JobPages,
): Promise<void> => {
  const { runId } = job.data;
  const { runs } = deps;
  await job.pages({
    settled: await runs.settledPages(runId, kind),
    priority: await runs.priority(runId),
    page,
    settle: async (index, outcomes) => {
      await endLost(deps, job, outcomes);
      await runs.settlePages(runId, kind, index + 1);
    },
    waits: (hasMore) => runs.waits(runId, hasMore),
  });
};

/** Removes the jobs of pages that are still in the queue; returns how many stay because a worker has them. */
const closePages = async (
  deps: HandlerDeps,
  { data: { runId, portal } }: JobContext<'run'>,
  kind: ChildKind,
  page: JobPages,
): Promise<number> => {
  let kept = 0;
  for (let index = Math.max(0, (await deps.runs.settledPages(runId, kind)) - 1); ; index++) {
    const children = await page(index);
    if (!children) return kept;
    kept += await deps.closeJobs(portal, children.map(childId));
  }
};

/** The jobs of a page, by its index; null after the last one. */
type JobPages = (index: number) => Promise<(DatasetData | ProveData)[] | null>;

/** The jobs of the plan. */
const datasetJobs = ({ runs }: HandlerDeps, { data }: JobContext<'run'>): JobPages => {
  const { runId, manifest, portal, export: order } = data;
  const more = order ? { export: order } : {};
  return async (index) => {
    const keys = await runs.plannedPage(runId, index);
    return keys?.map((key) => ({ kind: 'dataset', runId, manifest, portal, key, ...more })) ?? null;
  };
};

/** All jobs that prove tables. */
const proveJobs = async ({ runs }: HandlerDeps, { data }: JobContext<'run'>): Promise<JobPages> => {
  const { runId, manifest, portal } = data;
  const jobs = (await runs.proofs(runId, tablesAJob)).flatMap((keys): ProveData[] => {
    const [key] = keys;
    return key === undefined ? [] : [{ kind: 'prove', runId, manifest, portal, key, keys }];
  });
  return async (index) => {
    const page = jobs.slice(index * proofsAPage, (index + 1) * proofsAPage);
    return page.length > 0 ? page : null;
  };
};

const reportOf = async (
  { runs }: HandlerDeps,
  { data: { runId, manifest, portal, export: order } }: JobContext<'run'>,
  { startedAt, ...rest }: Pick<StoredReport, 'reason' | 'remarks'> & { startedAt: number },
): Promise<StoredReport> => {
  const items = await runs.reported(runId);
  const iso = (ms: number): string => new Date(ms).toISOString();
  const asked = order ? { export: order } : {};
  return items.end({ runId, manifest, portal, startedAt: iso(startedAt), endedAt: iso(Date.now()), ...asked, ...rest });
};

/** Ends the items of jobs that did not: their records were lost, or the queue failed them. */
const endLost = async (
  deps: HandlerDeps,
  job: JobContext<'run'>,
  outcomes: ReadonlyMap<string, ChildOutcome>,
): Promise<void> => {
  for (const [key, outcome] of outcomes) {
    if (outcome.state === 'completed') continue;
    const reason: Reason =
      outcome.state === 'failed'
        ? outcome.reason
        : reasonOf(new JobLostError(`the job of ${key} vanished from the queue`, { hint: lostHint }));
    await endItems(deps, job, key, reason, { keepsUnproven: kindOfKey(key) === 'dataset' });
  }
};

/** Ends the items of one job with a reason, unless they have ended, or with `keepsUnproven` only wait for their proof. */
const endItems = async (
  deps: HandlerDeps,
  job: JobContext<'run'>,
  key: string,
  reason: Reason,
  { keepsUnproven = false } = {},
): Promise<void> => {
  if (job.data.export) return endFailed(deps, job.data.runId, key, reason);
  const { portal, runId } = job.data;
  const isProof = kindOfKey(key) === 'resource';
  const work = isProof ? null : await deps.runs.datasetWork(runId, key);
  const keys = isProof
    ? ((await deps.runs.proofs(runId, tablesAJob)).find(([first]) => first === key) ?? [key])
    : [key, ...(work?.resources ?? [])];
  for (const each of keys) {
    const record = await deps.runs.record(runId, each);
    if (record.ended || (keepsUnproven && record.unproven)) continue;
    const entry = failedEntry(await knownEntry(deps, job.data, each), reason, runId);
    await deps.ledger.put(portal, entry);
    await deps.runs.keep(runId, each, {
      ...record,
      ended: itemOfEntry(entry, { outcome: outcomeOf(reason), reason }),
    });
  }
};

/** Reports the outcome of dropped files to the inbox. */
const settleDrops = async (
  deps: HandlerDeps,
  job: JobContext<'run'>,
  report: StoredReport,
  planned: Pick<Planned, 'claims' | 'dropped'>,
): Promise<void> => {
  const claims = [...planned.claims];
  const dropped = new Map(Object.entries(planned.dropped));
  const reasons = new Map<string, Reason>(); // of the datasets, which come before their resources
  for (const { key, kind, reason, mended } of dropped.size > 0 ? report.items : []) {
    if (kind === 'dataset' && reason) reasons.set(key, reason);
    const claim = dropped.get(key);
    if (claim === undefined) continue;
    // For an item that was not tried, the reason of its dataset decides where the file goes.
    const own = reason?.code === 'dataset-failed' ? (reasons.get(parentKey(key)) ?? reason) : reason;
    claims.push({ claim, reason: own, ...(mended.length > 0 ? { mended } : {}) });
  }
  if (claims.length > 0) await deps.settleDrops(job.data, claims);
};

/** Sends notices, removes the jobs, drops the run's work, opens the gate; every part may be repeated after a kill. */
const closeRun = async (deps: HandlerDeps, job: JobContext<'run'>, report: StoredReport): Promise<void> => {
  const { runId } = report;
  await deps.notify(report, job.data);
  await removeJobs(deps, job, await proveJobs(deps, job));
  await deps.runs.drop(runId);
  await deps.openGate(job.data, report.runId);
};
