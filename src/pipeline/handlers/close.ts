// Job kind `close`: ends what is open of a run that ends early, then makes its report, settles its dropped files, and tells.
import { reasonOf } from '../../model/errors.ts';
import type { Handler, JobContext, RunData, RunRequest } from '../../model/job.ts';
import { kindOfKey, parentKey } from '../../model/key.ts';
import { fatesText, outcomeOf } from '../../model/ledger-entry.ts';
import type { Reason, StoredReport } from '../../model/report.ts';
import { ReportBuilder, summaryOf } from '../../state/report-lines.ts';
import type { SettledClaim } from '../../state/run-work.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { plural } from '../../util/plural.ts';
import { forgetListing } from '../export/listing.ts';
import { type ExportDeps, forJob } from './deps.ts';
import { endExport, exportReport } from './export.ts';
import { failedEntry, itemOfEntry, knownEntry } from './item.ts';

interface CloseDeps extends ExportDeps {
  /** Takes the jobs of a run out of the queue, and waits for those that a worker has. */
  takeOut(runId: string, signal: AbortSignal): Promise<void>;
  /** Leaves the dropped files of a run that was cancelled before it was planned to runs on request. */
  leaveDrops(run: RunRequest, reason: Reason): Promise<void>;
  /** Moves dropped files where a closed run puts them; idempotent. */
  settleDrops(run: RunRequest, claims: SettledClaim[]): Promise<void>;
  /** What follows a report that is stored, in order; each may be called again after a kill. */
  onRunClosed: ((report: StoredReport, run: RunData) => Promise<void>)[];
}

/** Returns the counts of the report; the report itself is kept with the run's record. */
export const closeHandler = (shared: CloseDeps): Handler<'close'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    return close(deps, job, await deps.runs.reason(job.data.runId));
  },
  failed: async (job, reason) => {
    // Files that cannot be moved now stay where they are; the next run takes them.
    const settleDrops: CloseDeps['settleDrops'] = (run, claims) =>
      shared
        .settleDrops(run, claims)
        .catch((error: unknown) => job.note(`dropped files were not settled: ${reasonOf(error).message}`));
    const deps = { ...forJob(shared, job), settleDrops };
    await close(deps, job, (await deps.runs.reason(job.data.runId)) ?? reason);
  },
});

const close = async (deps: CloseDeps, job: JobContext<'close'>, reason: Reason | null) => {
  const { runId, export: order } = job.data;
  if ((await deps.runs.phases.phase(runId)) === 'closed') return null;
  const report = (await deps.runs.report(runId)) ?? (await makeReport(deps, job, reason));
  if (order) await forgetListing(order.folder);
  for (const follow of deps.onRunClosed) await follow(report, { ...job.data, kind: 'run' });
  await deps.runs.drop(runId);
  return report.counts;
};

/** Makes the report of a run and stores it: from then on the run counts as closed. */
const makeReport = async (deps: CloseDeps, job: JobContext<'close'>, reason: Reason | null): Promise<StoredReport> => {
  const { runId, manifest, portal, export: order } = job.data;
  const { runs } = deps;
  const startedAt = await runs.begin(runId, job.data);
  const isPlanned = await runs.isPlanned(runId);
  if (reason) await endOpen(deps, job, reason);
  if (reason?.code === 'cancelled' && !isPlanned && !order && job.data.only === null)
    await deps.leaveDrops(job.data, reason);
  const reported = async () => ({
    items: isPlanned ? await runs.reported(runId) : new ReportBuilder(),
    reason,
    remarks: await runs.remarks(runId),
  });
  const { items, remarks, ...end } = await (order && !reason ? exportReport(deps, job, order) : reported());
  const iso = (ms: number): string => new Date(ms).toISOString();
  const head = { runId, manifest, portal, startedAt: iso(startedAt), endedAt: iso(Date.now()), ...end };
  const { actions } = items.counts;
  const added = `${plural(actions.created ?? 0, 'item')} had been added to the portal by then: the next publish completes them, \`sluice remove\` takes them away`;
  const told = reason?.code === 'cancelled' && actions.created ? [...remarks, added] : remarks;
  const report = items.end({ ...head, ...(told.length > 0 && { remarks: told }), ...(order && { export: order }) });
  await settleDrops(deps, job, report);
  await runs.close(report);
  await job.note(`ended: ${fatesText(summaryOf(report)) || (reason ? outcomeOf(reason) : 'nothing to do')}`);
  return report;
};

/** Ends everything that is open with the reason; jobs of the run leave the queue first, running ones after their step. */
const endOpen = async (deps: CloseDeps, job: JobContext<'close'>, reason: Reason): Promise<void> => {
  const { runId, manifest, export: order } = job.data;
  const { phases } = deps.runs;
  const name = reason.code === 'cancelled' ? 'cancel' : 'end';
  await job.step({ name, on: manifest }, (signal) => deps.takeOut(runId, signal));
  if (!(await deps.runs.isPlanned(runId))) return; // what is open is a part of a plan that was never ended
  for (;;) {
    const open = await phases.open(runId, 0, 500);
    if (open.length === 0) return;
    await eachAtOnce(open, 50, async ({ key }) => {
      await (order ? endExport(deps.runs, runId, key, reason) : endItems(deps, job, key, reason));
      await deps.runs.leave(runId, key);
    });
  }
};

/** Ends the items of a dataset, or a table to prove, unless they have ended. */
const endItems = async (deps: CloseDeps, job: JobContext<'close'>, key: string, reason: Reason): Promise<void> => {
  const { portal, runId } = job.data;
  const work = kindOfKey(key) === 'dataset' ? await deps.runs.datasetWork(runId, key) : null;
  for (const each of [key, ...(work?.resources ?? [])]) {
    const { ended, begun } = await deps.runs.item(runId, each);
    if (ended) continue;
    const { actions, attempts, ms } = begun;
    const entry = failedEntry(await knownEntry(deps, job.data, each), reason, { runId, actions });
    await deps.ledger.put(portal, entry);
    const item = itemOfEntry(entry, { outcome: outcomeOf(reason), reason });
    await deps.runs.end(runId, { ...item, actions, attempts, ms });
  }
};

const settleDrops = async (deps: CloseDeps, job: JobContext<'close'>, report: StoredReport): Promise<void> => {
  const drops = await deps.runs.drops(job.data.runId);
  if (!drops) return;
  const { claims, dropped } = drops;
  const reasons = new Map<string, Reason>(); // of the datasets, which come before their resources
  for (const { key, kind, reason, fixes } of dropped.size > 0 ? report.items : []) {
    if (kind === 'dataset' && reason) reasons.set(key, reason);
    const claim = dropped.get(key);
    if (claim === undefined) continue;
    // For an item that was not tried, the reason of its dataset decides where the file goes.
    const own = reason?.code === 'dataset-failed' ? (reasons.get(parentKey(key)) ?? reason) : reason;
    claims.push({ claim, reason: own, ...(fixes.length > 0 ? { fixes } : {}) });
  }
  if (claims.length > 0) await deps.settleDrops(job.data, claims);
};
