// Job kind `dataset`: publishes the node of a dataset and its resources, each an item with a log and an end of its own.

import { itemsOfField } from '../../dataset-api/fields.ts';
import { CancelledError, DatasetFailedError, reasonOf } from '../../model/errors.ts';
import { type Handler, UnfinishedItemsError } from '../../model/job.ts';
import { type LedgerEntry, newEntry } from '../../model/ledger-entry.ts';
import type { RemovalMode } from '../../model/policy.ts';
import type { Reason } from '../../model/report.ts';
import type { DatasetWork } from '../../state/run-work.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { linkedNids, nodeOf } from '../compare/node.ts';
import { checkDataset, publishDataset, targetOf } from './dataset-node.ts';
import { forJob, type HandlerDeps } from './deps.ts';
import { ItemRunner, workLost } from './item.ts';
import { nidOnPortal, unknownNode } from './node-locate.ts';
import { removeNode } from './removal.ts';
import { publishResource } from './resource.ts';

/** New resources of one dataset that are published at once. */
const resourcesAtOnce = 4;

/** Ends when every item of the dataset has; what became of them is in the run's record. */
export const datasetHandler = (shared: HandlerDeps): Handler<'dataset'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    const { runId, key } = job.data;
    if (!(await deps.runs.phases.isToDo(runId, key))) return;
    const work = await deps.runs.datasetWork(runId, key);
    if (!work) throw workLost(runId, key);
    const runner = new ItemRunner(deps, job);
    await (work.removal ? removeDataset(deps, runner, work, work.removal) : publish(deps, runner, work));
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

/** Ends the items that have not ended, each for its own reason. */
const failItems = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  work: DatasetWork,
  { reason, error }: { reason: Reason; error: unknown },
): Promise<void> => {
  const unfinished = error instanceof UnfinishedItemsError ? error : null;
  const reasons = unfinished?.items ?? new Map([[work.wish.key, error]]);
  const own = reasons.get(work.wish.key);
  // Its node may be verified while some of its resources are not.
  const isLive = own === undefined && (await runner.endAsLive(work.wish.key));
  if (!isLive) await runner.fail(work.wish.key, reasonOf(own ?? unfinished?.first ?? error));
  const others = reasonsOfOthers(reason, { isLive, error });
  for (const key of work.resources) {
    const ofItem = reasons.get(key);
    // What was sent is proven with the tables of others.
    if (ofItem === undefined && (await runner.awaitsProof(key))) continue;
    await runner.fail(key, ofItem === undefined ? others.open : reasonOf(ofItem));
  }
  await failUnproven(deps, runner, work, others.sent);
};

const publish = async (deps: HandlerDeps, runner: ItemRunner, work: DatasetWork): Promise<void> => {
  const { key } = work.wish;
  const portal = deps.portal(runner.portal);
  const linksByList = await portal.linksByList(runner.signal);
  // Where other workers share the portal, a job sends one request at a time.
  const isShared = await deps.isShared(runner.portal);
  if (work.next.length > 0 && !isShared) portal.expectNodes(work.next);
  const before = await deps.ledger.entry(runner.portal, key);
  // Groups reach resources by an update of the dataset, and may be refused: then a draft comes first.
  const isDraft = !before?.nid && (itemsOfField(work.wish.fields.og_group_ref) ?? []).length > 0;
  // Where resources refer to their dataset, the dataset comes first.
  await runner.run(key, (item) =>
    linksByList && !isDraft
      ? checkDataset(deps, item, work)
      : publishDataset(deps, item, work, { links: null, linksByList, isDraft: linksByList, isFinal: false }),
  );
  if (runner.isUnfinished(key)) return;
  const reason = work.frozen ? null : runner.failureOf(key);
  if (reason) {
    for (const resource of work.resources) await runner.fail(resource, ofDataset(reason).open);
    return takeBackUnlisted(deps, runner, work, reason);
  }
  const datasetNid = linksByList ? null : ((await deps.ledger.entry(runner.portal, key))?.nid ?? null);
  if (!linksByList && datasetNid === null) return;
  const mode = { datasetNid, provesNow: false, isNewDataset: !before?.nid };
  // Saving a linked resource also saves its dataset, so only new ones are published concurrently.
  const entries = await deps.ledger.entriesOf(runner.portal, work.resources);
  const atOnce = linksByList && !isShared ? resourcesAtOnce : 1;
  const each = (resource: string) => runner.run(resource, (item) => publishResource(deps, item, mode));
  const [fresh, known] = [
    work.resources.filter((_, at) => !entries[at]?.nid),
    work.resources.filter((_, at) => entries[at]?.nid),
  ];
  await eachAtOnce(fresh, atOnce, each);
  await eachAtOnce(known, 1, each);
  // Most failures pass with the next attempt, which then saves the list once for all.
  if (runner.hasUnfinished && runner.attempt === 1) return;
  const links = await nodesOf(deps, runner, work);
  const isFinal = !runner.hasUnfinished;
  await runner.run(key, (item) => publishDataset(deps, item, work, { links, linksByList, isFinal }));
  const refused = runner.failureOf(key);
  if (refused && linksByList) await takeBackUnlisted(deps, runner, work, refused);
};

