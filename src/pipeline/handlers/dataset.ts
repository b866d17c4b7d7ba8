// Job kind `dataset`: publishes a dataset with the list of its resources, and these, each an item with a log and an end.
import { itemsOfField } from '../../dataset-api/fields.ts';
import { CancelledError, DatasetFailedError, PortalRefusedError, reasonOf } from '../../model/errors.ts';
import { type Handler, UnfinishedItemsError } from '../../model/job.ts';
import { isChangeLog } from '../../model/key.ts';
import { type LedgerEntry, newEntry } from '../../model/ledger-entry.ts';
import type { RemovalMode } from '../../model/policy.ts';
import type { Reason } from '../../model/report.ts';
import { isAnswer, type Portal } from '../../portal-client/client.ts';
import type { DatasetWork } from '../../state/run-work.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { plural } from '../../util/plural.ts';
import {
  areGroupsLate,
  asRead,
  driftHeld,
  editedFields,
  hasGroups,
  holdsLinks,
  linkedNids,
  linksField,
  type NodeWish,
  nidsIn,
  nodeOf,
} from '../compare/node.ts';
import { isProven } from '../plan/plan.ts';
import { publicTables } from './change-log.ts';
import { forJob, type HandlerDeps } from './deps.ts';
import { asOf, endOf, type Item, type ItemRunner, itemRunner, noteFound, workLost } from './item.ts';
import { locateNode, type NodeTarget, nidOnPortal, targetOf, unknownNode, type WrittenNode } from './node-locate.ts';
import { completeLinks, proveNode } from './node-prove.ts';
import { factsOf, type WriteMore, writeNode } from './node-write.ts';
import { removeNode } from './removal.ts';
import { publishResource, type ResourceMode } from './resource.ts';

const resourcesAtOnce = 4;

/** Ends when every item of the dataset has; what became of them is in the run's record. */
export const datasetHandler = (shared: HandlerDeps): Handler<'dataset'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    const { runId, key, portal } = job.data;
    if (!(await deps.runs.phases.isToDo(runId, key))) return;
    const work = await deps.runs.datasetWork(runId, key);
    if (!work) throw workLost(runId, key);
    const runner = itemRunner(deps, job);
    const dataset = { deps, runner, work, portal: deps.portal(portal) };
    await (work.removal ? remove(dataset, work.removal) : publish(dataset));
    runner.finish();
    await deps.runs.leave(runId, key);
  },
  failed: async (job, reason, error) => {
    const deps = forJob(shared, job);
    const { runId, key } = job.data;
    if (!(await deps.runs.phases.isOpen(runId, key))) return;
    const resources = (await deps.runs.datasetWork(runId, key))?.resources ?? [];
    await failItems(deps, itemRunner(deps, job), resources, { reason, error });
    await deps.runs.leave(runId, key);
  },
});

interface Dataset {
  deps: HandlerDeps;
  runner: ItemRunner;
  work: DatasetWork;
  portal: Portal;
}

/** Ends the items that have not ended, each for its own reason. */
const failItems = async (
  deps: HandlerDeps,
  runner: ItemRunner,
  resources: readonly string[],
  { reason, error }: { reason: Reason; error: unknown },
): Promise<void> => {
  const { key: dataset, portal } = runner.job.data;
  const unfinished = error instanceof UnfinishedItemsError ? error : null;
  const reasons = unfinished?.items ?? new Map([[dataset, error]]);
  const own = reasons.get(dataset);
  // Its node may be verified while some of its resources are not.
  const isLive = own === undefined && (await runner.endAsLive(dataset));
  if (!isLive) await runner.fail(dataset, reasonOf(own ?? unfinished?.first ?? error));
  // Where the dataset is live itself, the portal or the run is to blame.
  const ofOthers = isLive ? { ...reason, message: `not tried: ${reason.message}` } : ofDataset(reason);
  const others = error instanceof CancelledError ? reason : ofOthers;
  for (const key of resources) {
    const ofItem = reasons.get(key);
    // What was sent is proven with the tables of others.
    if (ofItem === undefined && (await runner.awaitsProof(key))) continue;
    await runner.fail(key, ofItem === undefined ? others : reasonOf(ofItem));
  }
  // Of a dataset that was never proven nobody knows whether it lists its new resources.
  const entry = await deps.ledger.entry(portal, dataset);
  if (entry && (entry.live || entry.links !== null)) return;
  for (const key of resources) await runner.takeBack(key, others, async (_, known) => known);
};

