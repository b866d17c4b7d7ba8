// The steps of a resource job, in order; each looks at what is true before it acts.
import { contentTypeOf } from '../dkan/file-types.ts';
import { SourceChangedError } from '../errors.ts';
import { isSmall } from '../file-calls.ts';
import { fingerprintFile } from '../intake/fingerprint.ts';
import type { Intent, PortalFile } from '../ledger/entry.ts';
import { isTabular, resourceFingerprint } from '../plan/plan.ts';
import { checkTable } from '../table/check.ts';
import { isOfWeb, sourcePathOf } from '../wish.ts';
import { importFile } from './datastore-import.ts';
import { keepGoodFile } from './fall-back.ts';
import { fetchAddress, fetchSource, forgetFetched } from './fetch-step.ts';
import { fileOf } from './node-file.ts';
import type { NodeWish } from './node-wish.ts';
import { writeNode } from './node-write.ts';
import { prepareSource } from './prepare-source.ts';
import { nodeTarget, type ResourceState, type ResourceStep, type SentFile } from './resource-state.ts';
import { verifyResource } from './resource-verify.ts';
import { importsRows, isHere, sentFile, sourceName, sourcePath } from './sent-file.ts';

/** All steps, in order. */
export const resourceSteps: readonly ResourceStep[] = [
  { name: 'fetch', applies: ({ wish }) => 'name' in wish.source, run: (state) => fetchSource(state) },
  {
    name: 'prepare',
    applies: (state) => isHere(state) && state.wish.recipe !== undefined,
    run: (state) => prepareSource(state, { path: sourcePath(state), name: sourceName(state) }),
  },
  { name: 'check', applies: (state) => isTabular(sentFile(state)?.name ?? ''), run: (state) => check(state) },
  { name: 'node', applies: () => true, run: (state) => node(state) },
  { name: 'attach', applies: needsAttach, run: (state) => attach(state) },
  { name: 'import', applies: importsRows, run: (state) => importFile(state) },
  { name: 'verify', applies: () => true, run: (state) => verifyResource(state, nodeWishOf(state)) },
  { name: 'ledger', applies: () => true, run: (state) => record(state) },
];

/** The node a resource's wish asks for, below its dataset. */
export const nodeWishOf = ({ wish, datasetNid }: ResourceState): NodeWish => ({
  ...wish,
  type: 'resource',
  fields: { ...wish.fields, field_dataset_ref: { und: [{ target_id: datasetNid }] } },
  fingerprint: resourceFingerprint(wish, datasetNid),
});

const check = async (state: ResourceState): Promise<void> => {
  const sent = sentFile(state);
  if (!sent) return;
  const { bytes } = sent.source;
  state.table = await state.item.step(
    { name: 'check', on: sent.name, light: isSmall(bytes) },
    async (signal) => {
      const table = await checkTable(sent.path, { signal, bytes, rowBytes: state.deps.settings.maxRowBytes });
      if (table.sha256 !== sent.source.sha256) throw changed(state);
      return table;
    },
    (table) => `sound, ${table.rows} rows, ${table.columns.length} columns`,
  );
};

const changed = (state: ResourceState): SourceChangedError =>
  new SourceChangedError(`${sourcePath(state)} changed while it was being published`, {
    hint: 'it is read afresh; write to another name first and rename it to avoid this',
  });

const node = async (state: ResourceState): Promise<void> => {
  state.entry = await writeNode(nodeTarget(state), nodeWishOf(state), state.entry, state.intent);
  if (state.intent?.action === 'create' || state.intent?.action === 'update') state.intent = null;
};

function needsAttach(state: ResourceState): boolean {
  // A node that had to be made anew needs the file although its address gives the published version.
  if (state.wish.source.kind === 'url') return state.entry.file === null;
  const sent = sentFile(state);
  return sent !== null && state.entry.file?.sha256 !== sent.source.sha256;
}

const bringFile = async (state: ResourceState): Promise<void> => {
  if (state.wish.source.kind !== 'url') return;
  await fetchAddress(state, state.wish.source, true);
  for (const { name, applies, run } of resourceSteps) {
    if ((name === 'prepare' || name === 'check') && applies(state)) await run(state);
  }
};

