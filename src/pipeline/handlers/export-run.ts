// What the run of an export does: lists the portal and plans its datasets, and writes the files of the whole folder at its end.
import { join } from 'node:path';
import { JobLostError, reasonOf, VerifyFailedError } from '../../model/errors.ts';
import type { JobContext } from '../../model/job.ts';
import { datasetKey, uuidOfKey } from '../../model/key.ts';
import type { ExportOrder, Reason } from '../../model/report.ts';
import type { ReportBuilder } from '../../state/report-lines.ts';
import type { DatasetWork } from '../../state/run-work.ts';
import type { Runs } from '../../state/runs.ts';
import { plural } from '../../util/plural.ts';
import { completeRecords, exportStrays } from '../export/complete.ts';
import type { ExportTools } from '../export/fetch-file.ts';
import { datasetsName, markFolder, readRecord, records, sizeOf, sweep } from '../export/folder.ts';
import {
  forgetListing,
  keepListing,
  keptListing,
  type Listing,
  listPortal,
  type PlannedFolder,
  planFolders,
} from '../export/listing.ts';
import type { ExportedPortal } from '../export/package.ts';
import type { DatasetRecord } from '../export/record.ts';
import { type ExportTotals, totalsOf, writeSummary } from '../export/summary.ts';
import type { ExportDeps } from './deps.ts';
import { datasetItem, exportTools, itemsOfRecord } from './export-items.ts';

/** Lists the portal and plans which datasets are exported. */
export const planExport = async (deps: ExportDeps, job: JobContext<'run'>, order: ExportOrder): Promise<void> => {
  const { runId, manifest, portal: name } = job.data;
  await job.step({ name: 'list', on: name, light: true }, async (signal) => {
    const tools = await exportTools(deps, { name, order, attempt: job.attempt }, signal);
    await markFolder(order.folder, tools.portal.url);
    await sweep(order.folder);
    const listing = await listPortal(tools.portal, order.folder, tools.signal);
    const planned = await planFolders(order, listing);
    await keepListing(order.folder, runId, listing);
    const writer = deps.runs.newPlan(runId);
    for (const each of planned) {
      const datasets = each.why === null ? [] : [workOf(manifest, each)];
      const { folder } = each;
      const record = each.why === null ? await readRecord(join(order.folder, datasetsName, folder)) : null;
      const settled = record ? itemsOfRecord(manifest, { folder, record, about: tools.about }, 'unchanged') : [];
      await writer.add({ datasets, resources: [], settled, claims: [] });
    }
    await writer.end([]);
  });
};

/** A dataset to export in the shape of one to publish: only its key, number and reason are used. */
const workOf = (manifest: string, { folder, nid, title, published }: PlannedFolder): DatasetWork => {
  const key = datasetKey(manifest, folder);
  return {
    wish: { key, uuid: uuidOfKey(key), title, published, fields: {}, metadataFingerprint: '' },
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
export const endExport = async (runs: Runs, runId: string, key: string, reason: Reason): Promise<void> => {
  if ((await runs.item(runId, key)).ended) return;
  await runs.end(runId, datasetItem(key, null, { outcome: 'failed', reason }));
};

/** What an export came to, once all datasets are here and the folder is complete. */
export const exportReport = async (deps: ExportDeps, job: JobContext<'close'>, order: ExportOrder) => {
  const { runId, portal: name } = job.data;
  const toolsFor = (signal: AbortSignal): Promise<ExportTools> =>
    exportTools(deps, { name, order, attempt: job.attempt }, signal);
  const listing = await keptListing(order.folder, runId);
  if (!listing)
    throw new JobLostError(`what run ${runId} listed vanished from ${order.folder}`, {
      hint: 'export again, when no other export writes into that folder',
    });
  const totals = await job.step({ name: 'complete', on: order.folder, light: true }, async (signal) =>
    completeExport(deps, job, { order, listing, tools: await toolsFor(signal) }),
  );
  const { about } = await toolsFor(job.signal);
  const items = await reportItems(deps, job, { order, about });
  return { items, reason: await faultOf(order), remarks: remarksOf(order, totals, listing) };
};

/** Forgets what only the run of an export needed. */
export const forgetExport = ({ folder }: ExportOrder): Promise<void> => forgetListing(folder);

/** Completes the export once all datasets are here. */
const completeExport = async (
  deps: ExportDeps,
  job: JobContext<'close'>,
  { order, listing, tools }: { order: ExportOrder; listing: Listing; tools: ExportTools },
): Promise<ExportTotals> => {
  const root = order.folder;
  if (order.only === null) {
    const joined = await exportStrays(tools, order, listing);
    for (const { folder, record } of joined) await reportJoined(deps, job, folder, record);
  }
  const { portal, about, signal } = tools;
  await completeRecords({ portal, about, root, groups: listing.groups, signal });
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
  { runs }: ExportDeps,
  { data: { runId, manifest } }: JobContext<'close'>,
  folder: string,
  { node }: DatasetRecord,
): Promise<void> => {
  const key = datasetKey(manifest, folder);
  const { ended } = await runs.item(runId, key);
  if (ended && ended.outcome !== 'unchanged') return;
  await runs.end(runId, datasetItem(key, node, { outcome: 'done', actions: ['exported'] }));
};

/** The items of the report; of a dataset that was exported also its resources, as they are in its record. */
const reportItems = async (
  deps: ExportDeps,
  { data: { runId, manifest } }: JobContext<'close'>,
  { order, about }: { order: ExportOrder; about: ExportedPortal },
): Promise<ReportBuilder> => {
  const items = await deps.runs.reported(runId);
  for await (const { folder, record } of records(order.folder)) {
    const key = datasetKey(manifest, folder);
    const { ended } = await deps.runs.item(runId, key);
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

const remarksOf = (order: ExportOrder, totals: ExportTotals, { unread, complete }: Listing): string[] => {
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