const publish = async (dataset: Dataset): Promise<void> => {
  const { deps, runner, work, portal } = dataset;
  const { key } = work.wish;
  const linksByList = await portal.linksByList(runner.job.signal);
  // Where other workers share the portal, a job sends one request at a time.
  const isShared = await deps.isShared(portal.name);
  if (work.next.length > 0 && !isShared) portal.expectNodes(work.next);
  const before = await deps.ledger.entry(portal.name, key);
  const isNew = !before?.nid;
  // Groups reach resources by an update of the dataset, and may be refused: then a draft comes first.
  const isDraft = isNew && (itemsOfField(work.wish.fields.og_group_ref) ?? []).length > 0;
  // Where resources refer to their dataset, the dataset comes first.
  const isChecked = linksByList && !isDraft;
  await runner.run(key, async (item) => {
    if (isNew && work.resources.length === 0 && (await isLeftOut(dataset, item))) return;
    if (isChecked) await checkNode(dataset, item);
    else await publishNode(dataset, item, { links: null, linksByList, isFinal: false });
  });
  if (runner.unfinished.has(key)) return;
  const reason = work.frozen ? null : runner.failureOf(key);
  if (reason) {
    for (const resource of work.resources) await runner.fail(resource, ofDataset(reason));
    return takeBackUnlisted(dataset, reason);
  }
  const datasetNid = linksByList ? null : ((await deps.ledger.entry(portal.name, key))?.nid ?? null);
  if (!linksByList && datasetNid === null) return;
  const mode = { datasetNid, provesNow: false, isNewDataset: isNew };
  await publishResources(dataset, mode, linksByList && !isShared ? resourcesAtOnce : 1);
  // Most failures pass with the next attempt, which then saves the list once for all.
  const isFinal = runner.unfinished.size === 0;
  if (!isFinal && runner.job.attempt === 1) return;
  const links = await nodesOf(dataset);
  await runner.run(key, async (item) => {
    if (isNew && links.length === 0 && (await isLeftOut(dataset, item))) return;
    await publishNode(dataset, item, { links, linksByList, isFinal });
  });
  const refused = runner.failureOf(key);
  if (refused && linksByList) await takeBackUnlisted(dataset, refused);
};

/** Saving a linked resource also saves its dataset, so only new ones are published concurrently. */
const publishResources = async (dataset: Dataset, mode: ResourceMode, atOnce: number): Promise<void> => {
  const { deps, runner, work, portal } = dataset;
  const log = work.resources.find(isChangeLog);
  // A change log lists what is proven.
  const how = { ...mode, provesNow: log !== undefined };
  const tables = work.resources.filter((key) => !isChangeLog(key));
  const entries = await deps.ledger.entriesOf(portal.name, tables);
  const each = (resource: string) => runner.run(resource, (item) => publishResource(deps, item, how));
  const fresh = new Set(tables.filter((_, at) => !entries[at]?.nid));
  await eachAtOnce(fresh, atOnce, each);
  const known = tables.filter((resource) => !fresh.has(resource));
  await eachAtOnce(known, 1, each);
  if (log !== undefined) await publishChangeLog(dataset, log, mode);
};

/** Publishes the change log, once the tables have ended; where none of them is live, there is none. */
const publishChangeLog = async (dataset: Dataset, key: string, mode: ResourceMode): Promise<void> => {
  const { deps, runner, work, portal } = dataset;
  if (runner.unfinished.size > 0 && !runner.job.isLast) return;
  await runner.run(key, async (item) => {
    const resource = await deps.runs.resourceWork(item.runId, key);
    const known = await deps.ledger.entry(portal.name, key);
    if (!resource) throw workLost(item.runId, key);
    const hasTables = async () => (await publicTables(deps.ledger, portal.name, work.order)).length > 0;
    if (resource.removal !== null || known?.nid || (await hasTables())) return publishResource(deps, item, mode);
    const { uuid, title } = resource.wish;
    await item.end(known ?? newEntry({ key, kind: 'resource', uuid, title }), { outcome: 'unchanged', reason: null });
  });
};

/**
 * Leaves out a new dataset of files none of which could be published: readers would find an empty page. Where it came first,
 * it goes again; one that others made stays.
 */
