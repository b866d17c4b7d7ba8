// Keeps the datastore in step with the files of a node.
import type { Portal } from '../call.ts';
import type { AttachedFile } from '../datastore/records.ts';
import type { StoredFile } from '../store/files.ts';

/** What the datastore is told of a node's file. */
export const attachedFile = (portal: Portal, nid: number, file: StoredFile): AttachedFile => ({
  nid: String(nid),
  fid: String(file.fid),
  path: portal.store.pathOf(file),
  filename: file.name,
  mime: file.filemime,
});

/** How the file of a node changed. */
export type FileChange = { kind: 'same' } | { kind: 'removed' } | { kind: 'new'; file: StoredFile };

/** What a write that does not mention files comes to. */
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
