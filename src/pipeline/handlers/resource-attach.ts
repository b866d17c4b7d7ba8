// Steps of a resource on the portal: its node, then its file, attached exactly once.
import { contentTypeOf } from '../../dataset-api/file-types.ts';
import { PortalBusyError, reasonOf } from '../../model/errors.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import { type FileItem, fileOf } from '../../portal-client/replies.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import type { SentFile } from '../compare/local-file.ts';
import { type NodeWish, nodeOf } from '../compare/node.ts';
import { guardTable } from './guard-table.ts';
import { recreateNode, removeLostReferences, writeNode } from './node-write.ts';
import {
  changed,
  checkFile,
  fetchAddress,
  importsRows,
  isRefused,
  prepareTable,
  type ResourceState,
  type ResourceStep,
  sentFile,
} from './resource-file.ts';

/** The node of a resource's wish. */
export const nodeWishOf = ({ wish }: Pick<ResourceState, 'wish'>): NodeWish => nodeOf('resource', wish);

/** What else a new node is created with: the reference to its dataset, where resources refer to it. */
const atCreation = ({ datasetNid }: ResourceState) =>
  datasetNid === null ? {} : { atCreation: { field_dataset_ref: { und: [{ target_id: datasetNid }] } } };

/** Step `node`: creates or updates it. */
export const putNode: ResourceStep = async (state) => ({
  ...state,
  ...(await writeNode(state.target, nodeWishOf(state), state.entry, atCreation(state))),
});

/** Creates a node anew that vanished; its file is attached to it by the steps that follow. */
export const putNodeAgain: ResourceStep = async (state) => ({
  ...state,
  ...(await recreateNode(state.target, nodeWishOf(state), state.entry, atCreation(state))),
});

/** Step `bring`: fetches a file that is published and missing from the node, as on one that was recreated. */
export const bringFile: ResourceStep = async (state) => {
  const { source } = state.wish;
  if (source.kind !== 'url' || state.entry.file !== null) return state;
  return guardTable(await checkFile(await prepareTable(await fetchAddress(state, source, null))));
};

/** Step `attach`. */
export const attachFile: ResourceStep = async (state) => {
  const { deps, target, entry } = state;
  const { item, portal } = target;
  const file = sentFile(state);
  if (!file || entry.file?.sha256 === file.source.sha256 || isRefused(state)) return state;
  const nid = entry.nid ?? '';
  const { bytes, sha256 } = file.source;
  if (entry.pending?.what === 'attach') {
    const arrived = entry.pending.nonce === sha256 ? await arrivedFile(state, entry.pending.before, file) : null;
    await item.note(
      arrived
        ? `an interrupted attach had taken effect: going on with file ${arrived.fid}`
        : 'an interrupted attach had not taken effect: attaching again',
    );
    if (arrived) return settleAttach(state, file, { fid: arrived.fid, before: entry.pending.before });
  }
  return item.step(
    { name: 'attach', on: `${file.name} to node ${nid}`, writes: true },
    async (signal) => {
      const before = await fidBefore(state);
      await deps.ledger.begin(item.portal, entry, { what: 'attach', before, nonce: sha256 });
      const { path, name } = file;
      const upload = { path, name, bytes, contentType: contentTypeOf(name) };
      const sent = await portal.files.attach(nid, upload, signal).catch(async (error: unknown) => {
        const isRepaired = await removeLostReferences(target, [nid], error);
        if (!isRepaired && !(error instanceof PortalBusyError)) throw error;
        await item.note(`${reasonOf(error).message}: looking whether the file arrived`);
        const arrived = await arrivedFile(state, before, file);
        return arrived ? { fid: arrived.fid, sha256: null } : portal.files.attach(nid, upload, signal);
      });
      await refuseIfMoved(state, file, sent.sha256 ?? (await fingerprintFile(path, file.source, signal)).sha256);
      return settleAttach(state, file, { fid: sent.fid ?? '', before });
    },
    ({ entry: { file } }) => `file ${file?.fid || 'attached'}, ${bytes} bytes`,
  );
};

/** The file of the node before the attach: a new node has none, that of an older one is in the ledger, unless it was wrong. */
const fidBefore = async ({ entry, node: read, target }: ResourceState): Promise<string | null> => {
  if (entry.file) return entry.file.fid;
  if (target.item.isNewNode) return null;
  return fileOf(read ?? (await target.portal.nodes.read(entry.nid ?? '', target.item.signal)))?.fid ?? null;
};

/** The file of the node, if it is not the one `before` the attach and has the size of what was sent. */
const arrivedFile = async (
  { target, entry }: ResourceState,
  before: string | null,
  { source }: SentFile,
): Promise<FileItem | null> => {
  const file = fileOf(await target.portal.nodes.read(entry.nid ?? '', target.item.signal));
  return file !== null && file.fid !== before && file.filesize === source.bytes ? file : null;
};

/** What was sent (of a streamed file: what is on disk now) must match the fingerprint; otherwise what arrived is unknown. */
const refuseIfMoved = async (state: ResourceState, { source }: SentFile, sha256: string): Promise<void> => {
  if (sha256 === source.sha256) return;
  const unknown = { ...state.entry, file: null, datastore: 'pending', live: false } as const;
  await state.deps.ledger.settle(state.target.item.portal, unknown);
  throw changed(state);
};

const settleAttach = async (
  state: ResourceState,
  { name, source, from }: SentFile,
  { fid, before }: { fid: string; before: string | null },
): Promise<ResourceState> => {
  const { item } = state.target;
  await item.did('attached');
  const attached: LedgerEntry = {
    ...state.entry,
    source: state.source,
    file: { fid, name, bytes: source.bytes, sha256: source.sha256, url: null, ...(from ? { from } : {}) },
    datastore: importsRows(state) ? 'pending' : 'none',
    rowsAreOwn: item.isNewNode && before === null,
    rows: null,
    rowsDropped: 0,
    live: false,
    runId: item.runId,
    syncedAt: Date.now(),
  };
  return { ...state, node: null, entry: await state.deps.ledger.settle(item.portal, attached) };
};
