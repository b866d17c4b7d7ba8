// Job kind `dataset`: publishes the node of a dataset and its resources, each an item with a log and an end of its own.

import { itemsOfField } from '../../dataset-api/fields.ts';
import { CancelledError, DatasetFailedError, reasonOf } from '../../model/errors.ts';
import { type Handler, UnfinishedItemsError } from '../../model/job.ts';
import { type LedgerEntry, newEntry } from '../../model/ledger-entry.ts';
import type { RemovalMode } from '../../model/policy.ts';
import type { Reason } from '../../model/report.ts';
import type { Portal } from '../../portal-client/client.ts';
import type { DatasetWork } from '../../state/run-work.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { linkedNids, nodeOf } from '../compare/node.ts';
import { checkDataset, publishDataset } from './dataset-node.ts';
import { forJob, type HandlerDeps } from './deps.ts';
import { ItemRunner, workLost } from './item.ts';
import { nidOnPortal, targetOf, unknownNode } from './node-locate.ts';
import { removeNode } from './removal.ts';
import { publishResource } from './resource.ts';

/** New resources of one dataset that are published at once. */
const resourcesAtOnce = 4;

/** Ends when every item of the dataset has; what became of them is in the run's record. */
export const datasetHandler = (shared: HandlerDeps): Handler<'dataset'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    const { runId, key, portal } = job.data;
    if (!(await deps.runs.phases.isToDo(runId, key))) return;
    const work = await deps.runs.datasetWork(runId, key);
    if (!work) throw workLost(runId, key);
    const runner = new ItemRunner(deps, job);
    const dataset = { deps, runner, work, portal: deps.portal(portal), signal: job.signal };
    await (work.removal ? remove(dataset, work.removal) : publish(dataset));
    runner.finish();
    await deps.runs.leave(runId, key);
  },
  failed: async (job, reason, error) => {
    const deps = forJob(shared, job);
    const { runId, key } = job.data;
    if (!(await deps.runs.phases.isOpen(runId, key))) return;
    const work = await deps.runs.datasetWork(runId, key);
    const runner = new ItemRunner(deps, job);
    if (work) await failItems(deps, runner, work, { reason, error });
    else await runner.fail(key, reason);
    await deps.runs.leave(runId, key);
  },
});

interface Dataset {
  deps: HandlerDeps;
  runner: ItemRunner;
  work: DatasetWork;
  portal: Portal;
  signal: AbortSignal;
}

/** Ends the items that have not ended, each for its own reason. */
const failItems = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  { wish, resources }: DatasetWork,
  { reason, error }: { reason: Reason; error: unknown },
): Promise<void> => {
  const unfinished = error instanceof UnfinishedItemsError ? error : null;
  const reasons = unfinished?.items ?? new Map([[wish.key, error]]);
  const own = reasons.get(wish.key);
  // Its node may be verified while some of its resources are not.
  const isLive = own === undefined && (await runner.endAsLive(wish.key));
  if (!isLive) await runner.fail(wish.key, reasonOf(own ?? unfinished?.first ?? error));
  const notTried = { ...reason, message: `not tried: ${reason.message}` };
  // Where the dataset is live itself, the portal or the run is to blame.
  const ofOthers = isLive ? notTried : ofDataset(reason);
  const others = error instanceof CancelledError ? reason : ofOthers;
  for (const key of resources) {
    const ofItem = reasons.get(key);
    // What was sent is proven with the tables of others.
    if (ofItem === undefined && (await runner.awaitsProof(key))) continue;
    await runner.fail(key, ofItem === undefined ? others : reasonOf(ofItem));
  }
  // Of a dataset that was never proven nobody knows whether it lists its new resources.
  const dataset = await deps.ledger.entry(runner.job.data.portal, wish.key);
  if (dataset && (dataset.live || dataset.links !== null)) return;
  for (const key of resources) await runner.takeBack(key, others, async (_, entry) => entry);
};

