// An export: the run lists, plans, has one job for each dataset, then writes the files of the whole folder.
import { join } from 'node:path';
import { JobLostError, reasonOf, VerifyFailedError } from '../../model/errors.ts';
import { type Handler, itemId, type JobContext } from '../../model/job.ts';
import { datasetKey, idsOfKey, kindOfKey, resourceKey, uuidOfKey } from '../../model/key.ts';
import type { ExportOrder, ItemAction, Reason, ReportItem, StoredReport } from '../../model/report.ts';
import { filePath, type Portal } from '../../portal-client/client.ts';
import type { ReportBuilder } from '../../state/report-lines.ts';
import type { DatasetWork } from '../../state/runs.ts';
import { plural } from '../../util/plural.ts';
import { completeRecords, exportStrays } from '../export/complete.ts';
import { type ExportTools, exportDataset } from '../export/export-dataset.ts';
import { datasetsName, markFolder, readRecord, records, sizeOf, sweep } from '../export/folder.ts';
import {
  forgetListing,
  type KeptListing,
  keepListing,
  keptListing,
  listPortal,
  type PlannedFolder,
  planFolders,
} from '../export/listing.ts';
import { type ExportedPortal, findingsOf } from '../export/package.ts';
import type { DatasetRecord, ExportedNode } from '../export/record.ts';
import { type ExportTotals, totalsOf, writeSummary } from '../export/summary.ts';
import { type HandlerDeps, inNameOf } from './deps.ts';
import { workLost } from './item.ts';

/** Datasets whose jobs are added together. */
const datasetsAPage = 100;

type RunJob = JobContext<'run'>;

/** A portal as an export uses it. */
const exportTools = async (
  deps: HandlerDeps,
  { name, order, attempt }: { name: string; order: ExportOrder; attempt: number },
  signal: AbortSignal,
): Promise<ExportTools> => {
  const portal = order.isPublic ? await deps.publicPortal(name) : deps.portal(name);
  return { portal, about: aboutPortal(portal), fetcher: deps.fetcher, attempt, signal };
};

const aboutPortal = ({ name, url }: Portal): ExportedPortal => ({
  name,
  fileUrl: (uri) => {
    const path = filePath(uri);
    return path === null ? null : `${url}${path}`;
  },
});

/** Runs an export, and closes it with its report; `work` runs the jobs of the datasets. */
export const executeExport = async (
  deps: HandlerDeps,
  job: RunJob,
  { order, work }: { order: ExportOrder; work: () => Promise<void> },
): Promise<StoredReport> => {
  const { runId, portal: name } = job.data;
  const startedAt = await deps.runs.begin(runId, job.data);
  const tools = (signal: AbortSignal): Promise<ExportTools> =>
    exportTools(deps, { name, order, attempt: job.attempt }, signal);
  if (!(await deps.runs.isPlanned(runId))) {
    await job.step({ name: 'list', on: name, light: true }, async (signal) =>
      planExport(deps, job, { order, tools: await tools(signal) }),
    );
  }
  await work();
  const listing = await keptListing(order.folder, runId);
  if (!listing)
    throw new JobLostError(`what run ${runId} listed vanished from ${order.folder}`, {
      hint: 'export again, when no other export writes into that folder',
    });
  const totals = await job.step({ name: 'complete', on: order.folder, light: true }, async (signal) =>
    completeExport(deps, job, { order, listing, tools: await tools(signal) }),
  );
  const gathered = await reportItems(deps, job, order);
  const report = gathered.end({
    runId,
    manifest: job.data.manifest,
    portal: name,
    startedAt: new Date(startedAt).toISOString(),
    endedAt: new Date().toISOString(),
    reason: await faultOf(order),
    remarks: remarksOf(order, totals, listing),
    export: order,
  });
  await deps.runs.close(report);
  await forgetListing(order.folder);
  await job.note(`ended: ${JSON.stringify(report.counts)}`);
  return report;
};

const planExport = async (
  deps: HandlerDeps,
  { data }: RunJob,
  { order, tools }: { order: ExportOrder; tools: ExportTools },
): Promise<void> => {
  const { runId, manifest } = data;
  await markFolder(order.folder, tools.portal.url);
  await sweep(order.folder);
  const listing = await listPortal(tools.portal, order.folder, tools.signal);
  const planned = await planFolders(order, listing);
  await keepListing(order.folder, runId, listing);
  const writer = deps.runs.newPlan(runId);
  for (let at = 0; at < planned.length; at += datasetsAPage) {
    const page = planned.slice(at, at + datasetsAPage);
    const settled: ReportItem[] = [];
    for (const { folder } of page.filter(({ why }) => why === null)) {
      const record = await readRecord(join(order.folder, datasetsName, folder));
      if (record) settled.push(...itemsOfRecord(manifest, { folder, record, about: tools.about }, 'unchanged'));
    }
    const datasets = page.flatMap((folder) => (folder.why === null ? [] : [workOf(manifest, folder)]));
    await writer.add({ datasets, resources: [], settled, claims: [] });
  }
  await writer.end([]);
};

