// The steps of a resource, in order; each checks the current state before it acts.
import { contentTypeOf } from '../../dataset-api/file-types.ts';
import { countedColumns } from '../../dataset-api/names.ts';
import { PortalBusyError, reasonOf, type SourceChangedError } from '../../model/errors.ts';
import type { GoodFile, Intent, LedgerEntry, PortalFile } from '../../model/ledger-entry.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import type { LiveVersion } from '../../model/table-history.ts';
import { isOfWeb, sourcePathOf } from '../../model/wish.ts';
import { type FileItem, fileOf } from '../../portal-client/replies.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { checkTable } from '../../tables/check.ts';
import { isSmall } from '../../util/file-calls.ts';
import { type SentFile, sourceChanged } from '../compare/local-file.ts';
import { type NodeWish, nodeOf } from '../compare/node.ts';
import { isLate } from '../plan/known-wish.ts';
import { importFile } from './datastore-import.ts';
import { isRefused, keepGoodFile } from './fall-back.ts';
import { formerWith, guardTable, isGuarded, provenVersion } from './guard-table.ts';
import { verifyResource } from './node-prove.ts';
import { writeNode } from './node-write.ts';
import { removeLostReferences } from './patient-write.ts';
import {
  fetchAddress,
  fetchSource,
  forgetFetched,
  importsRows,
  isHere,
  prepareSource,
  type ResourceState,
  type ResourceStep,
  sentFile,
  sourceName,
  sourcePath,
} from './resource-state.ts';

/** All steps, in order. */
export const resourceSteps: readonly ResourceStep[] = [
  { name: 'fetch', applies: ({ wish }) => 'name' in wish.source, run: (state) => fetchSource(state) },
  {
    name: 'prepare',
    applies: (state) => isHere(state) && state.wish.recipe !== undefined,
    run: (state) => prepareSource(state, { path: sourcePath(state), name: sourceName(state) }),
  },
  {
    name: 'check',
    applies: (state) => state.wish.import !== 'unchecked' && isTabular(sentFile(state)?.name ?? ''),
    run: (state) => check(state),
  },
  { name: 'guard', applies: isGuarded, run: (state) => guardTable(state) },
  { name: 'node', applies: () => true, run: (state) => node(state) },
  { name: 'attach', applies: needsAttach, run: (state) => attach(state) },
  {
    name: 'import',
    applies: (state) => state.entry.file !== null && importsRows(state),
    run: (state) => importFile(state),
  },
  { name: 'verify', applies: () => true, run: (state) => verifyResource(state, nodeWishOf(state)) },
  { name: 'ledger', applies: () => true, run: (state) => record(state) },
];

/** The node of a resource's wish. */
export const nodeWishOf = ({ wish }: Pick<ResourceState, 'wish'>): NodeWish => nodeOf('resource', wish);

/** What else a new node is created with: the reference to its dataset, where resources refer to it. */
export const atCreation = ({ datasetNid }: Pick<ResourceState, 'datasetNid'>) =>
  datasetNid === null ? {} : { atCreation: { field_dataset_ref: { und: [{ target_id: datasetNid }] } } };

const check = async (state: ResourceState): Promise<void> => {
  const sent = sentFile(state);
  if (!sent) return;
  const { bytes } = sent.source;
  state.table = await state.target.item.step(
    { name: 'check', on: sent.name, light: isSmall(bytes) },
    async (signal) => {
      const { maxRowBytes: rowBytes } = state.deps.settings;
      const table = await checkTable(sent.path, { signal, bytes, rowBytes, ...state.prepared?.reading });
      if (table.sha256 !== sent.source.sha256) throw changed(state);
      return table;
    },
    (table) => `sound, ${table.rows} rows, ${table.columns.length} columns`,
  );
};

const changed = (state: ResourceState): SourceChangedError =>
  sourceChanged(sourcePath(state), 'it was being published');

const node = async (state: ResourceState): Promise<void> => {
  const { target, intent } = state;
  const before = state.entry.nid;
  const written = await writeNode(target, nodeWishOf(state), state.entry, intent, atCreation(state));
  if (before !== null && written.entry.nid !== before) state.recreated = true;
  state.entry = written.entry;
  state.node = written.node;
  if (intent?.action === 'create' || intent?.action === 'update') state.intent = null;
};

function needsAttach(state: ResourceState): boolean {
  // A recreated node needs the file although its address serves the published version.
  if (state.wish.source.kind === 'url') return state.entry.file === null;
  const sent = sentFile(state);
  return sent !== null && state.entry.file?.sha256 !== sent.source.sha256;
}

const bringFile = async (state: ResourceState): Promise<void> => {
  if (state.wish.source.kind !== 'url') return;
  await fetchAddress(state, state.wish.source, true);
  for (const { name, applies, run } of resourceSteps) {
    if ((name === 'prepare' || name === 'check' || name === 'guard') && applies(state)) await run(state);
  }
};

