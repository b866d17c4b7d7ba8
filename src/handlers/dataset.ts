// Job kind `dataset`: publish the dataset's node, then one job for each resource with work to do.
import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { JobLostError, PortalGoneError, reasonOf } from '../errors.ts';
import { type ChildOutcome, freshItem, type Handler, type JobContext, jobId, type ResourceData } from '../job.ts';
import { type LedgerEntry, newEntry } from '../ledger/entry.ts';
import type { KnownItem } from '../ledger/ledger.ts';
import type { DatasetWork } from '../ledger/runs.ts';
import { type Reason, type ReportItem, reportItemSchema } from '../report.ts';
import { type HandlerDeps, inNameOf } from './deps.ts';
import { noteFound } from './found.ts';
import { failedEntry, itemOfEntry, itemOfJob, outcomeOf } from './items.ts';
import { asTaken, type NodeWish } from './node-wish.ts';
import { type NodeTarget, proveNode, recreateNode, writeNode } from './node-write.ts';
import { removeNode } from './removal.ts';

/** Returns the report items of the dataset and of its resources. */
export const datasetHandler = (shared: HandlerDeps): Handler<'dataset'> => ({
  run: async (job) => {
    const deps = inNameOf(shared, job);
    const [work, known] = await Promise.all([workOf(deps, job), deps.ledger.known(job.data.portal, job.data.key)]);
    if (work.removal) return removeDataset(deps, job, work, work.removal);
    if (work.frozen) return onlyResources(deps, job, work);
    const entry = await publishDataset(deps, job, work, known);
    // A node created anew: all its resources point to one that is gone.
    const isMoved = work.nid !== null && work.nid !== entry.nid;
    const unchanged = isMoved ? [] : work.unchanged;
    const keys = isMoved ? [...work.resources, ...work.unchanged.map(({ key }) => key)] : work.resources;
    // Its resources count for themselves. Begun again after them, it has been counted with what this run has proven.
    if (entry !== known.entry || entry.runId !== job.data.runId) {
      await deps.runs.outcome(job.data.runId, job.data.key, 'done');
    }
    const outcomes = await job.children('resource', resourceJobs(job, keys, entry.nid ?? ''));
    const items: ReportItem[] = [
      itemOfJob(job, entry, { outcome: job.data.actions.length > 0 ? 'done' : 'unchanged', reason: null }),
      ...unchanged,
    ];
    for (const [key, outcome] of outcomes) items.push(await resourceItem(deps, job, key, outcome));
    return items;
  },
  failed: async (job, reason) => {
    const deps = inNameOf(shared, job);
    const known = (await deps.ledger.entry(job.data.portal, job.data.key)) ?? (await unknownEntry(deps, job));
    await deps.ledger.put(job.data.portal, failedEntry(known, reason, job.data.runId));
    await deps.runs.outcome(job.data.runId, job.data.key, outcomeOf(reason));
  },
});

const workOf = async (deps: HandlerDeps, job: JobContext<'dataset'>): Promise<DatasetWork> => {
  const work = await deps.runs.datasetWork(job.data.runId, job.data.key);
  if (work) return work;
  throw new JobLostError(`run ${job.data.runId} holds no work on ${job.data.key} any more`, { hint: 'publish again' });
};

const unknownEntry = async (deps: HandlerDeps, job: JobContext<'dataset'>): Promise<LedgerEntry> => {
  const { wish } = await workOf(deps, job);
  return newEntry({ key: wish.key, kind: 'dataset', uuid: wish.uuid, title: wish.title });
};

/** The node stays as it is, whatever is wished now: a stored plan, or a removal below it, says nothing of it. */
const onlyResources = async (
  deps: HandlerDeps,
  job: JobContext<'dataset'>,
  work: DatasetWork,
): Promise<ReportItem[]> => {
  const entry = (await deps.ledger.entry(job.data.portal, job.data.key)) ?? (await unknownEntry(deps, job));
  const outcomes = await job.children('resource', resourceJobs(job, work.resources, entry.nid ?? ''));
  await deps.runs.outcome(job.data.runId, job.data.key, work.refused ? 'held' : 'done');
  const items: ReportItem[] = [
    itemOfEntry(entry, { outcome: work.refused ? 'held' : 'unchanged', reason: work.refused }),
    ...work.unchanged,
  ];
  for (const [key, outcome] of outcomes) items.push(await resourceItem(deps, job, key, outcome));
  return items;
};

