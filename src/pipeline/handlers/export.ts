// Job kind `export`: one dataset into the folder of its run, which lists the portal first and completes it at the end.
import { join } from 'node:path';
import { JobLostError, reasonOf, VerifyFailedError } from '../../model/errors.ts';
import { type Handler, itemId, type JobContext } from '../../model/job.ts';
import { datasetKey, idsOfKey, resourceKey, uuidOfKey } from '../../model/key.ts';
import { endText } from '../../model/ledger-entry.ts';
import { type ExportOrder, type Reason, type ReportItem, reportItem } from '../../model/report.ts';
import { datasetWorkSchema } from '../../state/run-work.ts';
import type { Runs } from '../../state/runs.ts';
import { plural } from '../../util/plural.ts';
import { completeRecords, exportStrays, surveyOf } from '../export/complete.ts';
import { exportDataset } from '../export/export-dataset.ts';
import type { ExportTools } from '../export/fetch-file.ts';
import { datasetsName, markFolder, readRecord, sweep } from '../export/folder.ts';
import { keepListing, keptListing, type Listing, listPortal, planFolders } from '../export/listing.ts';
import { type DatasetView, findingsOf, viewOf } from '../export/package.ts';
import type { ExportedNode } from '../export/record.ts';
import { type ExportTotals, type PlacedFinding, writeSummary } from '../export/summary.ts';
import { type ExportDeps, forJob } from './deps.ts';
import { workLost } from './item.ts';

/** Exports a dataset and ends its item; those of its resources are made of its record when the run closes. */
export const exportHandler = (shared: ExportDeps): Handler<'export'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    const { runId, key } = job.data;
    if (!(await deps.runs.phases.isToDo(runId, key))) return;
    const poison = job.poisonOf(key);
    if (poison) throw poison;
    await exportItem(deps, job);
    await deps.runs.leave(runId, key);
  },
  failed: async (job, reason) => {
    const { runs } = forJob(shared, job);
    const { runId, key } = job.data;
    if (!(await runs.phases.isOpen(runId, key))) return;
    await job.item(key).note(endText(reason));
    await endExport(runs, runId, key, reason);
    await runs.leave(runId, key);
  },
});

const exportItem = async (deps: ExportDeps, job: JobContext<'export'>): Promise<void> => {
  const { runId, key, export: order } = job.data;
  const planned = await deps.runs.datasetWork(runId, key);
  if (!planned) throw workLost(runId, key);
  const folder = idsOfKey(key).dataset;
  const began = performance.now();
  const item = job.item(key);
  const exported = await item.step(
    { name: 'export', on: folder, light: true },
    async (signal, moved) =>
      exportDataset(await toolsOf(deps, job, order, { signal, moved }), { order, folder, nid: planned.nid, more: [] }),
    (done) => (done ? plural(done.record.resources.length, 'resource') : 'gone meanwhile'),
  );
  for (const path of exported?.replaced ?? []) await item.note(`${path} was replaced by another file`);
  const work = { jobId: itemId(runId, key), attempts: job.attempt, ms: Math.round(performance.now() - began) };
  const node = exported?.record.node ?? null;
  await deps.runs.end(runId, lineOf(key, node, { outcome: 'done', actions: ['exported'], ...work }));
  item.end();
};

const toolsOf = async (
  deps: ExportDeps,
  { data, attempt }: Pick<JobContext<'run' | 'close' | 'export'>, 'data' | 'attempt'>,
  order: ExportOrder,
  step: Pick<ExportTools, 'signal' | 'moved'>,
): Promise<ExportTools> => {
  const portal = order.isPublic ? await deps.publicPortal(data.portal) : deps.portal(data.portal);
  return { portal, fetcher: deps.fetcher, attempt, ...step };
};

/** Lists the portal and plans which datasets are exported. */
export const planExport = async (deps: ExportDeps, job: JobContext<'run'>, order: ExportOrder): Promise<void> => {
  const { runId, manifest, portal: name } = job.data;
  await job.step({ name: 'list', on: name, light: true }, async (signal, moved) => {
    const tools = await toolsOf(deps, job, order, { signal, moved });
    await markFolder(order.folder, tools.portal.url);
    await sweep(order.folder);
    const listing = await listPortal(tools.portal, order.folder, tools.signal);
    const planned = await planFolders(order, listing);
    await keepListing(order.folder, runId, listing);
    const writer = deps.runs.newPlan(runId);
    for (const { why, folder, nid, title } of planned) {
      const key = datasetKey(manifest, folder);
      const wish = { key, uuid: uuidOfKey(key), title, published: true, fields: {}, metadataFingerprint: '' };
      const record = why === null ? await readRecord(join(order.folder, datasetsName, folder)) : null;
      const settled = record ? linesOf(manifest, viewOf(folder, record, tools.portal), 'unchanged') : [];
      // In the shape of one to publish: only its key, number and title are used.
      const datasets = why === null ? [] : [datasetWorkSchema.parse({ wish, nid })];
      await writer.add({ datasets, resources: [], settled, claims: [] });
    }
    await writer.end([]);
  });
};

export const endExport = async (runs: Runs, runId: string, key: string, reason: Reason): Promise<void> => {
  if (!(await runs.item(runId, key)).ended) await runs.end(runId, lineOf(key, null, { outcome: 'failed', reason }));
};