/** A dataset to export in the shape of one to publish: only its key, number and reason are used. */
const workOf = (manifest: string, { folder, nid, title, published, why }: PlannedFolder): DatasetWork => {
  const key = datasetKey(manifest, folder);
  return {
    wish: { key, uuid: uuidOfKey(key), title, published, fields: {}, metadataFingerprint: '' },
    why: why ?? '',
    nid,
    resources: [],
    order: [],
    next: [],
    verify: false,
    frozen: false,
    refused: null,
    removal: null,
    onDrift: 'hold',
    createMissing: false,
  };
};

/** Ends a dataset that could not be exported. */
export const endFailed = async (deps: HandlerDeps, runId: string, key: string, reason: Reason): Promise<void> => {
  const record = await deps.runs.record(runId, key);
  if (record.ended) return;
  await deps.runs.keep(runId, key, { ...record, ended: datasetItem(key, null, { outcome: 'failed', reason }) });
};

/** Completes the export once all datasets are here. */
const completeExport = async (
  deps: HandlerDeps,
  job: RunJob,
  { order, listing, tools }: { order: ExportOrder; listing: KeptListing; tools: ExportTools },
): Promise<ExportTotals> => {
  const root = order.folder;
  if (order.only === null) {
    const joined = await exportStrays(tools, order, listing);
    for (const { folder, record } of joined) await reportJoined(deps, job, folder, record);
  }
  const groups = new Map(Object.entries(listing.groups));
  await completeRecords({ portal: tools.portal, about: tools.about, root, groups, signal: tools.signal });
  const totals = await totalsOf(root, tools.about);
  if (listing.unread > 0) {
    const message = `${listing.unread} nodes are in no list, and were not looked for one by one; the user may see drafts among them`;
    totals.findings.unshift({ code: 'hidden-nodes', dataset: null, resource: null, nid: null, message });
  }
  if (listing.complete !== true) {
    const message = `datasets may be missing, and none was marked as removed: ${listing.complete}`;
    totals.findings.unshift({ code: 'list-incomplete', dataset: null, resource: null, nid: null, message });
  }
  const { findings } = totals;
  await writeSummary(root, { name: job.data.portal, about: tools.about, findings });
  return totals;
};

/** A dataset that was unchanged is reported as exported where a resource joined it. */
const reportJoined = async (
  { runs }: HandlerDeps,
  { data: { runId, manifest } }: RunJob,
  folder: string,
  { node }: DatasetRecord,
): Promise<void> => {
  const key = datasetKey(manifest, folder);
  const record = await runs.record(runId, key);
  if (record.ended) return;
  await runs.keep(runId, key, {
    ...record,
    ended: datasetItem(key, node, { outcome: 'done', actions: ['exported'] }),
  });
};

/** The items of the report; of a dataset that was exported also its resources, as they are in its record. */
const reportItems = async (deps: HandlerDeps, job: RunJob, order: ExportOrder): Promise<ReportBuilder> => {
  const { runId, manifest, portal } = job.data;
  const { about } = await exportTools(deps, { name: portal, order, attempt: job.attempt }, job.signal);
  const items = await deps.runs.reported(runId);
  for await (const { folder, record } of records(order.folder)) {
    const key = datasetKey(manifest, folder);
    const { ended } = await deps.runs.record(runId, key);
    // A resource without a dataset is exported without a job.
    const isAlone = record.node === null && record.removed === null && !items.has(key);
    if (ended?.outcome !== 'done' && !isAlone) continue;
    const { jobId = null, attempts = 0, ms = 0 } = ended ?? {};
    for (const item of itemsOfRecord(manifest, { folder, record, about }, 'done')) {
      items.add(item.key === key ? { ...item, jobId, attempts, ms } : item);
    }
  }
  return items;
};

/** Verifies the folder against its records: every file is there with its size. */
const faultOf = async (order: ExportOrder): Promise<Reason | null> => {
  const missing: string[] = [];
  for await (const { folder, record } of records(order.folder)) {
    for (const { file } of record.resources) {
      const path = file && join(datasetsName, folder, file.path);
      if (path && (await sizeOf(join(order.folder, path))) !== file.bytes) missing.push(path);
    }
  }
  if (missing.length === 0) return null;
  const shown = missing.slice(0, 5).join(', ');
  return reasonOf(
    new VerifyFailedError(`${missing.length} files of the export are not as they were written: ${shown}`, {
      hint: 'another program changes the folder; export again',
    }),
  );
};