const publish = async (dataset: Dataset): Promise<void> => {
  const { deps, runner, work, portal, signal } = dataset;
  const { key } = work.wish;
  const linksByList = await portal.linksByList(signal);
  // Where other workers share the portal, a job sends one request at a time.
  const isShared = await deps.isShared(portal.name);
  if (work.next.length > 0 && !isShared) portal.expectNodes(work.next);
  const before = await deps.ledger.entry(portal.name, key);
  // Groups reach resources by an update of the dataset, and may be refused: then a draft comes first.
  const isDraft = !before?.nid && (itemsOfField(work.wish.fields.og_group_ref) ?? []).length > 0;
  const first = { links: null, linksByList, isDraft: linksByList };
  // Where resources refer to their dataset, the dataset comes first.
  await runner.run(key, (item) =>
    linksByList && !isDraft
      ? checkDataset(targetOf(deps, item, work), work)
      : publishDataset(targetOf(deps, item, work), work, { ...first, isFinal: false }),
  );
  if (runner.unfinished.has(key)) return;
  const reason = work.frozen ? null : runner.failureOf(key);
  if (reason) {
    for (const resource of work.resources) await runner.fail(resource, ofDataset(reason));
    return takeBackUnlisted(dataset, reason);
  }
  const datasetNid = linksByList ? null : ((await deps.ledger.entry(portal.name, key))?.nid ?? null);
  if (!linksByList && datasetNid === null) return;
  const mode = { datasetNid, provesNow: false, isNewDataset: !before?.nid };
  // Saving a linked resource also saves its dataset, so only new ones are published concurrently.
  const entries = await deps.ledger.entriesOf(portal.name, work.resources);
  const atOnce = linksByList && !isShared ? resourcesAtOnce : 1;
  const each = (resource: string) => runner.run(resource, (item) => publishResource(deps, item, mode));
  const fresh = new Set(work.resources.filter((_, at) => !entries[at]?.nid));
  await eachAtOnce(fresh, atOnce, each);
  const known = work.resources.filter((resource) => !fresh.has(resource));
  await eachAtOnce(known, 1, each);
  // Most failures pass with the next attempt, which then saves the list once for all.
  const isFinal = runner.unfinished.size === 0;
  if (!isFinal && runner.job.attempt === 1) return;
  const links = await nodesOf(dataset);
  await runner.run(key, (item) => publishDataset(targetOf(deps, item, work), work, { links, linksByList, isFinal }));
  const refused = runner.failureOf(key);
  if (refused && linksByList) await takeBackUnlisted(dataset, refused);
};

/** Unpublishes new resources that the failed dataset does not list: readers would find them without it. */
const takeBackUnlisted = async ({ deps, runner, work, portal, signal }: Dataset, reason: Reason): Promise<void> => {
  const known = await deps.ledger.entry(portal.name, work.wish.key);
  const node = known?.nid ? await portal.nodes.visible(known.nid, signal) : null;
  const listed = node === null ? [] : linkedNids(node);
  for (const key of work.resources) {
    await runner.takeBack(key, ofDataset(reason), async (item, entry) => {
      const resource = await deps.runs.resourceWork(item.runId, key);
      if (!resource || entry.nid === null || listed.includes(entry.nid)) return null;
      if (!resource.wish.published) return entry;
      const wish = nodeOf('resource', resource.wish);
      return { ...(await removeNode(targetOf(deps, item, work), wish, entry, 'unpublish')), removed: null };
    });
  }
};

/** Node ids for the list, in order; those not published here are looked up: they may belong to other nodes by now. */
const nodesOf = async ({ deps, runner, work, portal, signal }: Dataset): Promise<string[]> => {
  const { wish, order, resources } = work;
  const entries = await deps.ledger.entriesOf(portal.name, order);
  const held = entries.filter((entry) => entry?.nid && entry.removed !== 'delete') as (LedgerEntry & { nid: string })[];
  const nids = held.map(({ nid }) => nid);
  const known = (await deps.ledger.entry(portal.name, wish.key))?.links;
  if (known?.join() === nids.join()) return nids;
  const isHeld = async (entry: LedgerEntry): Promise<boolean> => {
    // One that failed may be gone without notice; the portal refuses a list that names it.
    const isFailed = runner.unfinished.has(entry.key);
    if (!isFailed && resources.includes(entry.key)) return true;
    const nid = await nidOnPortal(portal, entry, signal);
    // One that is no longer ours is recreated by the next run.
    if (nid !== entry.nid && !isFailed) await deps.ledger.put(portal.name, { ...unknownNode(entry), nid });
    return nid === entry.nid;
  };
  const own = await Promise.all(held.map(isHeld));
  return nids.filter((_, index) => own[index]);
};

const remove = async ({ deps, runner, work }: Dataset, how: RemovalMode): Promise<void> => {
  const { wish, resources } = work;
  const mode = { datasetNid: null, provesNow: false, isNewDataset: false };
  for (const key of resources) await runner.run(key, (item) => publishResource(deps, item, mode));
  await runner.run(wish.key, async (item) => {
    const known = (await deps.ledger.entry(item.portal, item.key)) ?? newEntry({ ...wish, kind: 'dataset' });
    const entry = await removeNode(targetOf(deps, item, work), nodeOf('dataset', wish), known, how);
    await item.end(entry, { outcome: 'done', reason: null });
  });
};

/** Why the resources of a failed dataset fail. */
const ofDataset = ({ message }: Reason): Reason =>
  reasonOf(
    new DatasetFailedError(`not live, because its dataset failed: ${message}`, { hint: 'repair the dataset first' }),
  );
