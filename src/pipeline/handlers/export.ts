// Job kind `export`: exports one dataset into the folder of its run.
import { type Handler, itemId, type JobContext } from '../../model/job.ts';
import { idsOfKey } from '../../model/key.ts';
import { exportDataset } from '../export/export-dataset.ts';
import { type ExportDeps, forJob } from './deps.ts';
import { datasetItem, exportTools } from './export-items.ts';
import { endExport } from './export-run.ts';
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
    await job.item(key).note(`failed for good: ${reason.code}: ${reason.message}`);
    await endExport(runs, runId, key, reason);
    await runs.leave(runId, key);
  },
});

const exportItem = async (deps: ExportDeps, job: JobContext<'export'>): Promise<void> => {
  const { runId, key, portal: name, export: order } = job.data;
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
  await deps.runs.end(
    runId,
    datasetItem(key, exported?.record.node ?? null, {
      outcome: 'done',
      actions: ['exported'],
      jobId: itemId(runId, key),
      attempts: job.attempt,
      ms: Math.round(performance.now() - began),
    }),
  );
  item.end();
};