/** Of a dataset that was never proven nobody knows whether it lists its new resources. */
const failUnproven = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  { wish, resources }: DatasetWork,
  reason: Reason,
): Promise<void> => {
  const dataset = await deps.ledger.entry(runner.portal, wish.key);
  if (dataset && (dataset.live || dataset.links !== null)) return;
  for (const key of resources) await runner.takeBack(key, reason, async (_, entry) => entry);
};

/**
 * Unpublishes the resources that were created in this run and that the failed dataset does not list: readers would find them
 * without it.
 */
const takeBackUnlisted = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  work: DatasetWork,
  reason: Reason,
): Promise<void> => {
  const { nid } = (await deps.ledger.entry(runner.portal, work.wish.key)) ?? { nid: null };
  const node = nid === null ? null : await deps.portal(runner.portal).nodes.visible(nid, runner.signal);
  const listed = node === null ? [] : linkedNids(node);
  for (const key of work.resources) {
    await runner.takeBack(key, ofDataset(reason).sent, async (item, entry) => {
      const resource = await deps.runs.resourceWork(item.runId, key);
      if (!resource || entry.nid === null || listed.includes(entry.nid)) return null;
      if (!resource.wish.published) return entry;
      const hidden = await removeNode(
        deps,
        targetOf(deps, item, work),
        nodeOf('resource', resource.wish),
        entry,
        'unpublish',
      );
      return { ...hidden, removed: null };
    });
  }
};

/**
 * Node ids of resources, in the order of their keys; those without one are left out. Where they differ from the last proven
 * list, those that this job did not publish are looked up: an id may belong to another node by now.
 */
const nodesOf = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  { wish, order, resources }: Pick<DatasetWork, 'wish' | 'order' | 'resources'>,
): Promise<string[]> => {
  const { portal: name } = runner;
  const entries = await deps.ledger.entriesOf(name, order);
  const held = entries.flatMap((entry) =>
    entry?.nid && entry.removed !== 'delete' ? [{ ...entry, nid: entry.nid }] : [],
  );
  const nids = held.map(({ nid }) => nid);
  const known = (await deps.ledger.entry(name, wish.key))?.links;
  if (known?.join() === nids.join()) return nids;
  const isHeld = async (entry: LedgerEntry): Promise<boolean> => {
    // One that failed may be gone without notice; the portal refuses a list that names it.
    if (runner.isUnfinished(entry.key)) {
      return (await nidOnPortal(deps.portal(name), entry, runner.signal)) === entry.nid;
    }
    return resources.includes(entry.key) || (await isStillOurs(deps, runner, entry));
  };
  const own = await Promise.all(held.map(isHeld));
  return nids.filter((_, index) => own[index]);
};

/** Looks up a node of the ledger; one that is no longer ours is recreated by the next run. */
const isStillOurs = async (deps: HandlerDeps, runner: ItemRunner, entry: LedgerEntry): Promise<boolean> => {
  const nid = await nidOnPortal(deps.portal(runner.portal), entry, runner.signal);
  if (nid === entry.nid) return true;
  await deps.ledger.put(runner.portal, { ...unknownNode(entry), nid });
  return false;
};

/** Removes the resources first, then the dataset. */
const removeDataset = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  work: DatasetWork,
  how: RemovalMode,
): Promise<void> => {
  const { wish, resources } = work;
  const mode = { datasetNid: null, provesNow: false, isNewDataset: false };
  for (const key of resources) await runner.run(key, (item) => publishResource(deps, item, mode));
  await runner.run(wish.key, async (item) => {
    const known = (await deps.ledger.entry(item.portal, item.key)) ?? newEntry({ ...wish, kind: 'dataset' });
    const entry = await removeNode(deps, targetOf(deps, item, work), nodeOf('dataset', wish), known, how);
    await item.end(entry, { outcome: 'done', reason: null });
  });
};

/** Why the resources of a failed dataset fail: those that were not sent, and those that it does not list. */
const ofDataset = ({ message }: Reason): { open: Reason; sent: Reason } => {
  const because = (what: string): Reason =>
    reasonOf(
      new DatasetFailedError(`${what}, because its dataset failed: ${message}`, { hint: 'repair the dataset first' }),
    );
  return { open: because('not tried'), sent: because('not live') };
};

/** Why the other resources of a dataset fail; where that is live itself, the portal or the run is to blame. */
const reasonsOfOthers = (
  reason: Reason,
  { isLive, error }: { isLive: boolean; error: unknown },
): { open: Reason; sent: Reason } => {
  if (error instanceof CancelledError) return { open: reason, sent: reason };
  return isLive ? { open: { ...reason, message: `not tried: ${reason.message}` }, sent: reason } : ofDataset(reason);
};