const attach = async (state: ResourceState): Promise<void> => {
  await bringFile(state);
  if (isRefused(state)) return;
  const { deps, target, intent } = state;
  const { item, portal } = target;
  const nid = state.entry.nid ?? '';
  const file = sentFile(state);
  if (!file) return;
  const { bytes, sha256 } = file.source;
  if (intent?.action === 'attach' && intent.nid === nid && (await attachHappened(state, intent, file))) return;
  await item.step(
    { name: 'attach', on: `${file.name} to node ${nid}`, writes: true },
    async (signal) => {
      const before = await fidBefore(state);
      const begun: Intent = { action: 'attach', nid, fid: before, bytes, sha256, at: Date.now() };
      await deps.ledger.begin(item.portal, state.wish.key, begun);
      const { path, name } = file;
      const content = state.table?.content;
      const upload = { path, name, bytes, content, contentType: contentTypeOf(name) };
      const sent = await portal.files.attach(nid, upload, signal).catch(async (error: unknown) => {
        const isRepaired = await removeLostReferences(target, [nid], error);
        if (!isRepaired && !(error instanceof PortalBusyError)) throw error;
        await item.note(`${reasonOf(error).message}: looking whether the file arrived`);
        const arrived = await arrivedFile(state, begun);
        return arrived ? { fid: arrived.fid, sha256: null } : portal.files.attach(nid, upload, signal);
      });
      await refuseIfMoved(state, file, sent.sha256 ?? (await fingerprintFile(path, file.source, signal)).sha256);
      await settleAttach(state, file, { fid: sent.fid ?? '', before });
      return sent.fid;
    },
    (fid) => `file ${fid ?? 'attached'}, ${bytes} bytes`,
  );
};

/** The file of the node before the attach: a new node has none, that of an older one is in the ledger, unless it was wrong. */
const fidBefore = async ({ entry, node: read, target }: ResourceState): Promise<string | null> => {
  if (entry.file) return entry.file.fid;
  if (target.item.isNewNode) return null;
  return fileOf(read ?? (await target.portal.nodes.read(entry.nid ?? '', target.item.signal)))?.fid ?? null;
};

/** The file of the node, if it differs from the one before the attach and has the size of what was sent. */
const arrivedFile = async (
  { target }: ResourceState,
  intent: Extract<Intent, { action: 'attach' }>,
): Promise<FileItem | null> => {
  const file = fileOf(await target.portal.nodes.read(intent.nid, target.item.signal));
  return file !== null && file.fid !== intent.fid && file.filesize === intent.bytes ? file : null;
};

const attachHappened = async (
  state: ResourceState,
  intent: Extract<Intent, { action: 'attach' }>,
  sent: SentFile,
): Promise<boolean> => {
  const { item } = state.target;
  const file = intent.sha256 === sent.source.sha256 ? await arrivedFile(state, intent) : null;
  if (!file) {
    await item.note('an interrupted attach had not taken effect: attaching again');
    return false;
  }
  await item.note(`an interrupted attach had taken effect: going on with file ${file.fid}`);
  await settleAttach(state, sent, { fid: file.fid, before: intent.fid });
  return true;
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
  sent: SentFile,
  { fid, before }: { fid: string; before: string | null },
): Promise<void> => {
  const { deps, target } = state;
  const { item } = target;
  const { name, source, from } = sent;
  await item.did('attached');
  state.node = null;
  state.entry = {
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
  state.intent = null;
  await deps.ledger.settle(item.portal, state.entry);
};

/** Another recipe may give the same bytes: nothing was sent then, and only their origin is recorded. */
const withOrigin = (file: PortalFile, sent: SentFile | null): PortalFile => {
  if (!sent || sent.source.sha256 !== file.sha256) return file;
  const { from: _from, ...plain } = file;
  return sent.from ? { ...plain, from: sent.from } : plain;
};

const record = async (state: ResourceState): Promise<void> => {
  const { item } = state.target;
  // The table is proven later, together with others.
  const isOpen = state.entry.datastore === 'pending';
  const good = await keepGoodFile(state);
  const sent = sentFile(state);
  const version = provenVersion(state);
  const former = isOpen ? undefined : await formerWith(state.deps.ledger, item.portal, state.entry, version);
  state.entry = {
    ...state.entry,
    title: state.wish.title,
    source: state.source ?? state.entry.source,
    file: state.entry.file && withOrigin(state.entry.file, sent),
    // A file that was not fetched again was not prepared again either.
    rejected: sent ? (state.prepared?.rejected ?? null) : state.entry.rejected,
    mended: sent ? (state.prepared?.mended ?? []) : state.entry.mended,
    doubts: sent ? (state.prepared?.warnings ?? []) : state.entry.doubts,
    sourcePath: sourcePathOf(state.wish.source),
    fetched: state.fetched ?? (isOfWeb(state.wish.source) ? state.entry.fetched : null),
    live: state.wish.published && !isOpen,
    stale: false,
    reason: null,
    // A new description is no new data.
    ...(isLate(state.entry) && version === state.entry.version && !isOpen ? lateness(state.entry) : {}),
    ...(isOpen ? {} : { good, version, refused: null }),
    runId: item.runId,
    syncedAt: Date.now(),
  };
  await item.step(
    { name: 'ledger', on: state.wish.key, light: true },
    () => state.deps.ledger.settle(item.portal, state.entry, { former }),
    () => (isOpen ? 'its table is still to be verified' : state.entry.live ? 'live' : 'published as a draft'),
  );
  if (isOpen && good) await awaitProof(state, good, version);
  await forgetFetched(state);
};

const lateness = ({ reason }: LedgerEntry): Pick<LedgerEntry, 'live' | 'stale' | 'reason'> => ({
  live: false,
  stale: true,
  reason,
});

const awaitProof = async (
  { target, entry, table }: ResourceState,
  good: GoodFile,
  version: LiveVersion | null,
): Promise<void> =>
  target.item.awaitProof({
    nid: entry.nid ?? '',
    uuid: entry.uuid,
    rows: table?.rows ?? 0,
    columns: countedColumns(table?.columns ?? []),
    good: { ...good, rows: table?.rows ?? null },
    version,
  });
