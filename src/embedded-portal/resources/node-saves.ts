// Side effects of saving a node: races with other saves, the datasets of a resource, the datastore of its file.

import { nidIn } from '../content/items.ts';
import { type Copies, copyNodes, refuseLost } from '../content/save.ts';
import type { AttachedFile } from '../datastore/records.ts';
import type { Call, Portal } from '../portal.ts';
import type { StoredFile } from '../store/files.ts';

/** The nids in a reference field of a body, in whichever shape it was sent. */
const nidsIn = (value: unknown): number[] => {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(nidsIn);
  const nid = nidIn(value);
  return nid === null ? [] : [nid];
};

/**
 * Saves as one of several processes would: `save` gets the nodes as they were when the request began. Where nothing races
 * it gets none, and reads what there is when it writes.
 */
export const inRace = <T>(
  { portal }: Call,
  nids: () => Iterable<number>,
  save: (copies: Copies) => Promise<T>,
): Promise<T> => {
  if (portal.races === null) return save(new Map());
  const copies = copyNodes(portal.store, nids());
  return portal.races.save(() => save(copies));
};

/** What a save of a node touches: itself, what it refers to, and what it will refer to. */
export const touchedBy = ({ portal }: Call, nid: number | null, body: Record<string, unknown> = {}): number[] => [
  ...(nid === null ? [] : [nid, ...portal.store.nodes.targets(nid)]),
  ...nidsIn(body.field_dataset_ref),
  ...nidsIn(body.field_resources),
];

/** Saves what else changes with a node; inside the write. */
export const saveWith = (call: Call, nid: number, copies: Copies): void => {
  refuseLost(call.portal.store, nid);
  call.portal.profile.savedWith(call, nid, copies);
};

/** A node's file as the datastore takes it. */
export const attachedFile = (portal: Portal, nid: number, file: StoredFile): AttachedFile => ({
  nid: String(nid),
  fid: String(file.fid),
  path: portal.store.pathOf(file),
  filename: file.name,
  mime: file.filemime,
});

/** How the file of a node changed. */
export type FileChange = { kind: 'same' } | { kind: 'removed' } | { kind: 'new'; file: StoredFile };

/** The change of a write that does not mention files. */
export const sameFile: FileChange = { kind: 'same' };

/** Compares the files of a node before and after a write; a new one is noted in the datastore. To be called inside the write. */
export const noteFileChange = (portal: Portal, nid: number, before: StoredFile[]): FileChange => {
  const [file] = portal.store.files.ofNode(nid);
  if (file?.fid === before[0]?.fid) return sameFile;
  if (file === undefined) return { kind: 'removed' };
  portal.datastore.note(attachedFile(portal, nid, file));
  return { kind: 'new', file };
};

/** Ends or imports the datastore after the write that {@link noteFileChange} looked at. */
export const settleFileChange = async (portal: Portal, nid: number, change: FileChange): Promise<void> => {
  if (change.kind === 'removed') await portal.datastore.fileRemoved(String(nid));
  if (change.kind === 'new') await portal.datastore.attached(attachedFile(portal, nid, change.file));
};
