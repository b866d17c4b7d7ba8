// Job kind `run`: plans a run. What it wrote down is what the jobs on its items do; the last of them lets it close.
import type { Handler, JobContext, RunData } from '../../model/job.ts';
import { type ExportDeps, forJob, type PlanDeps } from './deps.ts';
import { planExport } from './export-run.ts';
import { planRun } from './run-plan.ts';

/** What runs are planned with. */
interface RunDeps extends PlanDeps, ExportDeps {
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
    const deps = forJob(shared, job);
    await deps.runs.begin(job.data.runId, job.data);
    await deps.runs.phases.halt(job.data.runId, reason);
  },
});

const plan = async (deps: RunDeps, job: JobContext<'run'>): Promise<void> => {
  const { runId, manifest, manifestPath } = job.data;
  await deps.ledger.remember(job.data, manifestPath);
  await job.step(
    { name: 'plan', on: manifest },
    (signal) => {
      deps.started(job.data);
      return planRun(deps, job.data, signal);
    },
    ({ datasets, resources, settled }) =>
      `${datasets} datasets with work, ${resources} resources with work, ${settled} items unchanged`,
  );
  const remarks = await deps.runs.remarks(runId);
  if (remarks.length > 0) await job.note(`differs from the source: ${remarks.join('; ')}`);
};
