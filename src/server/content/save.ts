// Creates, updates and deletes nodes: revisions, aliases, references kept in step, files. Everything here runs inside a write.
import { randomUUID } from 'node:crypto';
import type { CoreChanges, FieldChanges } from '../profiles/profile.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import { aliasOf, releaseAlias } from './alias.ts';
import { type Field, isNodeType, type NodeType } from './fields.ts';

/** Who changes something, and when (Unix seconds). */
export interface Change {
  uid: number;
  now: number;
}

/** What a saved node brought with it. */
export interface Saved {
  nid: number;
  vid: number;
  /** Files nobody uses any more: their bytes go once the write is durable. */
  droppedFiles: StoredFile[];
}

const parentTitleOf = (store: Store, nid: number | null, type: string): string | null => {
  if (nid === null || type !== 'resource') return null;
  const [parent] = store.nodes.targets(nid);
  return parent === undefined ? null : (store.nodes.byNid(parent)?.title ?? null);
};

const aliasFor = (
  store: Store,
  node: { nid: number | null; type: string; title: string; uuid: string; alias?: string | null },
): string | null =>
  aliasOf(node, {
    parentTitle: parentTitleOf(store, node.nid, node.type),
    numbers: store.nodes.aliasNumbers,
    isTaken: (alias) => {
      const owner = store.nodes.aliasOwner(alias);
      return owner !== null && owner !== node.nid;
    },
  });

/** Moves "changed" of a node whose references were written from the other side, and gives it its alias anew. */
const touch = (store: Store, nid: number, { uid, now }: Change): void => {
  store.nodes.touch(nid, { at: now, uid });
  const node = store.nodes.byNid(nid);
  if (node === null || node.type !== 'resource') return;
  const alias = aliasFor(store, node);
  if (alias !== node.alias) store.nodes.setAlias(nid, alias);
};

const otherType: Record<NodeType, NodeType> = { dataset: 'resource', resource: 'dataset' };

/** Writes the references of a node and the way back on the other nodes, at once and without new revisions there (recorded behaviour 9). */
const relink = (
  store: Store,
  { nid, type }: { nid: number; type: NodeType },
  { targets, change }: { targets: number[]; change: Change },
): void => {
  const before = store.nodes.targets(nid);
  store.nodes.setTargets(nid, targets);
  const isOther = (target: number): boolean => store.nodes.byNid(target)?.type === otherType[type];
  for (const target of new Set(targets)) {
    if (!isOther(target) || store.nodes.targets(target).includes(nid)) continue;
    store.nodes.addTarget(target, nid);
    touch(store, target, change);
  }
  for (const target of new Set(before)) {
    if (targets.includes(target) || !isOther(target)) continue;
    store.nodes.removeTarget(target, nid);
    touch(store, target, change);
  }
};

const link = (
  store: Store,
  node: { nid: number; type: NodeType; fields: readonly Field[] },
  { changes, change }: { changes: FieldChanges; change: Change },
): StoredFile[] => {
  if (changes.targets !== undefined) relink(store, node, { targets: changes.targets, change });
  return changes.fids === undefined ? [] : store.files.assign(node.nid, changes.fids);
};

const initialItems = (fields: readonly Field[]): StoredNode['fields'] =>
  Object.fromEntries(
    fields
      .filter((field) => field.initial !== null)
      .map((field) => [
        field.name,
        [
          field.kind === 'text'
            ? { value: field.initial, format: null, safe_value: field.initial }
            : { value: field.initial },
        ],
      ]),
  );

/** Adds a node of a type with the fields it may have; defaults for what the body left open. */
export const createNode = (
  store: Store,
  { type, fields }: { type: NodeType; fields: readonly Field[] },
  { core, changes, change }: { core: CoreChanges; changes: FieldChanges; change: Change },
): Saved => {
  const items = { ...initialItems(fields), ...changes.items };
  for (const field of fields) {
    const isOpen = changes.undefaulted?.includes(field.name) !== true;
    if (field.initial !== null && isOpen && items[field.name]?.length === 0) {
      items[field.name] = initialItems([field])[field.name] ?? [];
    }
  }
  const { now, uid } = change;
  const node = {
    type,
    language: core.language ?? '',
    title: core.title ?? '',
    uid: core.uid ?? 0,
    status: core.status ?? 1,
    created: core.created ?? now,
    changed: now,
    comment: core.comment ?? 0,
    promote: core.promote ?? 0,
    sticky: core.sticky ?? 0,
    uuid: core.uuid ?? randomUUID(),
    vuuid: randomUUID(),
    log: core.log ?? '',
    revisionTimestamp: now,
    revisionUid: uid,
    fields: items,
  };
  const early = type === 'dataset' || changes.targets === undefined;
  const alias = early ? aliasFor(store, { ...node, nid: null }) : null;
  const { nid, vid } = store.nodes.insert({ ...node, alias });
  const droppedFiles = link(store, { nid, type, fields }, { changes, change });
  if (!early) store.nodes.setAlias(nid, aliasFor(store, { ...node, nid }));
  return { nid, vid, droppedFiles };
};

/** Changes a node: what `core` and `changes` do not mention stays; a new revision unless `core.newRevision` is false. */
export const updateNode = (
  store: Store,
  node: StoredNode,
  {
    core,
    changes,
    change,
    fields,
  }: { core: CoreChanges; changes: FieldChanges; change: Change; fields: readonly Field[] },
): Saved => {
  const { newRevision = true, ...rest } = core;
  const type = isNodeType(node.type) ? node.type : 'dataset';
  const changed: StoredNode = {
    ...node,
    ...rest,
    changed: change.now,
    revisionTimestamp: change.now,
    revisionUid: change.uid,
    vuuid: newRevision ? randomUUID() : node.vuuid,
    fields: { ...node.fields, ...changes.items },
  };
  const droppedFiles = link(store, { nid: node.nid, type, fields }, { changes, change });
  changed.alias = aliasFor(store, changed);
  if (changed.alias !== node.alias) releaseAlias(node.alias, store.nodes.aliasNumbers);
  const vid = store.nodes.update(changed, { newRevision });
  return { nid: node.nid, vid, droppedFiles };
};

/** Removes a node; references to it go from the other nodes, its files go unless others use them. */
export const deleteNode = (store: Store, node: StoredNode, change: Change): StoredFile[] => {
  for (const source of store.nodes.sources(node.nid)) {
    if (source === node.nid) continue;
    store.nodes.removeTarget(source, node.nid);
    touch(store, source, change);
  }
  const dropped = store.files.assign(node.nid, []);
  store.nodes.remove(node.nid);
  releaseAlias(node.alias, store.nodes.aliasNumbers);
  return dropped;
};
