// Job kind `dataset`: publishes the node of a dataset and its resources, each an item with a log and an end of its own.
import { eachAtOnce } from '../each-at-once.ts';
import { DatasetFailedError, JobLostError, reasonOf } from '../errors.ts';
import { type Handler, type JobContext, UnfinishedItemsError } from '../job.ts';
import { type LedgerEntry, newEntry } from '../ledger/entry.ts';
import type { DatasetWork } from '../ledger/runs.ts';
import type { Reason } from '../report.ts';
import { publishDataset } from './dataset-node.ts';
import { type HandlerDeps, inNameOf } from './deps.ts';
import type { Item } from './item.ts';
import { ItemRunner } from './item-runner.ts';
import { removeNode } from './removal.ts';
import { publishResource, removeResource } from './resource.ts';

/** Resources of one dataset that are worked on at once. */
const resourcesAtOnce = 4;

/** Ends when every item of the dataset has; what became of them stands in the run's record. */
export const datasetHandler = (shared: HandlerDeps): Handler<'dataset'> => ({
  run: async (job) => {
    const deps = inNameOf(shared, job);
    const work = await workOf(deps, job);
    const runner = new ItemRunner(deps, job);
    await (work.removal ? removeDataset(deps, runner, work, work.removal) : publish(deps, runner, work));
    runner.finish();
  },
  failed: async (job, reason, error) => {
    const deps = inNameOf(shared, job);
    const work = await workOf(deps, job);
    const runner = new ItemRunner(deps, job);
    const reasons = error instanceof UnfinishedItemsError ? error.items : new Map([[job.data.key, error]]);
    await runner.fail(work.wish.key, reasonOf(reasons.get(work.wish.key) ?? error));
    for (const key of work.resources) {
      const own = reasons.get(key);
      await runner.fail(key, own === undefined ? untried(reason) : reasonOf(own));
    }
  },
});

const workOf = async (deps: HandlerDeps, job: JobContext<'dataset'>): Promise<DatasetWork> => {
  const work = await deps.runs.datasetWork(job.data.runId, job.data.key);
  if (work) return work;
  throw new JobLostError(`run ${job.data.runId} holds no work on ${job.data.key} any more`, { hint: 'publish again' });
};

const publish = async (deps: HandlerDeps, runner: ItemRunner, work: DatasetWork): Promise<void> => {
  const { key } = work.wish;
  await runner.run(key, (item) => (work.frozen ? leaveDataset(deps, item, work) : publishDataset(deps, item, work)));
  const reason = work.frozen ? null : runner.failureOf(key);
  if (reason) {
    for (const resource of work.resources) await runner.fail(resource, untried(reason));
    return;
  }
  if (!runner.hasEnded(key)) return;
  const nid = (await deps.ledger.entry(runner.portal, key))?.nid ?? '';
  // A node created anew: all its resources point to one that is gone.
  const keys = work.nid !== null && work.nid !== nid ? [...work.resources, ...work.spare] : work.resources;
  await eachAtOnce(keys, resourcesAtOnce, (resource) =>
    runner.run(resource, (item) => publishResource(deps, item, nid)),
  );
};

/** The node stays as it is, whatever is wished now: a stored plan, or a removal below it, says nothing of it. */
const leaveDataset = async (deps: HandlerDeps, item: Item, { wish, refused }: DatasetWork): Promise<void> => {
  const entry = (await deps.ledger.entry(item.portal, item.key)) ?? newEntry({ ...wish, kind: 'dataset' });
  await item.end(entry, { outcome: refused ? 'held' : 'unchanged', reason: refused });
};

/** Takes the resources down first, then the dataset. */
const removeDataset = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  { wish, resources, onDrift }: DatasetWork,
  how: NonNullable<LedgerEntry['removed']>,
): Promise<void> => {
  for (const key of resources) await runner.run(key, (item) => removeResource(deps, item));
  await runner.run(wish.key, async (item) => {
    const known = (await deps.ledger.entry(item.portal, item.key)) ?? newEntry({ ...wish, kind: 'dataset' });
    const target = { item, ledger: deps.ledger, portal: deps.portal(item.portal), onDrift };
    await item.end(await removeNode(target, known, how), { outcome: 'done', reason: null });
  });
};

const untried = (reason: Reason): Reason =>
  reasonOf(
    new DatasetFailedError(`not tried, because its dataset failed: ${reason.message}`, {
      hint: 'repair the dataset first',
    }),
  );