const attach = async (state: ResourceState): Promise<void> => {
  await bringFile(state);
  const { item, deps, portal, intent } = state;
  const nid = state.entry.nid ?? '';
  const file = sentFile(state);
  if (!file) return;
  const { bytes, sha256 } = file.source;
  if (intent?.action === 'attach' && intent.nid === nid && (await attachHappened(state, intent, file))) return;
  await item.step(
    { name: 'attach', on: `${file.name} to node ${nid}`, writes: true },
    async (signal) => {
      const fid = await fidBefore(state, nid, signal);
      await deps.ledger.begin(item.portal, state.wish.key, {
        action: 'attach',
        nid,
        fid,
        bytes,
        sha256,
        at: Date.now(),
      });
      const { path, name } = file;
      const content = state.table?.content;
      const sent = await portal.attachFile(
        nid,
        { path, name, bytes, content, contentType: contentTypeOf(name) },
        signal,
      );
      await refuseIfMoved(state, file, sent.sha256 ?? (await fingerprintFile(path, file.source, signal)).sha256);
      await settleAttach(state, file, sent.fid ?? '');
      return sent.fid;
    },
    (fid) => `file ${fid ?? 'attached'}, ${bytes} bytes`,
  );
};

/** A fresh node has no file; of an older one the portal is asked, because the ledger may be behind. */
const fidBefore = async (state: ResourceState, nid: string, signal: AbortSignal): Promise<string | null> => {
  if (state.entry.file === null && state.item.actions.includes('created')) return null;
  return fileOf(await state.portal.readNode(nid, signal))?.fid ?? null;
};

const attachHappened = async (
  state: ResourceState,
  intent: Extract<Intent, { action: 'attach' }>,
  sent: SentFile,
): Promise<boolean> => {
  const file = fileOf(await state.portal.readNode(intent.nid, state.item.signal));
  const happened =
    file !== null && file.fid !== intent.fid && file.filesize === intent.bytes && intent.sha256 === sent.source.sha256;
  if (!happened || !file) {
    await state.item.note('an interrupted attach had not taken effect: attaching again');
    return false;
  }
  await state.item.note(`an interrupted attach had taken effect: going on with file ${file.fid}`);
  await settleAttach(state, sent, file.fid);
  return true;
};

/** What was sent (of a streamed file: what is on disk now) must be what was fingerprinted; otherwise what arrived is unknown. */
const refuseIfMoved = async (state: ResourceState, { source }: SentFile, sha256: string): Promise<void> => {
  if (sha256 === source.sha256) return;
  await state.deps.ledger.settle(state.item.portal, {
    ...state.entry,
    file: null,
    datastore: 'pending',
    live: false,
  });
  throw changed(state);
};

const settleAttach = async (state: ResourceState, sent: SentFile, fid: string): Promise<void> => {
  const { deps, item } = state;
  const { name, source, from } = sent;
  await item.did('attached');
  state.entry = {
    ...state.entry,
    source: state.source,
    file: { fid, name, bytes: source.bytes, sha256: source.sha256, url: null, ...(from ? { from } : {}) },
    datastore: importsRows(state) ? 'pending' : 'none',
    rows: null,
    live: false,
    runId: item.runId,
    syncedAt: Date.now(),
  };
  state.intent = null;
  await deps.ledger.settle(item.portal, state.entry);
};

/** Other steps may give the same bytes: nothing was sent then, and only where they came from is noted. */
const withOrigin = (file: PortalFile, sent: SentFile | null): PortalFile => {
  if (!sent || sent.source.sha256 !== file.sha256) return file;
  const { from: _from, ...plain } = file;
  return sent.from ? { ...plain, from: sent.from } : plain;
};

const record = async (state: ResourceState): Promise<void> => {
  const good = await keepGoodFile(state);
  state.entry = {
    ...state.entry,
    title: state.wish.title,
    source: state.source ?? state.entry.source,
    file: state.entry.file && withOrigin(state.entry.file, sentFile(state)),
    // What is not fetched again is not made again either.
    rejected: sentFile(state) ? (state.prepared?.rejected ?? null) : state.entry.rejected,
    sourcePath: sourcePathOf(state.wish.source),
    fetched: state.fetched ?? (isOfWeb(state.wish.source) ? state.entry.fetched : null),
    live: state.wish.published,
    stale: false,
    reason: null,
    good,
    refused: null,
    runId: state.item.runId,
    syncedAt: Date.now(),
  };
  await state.item.step(
    { name: 'ledger', on: state.wish.key, light: true },
    () => state.deps.ledger.settle(state.item.portal, state.entry),
    () => (state.entry.live ? 'live' : 'published as a draft'),
  );
  await forgetFetched(state);
};