const isLeftOut = async ({ deps, runner, work, portal }: Dataset, item: Item): Promise<boolean> => {
  const { wish } = work;
  const order = work.order.filter((key) => !isChangeLog(key));
  const entries = await deps.ledger.entriesOf(portal.name, order);
  const isRefused = (entry: LedgerEntry | null): boolean =>
    entry?.nid === null && entry.reason !== null && entry.sourcePath !== null && !/^https?:/.test(entry.sourcePath);
  if (order.length === 0 || runner.unfinished.size > 0 || !entries.every(isRefused)) return false;
  let entry = (await deps.ledger.entry(portal.name, wish.key)) ?? newEntry({ ...wish, kind: 'dataset' });
  if (entry.nid !== null && !item.isNewNode) return false;
  if (entry.nid !== null) {
    const gone = await removeNode(targetOf(deps, item, work), nodeOf('dataset', wish), entry, 'delete');
    entry = await deps.ledger.put(portal.name, { ...gone, removed: null });
  }
  item.tell(
    `not created, because ${order.length === 1 ? 'its resource is not' : 'none of its resources is'} published`,
  );
  await item.end(entry, { outcome: 'unchanged', reason: null });
  return true;
};

/** Unpublishes new resources that the failed dataset does not list: readers would find them without it. */
const takeBackUnlisted = async ({ deps, runner, work, portal }: Dataset, reason: Reason): Promise<void> => {
  const known = await deps.ledger.entry(portal.name, work.wish.key);
  const node = known?.nid ? await portal.nodes.visible(known.nid, runner.job.signal) : null;
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
const nodesOf = async ({ deps, runner, work, portal }: Dataset): Promise<string[]> => {
  const { wish, order, resources } = work;
  const entries = await deps.ledger.entriesOf(portal.name, order);
  const held = entries.filter((entry) => entry?.nid && entry.removed !== 'delete') as (LedgerEntry & { nid: string })[];
  const nids = held.map(({ nid }) => nid);
  if ((await deps.ledger.entry(portal.name, wish.key))?.links?.join() === nids.join()) return nids;
  const isHeld = async (entry: LedgerEntry): Promise<boolean> => {
    // One that failed may be gone without notice; the portal refuses a list that names it.
    const isFailed = runner.unfinished.has(entry.key);
    if (!isFailed && resources.includes(entry.key)) return true;
    const nid = await nidOnPortal(portal, entry, runner.job.signal);
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

interface NodeMode {
  /** Node ids of resources for its list, in order; null while they are not known. */
  links: string[] | null;
  /** True: the list is written with the node. False: the resources refer to the dataset, and the list is only completed. */
  linksByList: boolean;
  /** False: more of its resources will get nodes, so the item stays open. */
  isFinal: boolean;
}

/** Writes the node where needed, proves it and its list by reading it back, and records that. */
const publishNode = async (dataset: Dataset, item: Item, mode: NodeMode): Promise<void> => {
  const { work } = dataset;
  const { target, entry: before, wish: wanted } = await wantedNode(dataset, item);
  // A new one that lists its resources is a draft until its list is written.
  const wish = mode.links === null && mode.linksByList ? { ...wanted, published: false } : wanted;
  const needsLinks = mode.links !== null && before.links?.join() !== mode.links.join();
  // Before resources refer to it, the node is checked: it may no longer be ours.
  const isReferredTo = mode.links === null && !mode.linksByList;
  const isDone = isPublished(before, wish) && !needsLinks && !before.pending && !work.verify && !isReferredTo;
  const entry = isDone
    ? before
    : await write(target, wish, { before, work }, mode).catch((error: unknown) => {
        throw withGroups(error, work);
      });
  if (!mode.isFinal) return;
  const { refused } = work;
  const end = refused ? { outcome: 'held' as const, reason: refused } : endOf(item, null);
  await item.end(await withLateGroups(target, wish, entry), end);
};

/** Says in the report that the portal adds groups to many resources only later. */
const withLateGroups = async ({ item, portal }: NodeTarget, wish: NodeWish, entry: LedgerEntry) => {
  const links = entry.links ?? [];
  if (item.actions.length === 0 || nidsIn(wish.fields.og_group_ref).length === 0 || !areGroupsLate(links)) return entry;
  if (hasGroups(await portal.nodes.read(links.at(-1) ?? '', item.signal), wish)) return entry;
  const got = 'nothing yet: its next cron run adds them, which `sluice verify` shows';
  return { ...entry, notHeld: { ...entry.notHeld, [`og_group_ref of its ${links.length} resources`]: got } };
};

/** The refusal of a node with groups names them: portals do not say which field is at fault. */
const withGroups = (error: unknown, { wish }: DatasetWork): unknown => {
  const groups = itemsOfField(wish.fields.og_group_ref) ?? [];
  if (!isAnswer(error, 'fields-refused') || groups.length === 0) return error;
  const names = groups.map(({ title, target_id }) => (title === undefined ? `${target_id}` : `"${title}"`)).join(', ');
  const hint = `make the account a member of the group ${names} on the portal, or leave the group out; if it is one, correct license, frequency and other fields`;
  return new PortalRefusedError(error.message, error.request, { hint, cause: error });
};

/** Detects, before resources are written, an unknown group or an edit that holds. @throws PortalRefusedError, DriftError */
const checkNode = async (dataset: Dataset, item: Item): Promise<void> => {
  const { work } = dataset;
  const { target, entry, wish } = await wantedNode(dataset, item);
  if (work.onDrift !== 'hold' || !entry.nid || entry.pending || item.isNewNode) return;
  if (isPublished(entry, wish) && !work.verify) return;
  const located = await locateNode(target, wish, entry);
  if (located.entry.nid !== entry.nid) return;
  const node = located.node ?? (await target.portal.nodes.read(entry.nid, item.signal));
  const { wished, facts } = await factsOf(target, wish, { entry, node });
  const edited = editedFields(wished, facts);
  if (edited.length > 0) throw driftHeld(target.portal, node, edited);
};

/** The node that is wanted, and what is known of it; a frozen one stays as it is known, so that only its list may change. */
const wantedNode = async ({ deps, work: { wish, frozen, why, ...rules } }: Dataset, item: Item) => {
  const target = targetOf(deps, item, rules);
  const known = await deps.ledger.entry(item.portal, item.key);
  await noteFound(item, known, why);
  const entry = known ?? newEntry({ ...wish, kind: 'dataset' });
  const sent = frozen ? await deps.ledger.sentFor(item.portal, item.key) : null;
  const { title, published = entry.live, fields = {} } = sent ?? { title: entry.title };
  const asKnown = { ...wish, title, published, fields, metadataFingerprint: entry.metadataFingerprint ?? '' };
  const resolved = frozen ? fields : await target.portal.resolveGroups(wish.fields, item.signal);
  return { target, entry, wish: nodeOf('dataset', frozen ? asKnown : wish, resolved) };
};

const isPublished = (entry: LedgerEntry, wish: NodeWish): boolean =>
  entry.nid !== null && isProven(wish, entry) && entry.metadataFingerprint === wish.fingerprint;

const write = async (
  target: NodeTarget,
  wish: NodeWish,
  { before, work }: { before: LedgerEntry; work: DatasetWork },
  { links, linksByList }: NodeMode,
): Promise<LedgerEntry> => {
  const { item, ledger } = target;
  const more: WriteMore = { isDoubted: work.verify };
  if (linksByList && links !== null)
    more.also = (node) => {
      // Resources get the groups of a dataset when it is updated: a new one gets its list by a second write.
      if (node === null && nidsIn(wish.fields.og_group_ref).length > 0) return null;
      const held = node === null ? [] : linkedNids(node);
      return holdsLinks(held, links) ? null : linksField(held, links);
    };
  const prove = async (written: WrittenNode): Promise<LedgerEntry> => {
    const proof = await proveNode(target, wish, written, more);
    const node = links === null ? proof.node : await completeLinks(target, wish, proof.node, links);
    const proven: LedgerEntry = {
      ...proof.entry,
      ...asRead(node, proof.entry),
      links: links ?? proof.entry.links,
      metadataFingerprint: wish.fingerprint,
      live: wish.published,
      stale: false,
      reason: null,
      ...asOf(item),
    };
    return ledger.put(item.portal, await proveTermsVisible(target, wish, proven));
  };
  const written = await writeNode(target, wish, before, more);
  return item.step(
    { name: 'verify', light: true, on: `dataset node ${written.entry.nid}` },
    () => prove(written),
    ({ links: proven }) => (proven ? `verified, ${plural(proven.length, 'resource')} listed` : 'verified'),
  );
};

/** Warns, once for each portal, where our terms are in a vocabulary that readers do not see. */
const proveTermsVisible = async ({ item, portal }: NodeTarget, wish: NodeWish, entry: LedgerEntry) => {
  const { terms, suggestions } = portal;
  if (terms.isProven('tags') || (await portal.dialectInUse(item.signal)) === 'form') return entry;
  const { fields } = await terms.resolve(wish.fields);
  const [{ tid, name } = {}] = (itemsOfField(fields.field_tags) ?? []).filter((tag) => typeof tag.name === 'string');
  if (typeof name !== 'string' || tid === 'autocreate') return entry;
  const seen = await suggestions.termsNamed('tags', name, item.signal);
  if (seen === null) return entry;
  if (seen.includes(String(tid))) {
    terms.prove('tags');
    return entry;
  }
  const got =
    'terms that readers do not see: set `vocabularies: {tags: N}` of this portal, N being the number of its vocabulary "tags"';
  return { ...entry, notHeld: { ...entry.notHeld, field_tags: got } };
};
