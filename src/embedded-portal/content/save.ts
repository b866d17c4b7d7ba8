// Creates, updates and deletes nodes: revisions, aliases, references kept in step, files. Everything here runs inside a write.
import { randomUUID } from 'node:crypto';
import { unknownNode } from '../refusal.ts';
import type { NodeType, StoredFile, StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { Field, FieldChanges, NodeChanges } from './fields.ts';
import { aliasOf } from './public-names.ts';

/** What a request read when it began, by nid; empty where it cannot have changed meanwhile. */
export type Copies = ReadonlyMap<number, { node: StoredNode; targets: number[] }>;

/** Where something is changed, who does so, when (Unix seconds), and what the request had read by then. */
interface Change {
  store: Store;
  uid: number;
  now: number;
  copies: Copies;
  /** Of the resources that get other groups in one request, more than so many wait for cron; all get them at once when absent. */
  mostGroupedAtOnce?: number;
}

/** Reads nodes with their references, for a save that does not write at once. */
export const copyNodes = (store: Store, nids: Iterable<number>): Copies =>
  new Map(
    [...new Set(nids)].flatMap((nid) => {
      const node = store.nodes.byNid(nid);
      return node === null ? [] : [[nid, { node, targets: store.nodes.targets(nid) }] as const];
    }),
  );

/** References and files are kept beside a node. What a body says of them, and `own`, what stays in the node. */
const partsOf = ({ items }: FieldChanges) => {
  const { field_resources, field_dataset_ref = field_resources, ...own } = items;
  const targets = field_dataset_ref?.map(({ target_id }) => Number(target_id));
  return { own, targets, fids: own.field_upload?.map(({ fid }) => Number(fid)) };
};

/** The nids that a node is to refer to; undefined where a body does not say. */
export const targetsIn = (changes: FieldChanges): number[] | undefined => partsOf(changes).targets;

/** The alias of a node, of which the one it has already is free. */
const aliasFor = (store: Store, node: { nid: number | null; type: string; title: string; uuid: string }) => {
  const [parent] = node.nid === null || node.type !== 'resource' ? [] : store.nodes.targets(node.nid);
  const parentTitle = parent === undefined ? null : (store.nodes.byNid(parent)?.title ?? null);
  const isTaken = (alias: string): boolean => ![null, node.nid].includes(store.nodes.aliasOwner(alias));
  return aliasOf(node, { parentTitle, isTaken });
};

/** Moves "changed" of a node whose references were written from the other side, and gives it its alias again. */
const touch = ({ store, uid, now }: Change, nid: number): void => {
  store.nodes.touch(nid, { at: now, uid });
  const node = store.nodes.byNid(nid);
  if (node === null || node.type !== 'resource') return;
  const alias = aliasFor(store, node);
  if (alias !== node.alias) store.nodes.setAlias(alias, nid);
};

/** Changes a reference in another node. A copy that the request holds is written whole: what others saved since is lost. */
const saveOther = (change: Change, nid: number, { add, remove }: { add?: number; remove?: number }): void => {
  const { store, copies } = change;
  const copy = copies.get(nid);
  if (copy !== undefined) {
    const alias = store.nodes.byNid(nid)?.alias ?? null;
    store.nodes.update({ ...copy.node, alias }, { newRevision: false });
    store.nodes.setTargets(nid, copy.targets);
  }
  const before = copyNodes(store, [nid]).get(nid);
  if (remove !== undefined) store.nodes.removeTarget(nid, remove);
  if (add !== undefined) store.nodes.addTarget(nid, add);
  refuseLost(store, nid);
  if (before?.node.type === 'dataset') shareGroups(change, before, before.node);
  touch(change, nid);
};

/** A resource cannot be saved while it refers to a dataset that a deadlock took back. */
export const refuseLost = (store: Store, nid: number): void => {
  const isLost = (target: number): boolean => store.nodes.byNid(target) === null;
  const lost = store.nodes.byNid(nid)?.type === 'resource' ? store.nodes.targets(nid).find(isLost) : undefined;
  if (lost !== undefined) throw unknownNode(String(lost));
};

const groupsOf = (node: StoredNode | null): string[] =>
  (node?.fields.og_group_ref ?? []).map(({ target_id }) => String(target_id));

/**
 * Gives resources the groups of all their datasets: where the groups of a dataset have changed, all that it lists,
 * otherwise those that joined or left it; many of them by cron. Only the update of a dataset does so, not its creation.
 */
const shareGroups = (change: Change, before: { node: StoredNode; targets: number[] }, now: StoredNode): void => {
  const { nodes } = change.store;
  const listed = nodes.targets(now.nid);
  const isSame = groupsOf(now).join() === groupsOf(before.node).join();
  const due = [...new Set([...listed, ...before.targets])].filter(
    (nid) =>
      nodes.byNid(nid)?.type === 'resource' && !(isSame && listed.includes(nid) === before.targets.includes(nid)),
  );
  const waits = due.length > (change.mostGroupedAtOnce ?? Number.POSITIVE_INFINITY);
  for (const nid of due) {
    if (waits) nodes.awaitGroups(String(nid));
    else giveGroups(change, nid, now);
  }
};

/** Gives a resource the groups of all its datasets; `now` is one of them that is about to be written. */
const giveGroups = (change: Change, nid: number, now?: StoredNode): void => {
  const { store } = change;
  const resource = store.nodes.byNid(nid);
  if (resource === null) return;
  refuseLost(store, nid);
  const datasets = store.nodes.targets(nid).map((one) => (one === now?.nid ? now : store.nodes.byNid(one)));
  const groups = [...new Set(datasets.flatMap(groupsOf))];
  if (groups.join() === groupsOf(resource).join()) return;
  const og_group_ref = groups.map((target_id) => ({ target_id }));
  store.nodes.update({ ...resource, fields: { ...resource.fields, og_group_ref } }, { newRevision: false });
  touch(change, nid);
};

export const giveAwaitedGroups = (change: Change): void => {
  for (const nid of change.store.nodes.takeAwaitingGroups()) giveGroups(change, Number(nid));
};

/** Seconds that a dataset may be older than a resource before an update of the resource saves it too. */
const datasetLag = 60;

/** Saves, as new revisions, the datasets of an updated resource that changed over a minute before it (recorded behaviour 9). */
export const renewDatasets = (change: Change, resource: { nid: number; title: string }): void => {
  const { store, now, uid, copies } = change;
  for (const nid of new Set(store.nodes.targets(resource.nid))) {
    const present = store.nodes.byNid(nid);
    const copy = copies.get(nid);
    const node = copy?.node ?? present;
    if (present === null || node?.type !== 'dataset' || now - node.changed <= datasetLag) continue;
    const revision = { changed: now, revisionTimestamp: now, revisionUid: uid, vuuid: randomUUID() };
    const log = `Update to resource ${resource.title}`;
    store.nodes.update({ ...node, ...revision, log, alias: present.alias }, { newRevision: true });
    if (copy !== undefined) store.nodes.setTargets(nid, copy.targets);
  }
};

const otherType: Partial<Record<NodeType, NodeType>> = { dataset: 'resource', resource: 'dataset' };

/**
 * The other nodes to write when a node (nid null: a new one) gets these references: `added` do not refer back yet, `removed`
 * are those that it refers to no more.
 */
export const otherSides = (
  store: Store,
  { nid, type }: { nid: number | null; type: NodeType },
  targets: readonly number[],
): { added: number[]; removed: number[] } => {
  const isOther = (target: number): boolean => store.nodes.byNid(target)?.type === otherType[type];
  const refersBack = (target: number): boolean => nid !== null && store.nodes.targets(target).includes(nid);
  const before = nid === null ? [] : store.nodes.targets(nid);
  return {
    added: [...new Set(targets)].filter((target) => isOther(target) && !refersBack(target)),
    removed: [...new Set(before)].filter((target) => isOther(target) && !targets.includes(target)),
  };
};

/**
 * Writes the references of a node, the way back on the other nodes without new revisions there (recorded behaviour 9), and
 * its files; returns those no longer in use.
 */
const link = (change: Change, node: { nid: number; type: NodeType }, changes: FieldChanges): StoredFile[] => {
  const { store, copies } = change;
  // A node that is saved whole brings its references along, also those that the body does not mention.
  const { targets = copies.get(node.nid)?.targets, fids } = partsOf(changes);
  if (targets !== undefined) {
    const { added, removed } = otherSides(store, node, targets);
    store.nodes.setTargets(node.nid, targets);
    for (const target of added) saveOther(change, target, { add: node.nid });
    for (const target of removed) saveOther(change, target, { remove: node.nid });
  }
  return fids === undefined ? [] : store.files.assign(node.nid, fids);
};

const initialItems = (fields: readonly Field[]): StoredNode['fields'] =>
  Object.fromEntries(
    fields.flatMap(({ name, kind, initial: value }) => {
      if (value === undefined) return [];
      return [[name, [kind === 'text' ? { value, format: null, safe_value: value } : { value }]]];
    }),
  );

const initialNode = { language: '', title: '', uid: 0, status: 1, comment: 0, promote: 0, sticky: 0, log: '' };

const revisionBy = ({ now, uid }: Change) => ({ changed: now, revisionTimestamp: now, revisionUid: uid });

/** Adds a node of a type with the fields it may have; defaults for what the body left open. The bytes of dropped files go later. */
export const createNode = (
  change: Change,
  { type, fields }: { type: NodeType; fields: readonly Field[] },
  { core, changes }: NodeChanges,
): { nid: number; droppedFiles: StoredFile[] } => {
  const { store, now } = change;
  const initial = initialItems(fields);
  const items = { ...initial, ...partsOf(changes).own };
  for (const [name, value] of Object.entries(initial)) {
    if (items[name]?.length === 0 && changes.undefaulted?.includes(name) !== true) items[name] = value;
  }
  const node = {
    ...initialNode,
    created: now,
    uuid: randomUUID(),
    ...core,
    ...revisionBy(change),
    vuuid: randomUUID(),
    type,
    fields: items,
  };
  const early = type !== 'resource' || targetsIn(changes) === undefined;
  const alias = early ? aliasFor(store, { ...node, nid: null }) : null;
  const nid = store.nodes.insert({ ...node, alias });
  const droppedFiles = link(change, { nid, type }, changes);
  if (!early) store.nodes.setAlias(aliasFor(store, { ...node, nid }), nid);
  return { nid, droppedFiles };
};

/** Changes a node: what `core` and `changes` do not mention stays; a new revision unless `core.newRevision` is false. */
export const updateNode = (change: Change, node: StoredNode, { core, changes }: NodeChanges) => {
  const { store } = change;
  const { newRevision = true, ...rest } = core;
  const changed: StoredNode = {
    ...node,
    ...rest,
    ...revisionBy(change),
    vuuid: newRevision ? randomUUID() : node.vuuid,
    fields: { ...node.fields, ...partsOf(changes).own },
  };
  const targets = store.nodes.targets(node.nid);
  const droppedFiles = link(change, node, changes);
  if (node.type === 'dataset') shareGroups(change, { node, targets }, changed);
  changed.alias = aliasFor(store, changed);
  store.nodes.update(changed, { newRevision });
  return { nid: node.nid, droppedFiles };
};

/** Removes a node; references to it go from the other nodes, its files go unless others use them. */
export const deleteNode = (change: Change, { nid }: StoredNode): StoredFile[] => {
  const { nodes, files } = change.store;
  for (const source of nodes.sources(nid)) if (source !== nid) saveOther(change, source, { remove: nid });
  const dropped = files.assign(nid, []);
  nodes.remove(nid);
  return dropped;
};
