// Job kind `dataset` in a run that exports: takes one dataset with its resources and files into the folder.
import { type ExportOrder, type Handler, itemId, type JobContext } from '../../model/job.ts';
import { exportDataset } from '../export/export-dataset.ts';
import { type HandlerDeps, inNameOf } from './deps.ts';
import { datasetItem } from './export-items.ts';
import { endFailed, exportTools } from './export-run.ts';
import { workLost } from './item.ts';

/** Ends the item of the dataset; those of its resources are made of its record when the run closes. */
export const exportHandler = (shared: HandlerDeps, order: ExportOrder): Handler<'dataset'> => ({
  run: async (job) => {
    const deps = inNameOf(shared, job);
    const { runId, key } = job.data;
    if ((await deps.runs.record(runId, key)).ended) return;
    const poison = job.poisonOf(key);
    if (poison) throw poison;
    await work(deps, job, order);
  },
  failed: async (job, reason) => {
    await job.item(job.data.key).note(`failed for good: ${reason.code}: ${reason.message}`);
    await endFailed(inNameOf(shared, job), job.data.runId, job.data.key, reason);
  },
});

const work = async (deps: HandlerDeps, job: JobContext<'dataset'>, order: ExportOrder): Promise<void> => {
  const { runId, key, portal: name } = job.data;
  const planned = await deps.runs.datasetWork(runId, key);
  if (!planned) throw workLost(runId, key);
  const folder = key.slice(key.lastIndexOf('/') + 1);
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