/** Takes the resources down first, then the dataset. */
const removeDataset = async (
  deps: HandlerDeps,
  job: JobContext<'dataset'>,
  work: DatasetWork,
  how: NonNullable<DatasetWork['removal']>,
): Promise<ReportItem[]> => {
  const { portal } = job.data;
  const outcomes = await job.children('resource', resourceJobs(job, work.resources, work.nid ?? ''));
  const items: ReportItem[] = [];
  for (const [key, outcome] of outcomes) items.push(await resourceItem(deps, job, key, outcome));
  const known = (await deps.ledger.entry(portal, job.data.key)) ?? (await unknownEntry(deps, job));
  const target = { job, ledger: deps.ledger, portal: deps.portal(portal), onDrift: work.onDrift };
  const entry = await removeNode(target, known, how);
  await deps.runs.outcome(job.data.runId, job.data.key, 'done');
  return [itemOfJob(job, entry, { outcome: 'done', reason: null }), ...items];
};

/** Writes the node where needed, proves it by reading it back, and records that. */
const publishDataset = async (
  deps: HandlerDeps,
  job: JobContext<'dataset'>,
  { wish, verify, onDrift, next }: DatasetWork,
  { entry: known, intent }: KnownItem,
): Promise<LedgerEntry> => {
  const portal = deps.portal(job.data.portal);
  const whole: NodeWish = { ...wish, type: 'dataset', fingerprint: wish.metadataFingerprint };
  await noteFound(job, known, intent);
  const before = known ?? newEntry({ ...wish, kind: 'dataset' });
  // Begun again after its children: what this run has proven it need not prove twice.
  const isToProve = verify && before.runId !== job.data.runId;
  if (isProven(before, whole) && !intent && !isToProve) return before;
  const begun = performance.now();
  const { wish: node, leftOut } = wish.optional
    ? asTaken(whole, await portal.dialectInUse(job.signal))
    : { wish: whole, leftOut: [] };
  if (leftOut.length > 0)
    await job.note(`left out, because the portal's form does not take them: ${leftOut.join(', ')}`);
  const target = { job, ledger: deps.ledger, portal, onDrift, next };
  let entry = await writeNode(target, node, before, intent);
  entry = await job.step(
    { name: 'verify', light: true, on: `dataset node ${entry.nid}` },
    async (signal) => {
      try {
        return await prove(target, node, entry, signal);
      } catch (error) {
        if (!(error instanceof PortalGoneError)) throw error;
        return prove(target, node, await recreateNode(target, node, entry), signal);
      }
    },
    () => 'as wished',
  );
  await job.save({ workedMs: job.data.workedMs + Math.round(performance.now() - begun) });
  return entry;
};

const isProven = (entry: LedgerEntry, node: NodeWish): boolean =>
  entry.nid !== null && entry.live && entry.metadataFingerprint === node.fingerprint;

const prove = async (
  target: NodeTarget,
  node: NodeWish,
  before: LedgerEntry,
  signal: AbortSignal,
): Promise<LedgerEntry> => {
  const { job, ledger } = target;
  const { entry, node: read } = await proveNode(target, node, before, signal);
  const proven: LedgerEntry = {
    ...entry,
    vid: read.vid,
    url: read.path ?? null,
    metadataFingerprint: node.fingerprint,
    live: node.published,
    stale: false,
    reason: null,
    runId: job.data.runId,
    syncedAt: Date.now(),
  };
  await ledger.put(job.data.portal, proven);
  return proven;
};

const resourceJobs = (job: JobContext<'dataset'>, keys: string[], datasetNid: string): ResourceData[] =>
  keys.map((key) => ({
    kind: 'resource',
    runId: job.data.runId,
    manifest: job.data.manifest,
    portal: job.data.portal,
    key,
    ...freshItem,
    datasetKey: job.data.key,
    datasetNid,
  }));

const resourceItem = async (
  deps: HandlerDeps,
  job: JobContext<'dataset'>,
  key: string,
  outcome: ChildOutcome,
): Promise<ReportItem> => {
  if (outcome.state === 'completed') return reportItemSchema.parse(outcome.value);
  const reason: Reason =
    outcome.state === 'failed'
      ? outcome.reason
      : reasonOf(new JobLostError(`the job of ${key} vanished from the queue`, { hint: 'publish again' }));
  const known = await deps.ledger.entry(job.data.portal, key);
  const work = known ? null : await deps.runs.resourceWork(job.data.runId, key);
  const entry =
    known ?? newEntry({ key, kind: 'resource', uuid: work?.wish.uuid ?? '', title: work?.wish.title ?? key });
  const item = itemOfEntry(entry, { outcome: outcomeOf(reason), reason });
  if (outcome.state === 'lost') return item;
  const told = toldSchema.safeParse(outcome.data);
  return told.success
    ? {
        ...item,
        actions: told.data.actions,
        ms: told.data.workedMs,
        attempts: outcome.attempts,
        jobId: jobId(job.data.runId, 'resource', key),
      }
    : item;
};

const toldSchema = z.object({ actions: reportItemSchema.shape.actions, workedMs: z.number().int() });