const remarksOf = (order: ExportOrder, totals: ExportTotals, { unread, complete }: KeptListing): string[] => {
  const { datasets, resources, files, bytes, removed, findings } = totals;
  const counts = `${plural(datasets, 'dataset')}, ${plural(resources, 'resource')}, ${plural(files, 'file')} of ${plural(bytes, 'byte')}`;
  return [
    `${order.folder} holds ${counts}`,
    ...(removed > 0 ? [`${removed} datasets and resources are marked as removed from the portal, and kept`] : []),
    ...(findings.length > 0 ? [`${plural(findings.length, 'finding')}: see findings.json`] : []),
    ...(complete === true ? [] : [`datasets may be missing, and none was marked as removed: ${complete}`]),
    ...(unread > 0 ? [`${plural(unread, 'node')} that no list shows ${unread === 1 ? 'was' : 'were'} not read`] : []),
  ];
};

/** Exports a dataset and ends its item; those of its resources are made of its record when the run closes. */
export const exportHandler = (shared: HandlerDeps, order: ExportOrder): Handler<'dataset'> => ({
  run: async (job) => {
    const deps = inNameOf(shared, job);
    const { runId, key } = job.data;
    if ((await deps.runs.record(runId, key)).ended) return;
    const poison = job.poisonOf(key);
    if (poison) throw poison;
    await exportItem(deps, job, order);
  },
  failed: async (job, reason) => {
    await job.item(job.data.key).note(`failed for good: ${reason.code}: ${reason.message}`);
    await endFailed(inNameOf(shared, job), job.data.runId, job.data.key, reason);
  },
});

const exportItem = async (deps: HandlerDeps, job: JobContext<'dataset'>, order: ExportOrder): Promise<void> => {
  const { runId, key, portal: name } = job.data;
  const planned = await deps.runs.datasetWork(runId, key);
  if (!planned) throw workLost(runId, key);
  const folder = idsOfKey(key).dataset;
  const began = performance.now();
  const item = job.item(key);
  const exported = await item.step(
    { name: 'export', on: folder, light: true },
    async (signal) =>
      exportDataset(await exportTools(deps, { name, order, attempt: job.attempt }, signal), {
        order,
        folder,
        nid: planned.nid,
        more: [],
      }),
    (done) => (done ? `${done.record.resources.length} resources` : 'gone meanwhile'),
  );
  for (const path of exported?.replaced ?? []) await item.note(`${path} was replaced by another file`);
  const { attempts, actions } = await deps.runs.record(runId, key);
  const ended = {
    ...datasetItem(key, exported?.record.node ?? null, { outcome: 'done', actions: ['exported'] }),
    jobId: itemId(runId, key),
    attempts: job.attempt,
    ms: Math.round(performance.now() - began),
  };
  await deps.runs.keep(runId, key, { actions, attempts, unproven: null, ms: ended.ms, ended });
  item.end();
};

/** How an item ended. */
interface Ended {
  outcome: 'done' | 'unchanged' | 'failed';
  actions?: ItemAction[];
  warnings?: string[];
  reason?: Reason | null;
  file?: ReportItem['file'];
  rows?: number | null;
}

/** The item of a dataset or resource; `node` is null for one that could not be read. */
const datasetItem = (key: string, node: ExportedNode | null, ended: Ended): ReportItem => ({
  key,
  kind: kindOfKey(key),
  nid: node?.nid ?? null,
  uuid: String(node?.uuid ?? ''),
  url: typeof node?.path === 'string' ? node.path : null,
  actions: ended.actions ?? [],
  outcome: ended.outcome,
  live: ended.outcome !== 'failed' && node !== null && String(node.status) === '1',
  stale: false,
  rows: ended.rows ?? null,
  file: ended.file ?? null,
  rejected: null,
  mended: [],
  warnings: ended.warnings ?? [],
  reason: ended.reason ?? null,
  jobId: null,
  attempts: 0,
  ms: 0,
});

/** The items of a dataset and its resources as they were exported. */
const itemsOfRecord = (
  manifest: string,
  { folder, record, about }: { folder: string; record: DatasetRecord; about: ExportedPortal },
  outcome: 'done' | 'unchanged',
): ReportItem[] => {
  const findings = findingsOf(record, about);
  const warningsOf = (name: string | null): string[] =>
    findings.flatMap(({ resource, message }) => (resource === name ? [message] : []));
  const did: ItemAction = record.removed === null ? 'exported' : 'marked as removed';
  const actions = outcome === 'done' ? [did] : [];
  return [
    datasetItem(datasetKey(manifest, folder), record.node, { outcome, actions, warnings: warningsOf(null) }),
    ...record.resources.map(({ name, node, file, table }) =>
      datasetItem(resourceKey(manifest, folder, name), node, {
        outcome,
        actions,
        warnings: warningsOf(name),
        rows: table?.rows ?? null,
        file: file && { name: file.name, bytes: file.bytes, sha256: file.sha256 },
      }),
    ),
  ];
};
