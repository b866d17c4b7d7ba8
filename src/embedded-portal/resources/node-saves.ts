// Side effects of saving a node: races with other saves, the datasets of a resource, the datastore of its file.
import { nidIn } from '../content/items.ts';
import { type Copies, copyNodes, refuseLost } from '../content/save.ts';
import type { Call, Portal } from '../portal.ts';
import type { StoredFile } from '../store/nodes.ts';

/** The nids in a reference field of a body, in whichever shape it was sent. */
const nidsIn = (value: unknown): number[] => {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(nidsIn);
  const nid = nidIn(value);
  return nid === null ? [] : [nid];
};

/** `write` gets the nodes that the save touches as they were when the request began; none where nothing races. */
export const inRace = <T>({ portal }: Call, nids: Iterable<number>, write: (copies: Copies) => T): Promise<T> => {
  const { store, races } = portal;
  const copies = races === null ? new Map() : copyNodes(store, nids);
  const save = (): Promise<T> => store.write(() => write(copies));
  return races === null ? save() : races.save(save);
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

/** Tells the datastore, inside the write, that a node has another file; the result then imports it or ends its table. */
export const noteFile = (portal: Portal, nid: number, before: StoredFile[]): (() => Promise<unknown>) => {
  const { store, datastore } = portal;
  const [file] = store.files.ofNode(nid);
  if (file?.fid === before[0]?.fid) return () => Promise.resolve();
  if (file === undefined) return () => datastore.fileRemoved(String(nid));
  const { fid, name: filename, filemime: mime } = file;
  const attached = { nid: String(nid), fid: String(fid), path: store.pathOf(file), filename, mime };
  datastore.note(attached);
  return () => datastore.attached(attached);
};