/** What an export came to, once all datasets are here and the folder is complete. */
export const exportReport = async (deps: ExportDeps, job: JobContext<'close'>, order: ExportOrder) => {
  const { runs } = deps;
  const { runId, manifest, portal: name } = job.data;
  const { folder: root, only } = order;
  const listing = await keptListing(root, runId);
  if (!listing)
    throw new JobLostError(`what run ${runId} listed vanished from ${root}`, {
      hint: 'export again, when no other export writes into that folder',
    });
  return job.step({ name: 'complete', on: root, light: true }, async (signal, moved) => {
    const tools = await toolsOf(deps, job, order, { signal, moved });
    const survey = await surveyOf(root);
    const strays = only === null ? await exportStrays(tools, { order, listing, survey }) : { joined: [], hidden: [] };
    for (const { folder, record } of strays.joined) {
      // A dataset that was unchanged is reported as exported where a resource joined it.
      const key = datasetKey(manifest, folder);
      const { ended } = await runs.item(runId, key);
      if (ended && ended.outcome !== 'unchanged') continue;
      await runs.end(runId, lineOf(key, record.node, { outcome: 'done', actions: ['exported'] }));
    }
    await completeRecords(tools, root, { groups: listing.groups, terms: survey.terms });
    const items = await runs.reported(runId);
    // Of a dataset that was exported also its resources, as they are in its record.
    const onDataset = async (view: DatasetView): Promise<void> => {
      const { folder, record } = view;
      const key = datasetKey(manifest, folder);
      const { ended } = await runs.item(runId, key);
      // A resource without a dataset is exported without a job, unless only some datasets are wanted.
      const isAlone = only === null && record.node === null && record.removed === null && !items.has(key);
      if (ended?.outcome !== 'done' && !isAlone) return;
      const { jobId = null, attempts = 0, ms = 0 } = ended ?? {};
      for (const item of linesOf(manifest, view, 'done'))
        items.add(item.key === key ? { ...item, jobId, attempts, ms } : item);
    };
    const findings = findingsOfList(listing, strays.hidden);
    const totals = await writeSummary(root, { name, portal: tools.portal, findings, onDataset });
    const unseen = findings.map(({ message }) => message);
    return { items, reason: faultOf(totals), remarks: [...remarksOf(order, totals), ...unseen] };
  });
};

/** What was not seen of the portal. */
const findingsOfList = ({ unread, complete }: Listing, resources: readonly string[]): PlacedFinding[] => {
  const nowhere = { dataset: null, resource: null, nid: null };
  const missing = `datasets may be missing, and none was marked as removed: ${complete}`;
  const hidden = `${plural(unread, 'node')} in no list ${unread === 1 ? 'was' : 'were'} not looked for; the user may see drafts among them`;
  const alone = (nid: string) => `resource node ${nid} may not be read, and is not exported`;
  return [
    ...(complete === true ? [] : [{ code: 'list-incomplete' as const, ...nowhere, message: missing }]),
    ...(unread > 0 ? [{ code: 'hidden-nodes' as const, ...nowhere, message: hidden }] : []),
    ...resources.map((nid) => ({ code: 'resource-unreadable' as const, ...nowhere, nid, message: alone(nid) })),
  ];
};

const faultOf = ({ missing }: ExportTotals): Reason | null => {
  if (missing.length === 0) return null;
  const shown = missing.slice(0, 5).join(', ');
  return reasonOf(
    new VerifyFailedError(`${missing.length} files of the export are not as they were written: ${shown}`, {
      hint: 'another program changes the folder; export again',
    }),
  );
};

const remarksOf = (order: ExportOrder, totals: ExportTotals): string[] => {
  const { datasets, resources, files, bytes, removed, findings } = totals;
  const counts = `${plural(datasets, 'dataset')}, ${plural(resources, 'resource')}, ${plural(files, 'file')} of ${plural(bytes, 'byte')}`;
  return [
    `${order.folder} holds ${counts}`,
    ...(removed > 0 ? [`${removed} datasets and resources are marked as removed from the portal, and kept`] : []),
    ...(findings.length > 0 ? [`${plural(findings.length, 'finding')}: see findings.json`] : []),
  ];
};

type Ended = Pick<ReportItem, 'outcome'> & Partial<ReportItem>;

/** The report line of a dataset or resource; `node` is null for one that could not be read. */
const lineOf = (key: string, node: ExportedNode | null, ended: Ended): ReportItem =>
  reportItem({
    key,
    nid: node?.nid ?? null,
    uuid: String(node?.uuid ?? ''),
    url: typeof node?.path === 'string' ? node.path : null,
    live: ended.outcome !== 'failed' && node !== null && String(node.status) === '1',
    ...ended,
  });

const linesOf = (manifest: string, view: DatasetView, outcome: 'done' | 'unchanged'): ReportItem[] => {
  const { folder, record } = view;
  const findings = findingsOf(view);
  const endOf = (name: string | null): Ended => ({
    outcome,
    actions: outcome === 'done' ? [record.removed === null ? 'exported' : 'marked as removed'] : [],
    warnings: findings.flatMap(({ resource, message }) => (resource === name ? [message] : [])),
  });
  const resources = record.resources.map(({ name, node, file, table }) =>
    lineOf(resourceKey(manifest, folder, name), node, { ...endOf(name), rows: table?.rows ?? null, file }),
  );
  return [lineOf(datasetKey(manifest, folder), record.node, endOf(null)), ...resources];
};
