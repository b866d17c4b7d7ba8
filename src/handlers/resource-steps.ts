// The steps of a resource job, in order; each looks at what is true before it acts.
import { contentTypeOf } from '../dkan/file-types.ts';
import { SourceChangedError, SourceRefusedError } from '../errors.ts';
import { fingerprintFile } from '../intake/fingerprint.ts';
import type { Intent, SourceFingerprint } from '../ledger/entry.ts';
import { isTabular, resourceFingerprint, wantsImport } from '../plan/plan.ts';
import { checkTable } from '../table/check.ts';
import { importFile } from './datastore-import.ts';
import { keepGoodFile } from './fall-back.ts';
import { fileOf } from './node-file.ts';
import type { NodeWish } from './node-wish.ts';
import { didAction, writeNode } from './node-write.ts';
import { nodeTarget, type ResourceState, type ResourceStep } from './resource-state.ts';
import { verifyResource } from './resource-verify.ts';

const hasFile = ({ wish }: ResourceState): boolean => wish.source.kind === 'file';

/** All steps, in order. */
export const resourceSteps: readonly ResourceStep[] = [
  { name: 'fetch', applies: hasFile, run: (state) => fetch(state) },
  { name: 'check', applies: (state) => hasFile(state) && isTabular(fileName(state)), run: (state) => check(state) },
  { name: 'node', applies: () => true, run: (state) => node(state) },
  { name: 'attach', applies: needsAttach, run: (state) => attach(state) },
  { name: 'import', applies: ({ wish }) => wantsImport(wish), run: (state) => importFile(state) },
  { name: 'verify', applies: () => true, run: (state) => verifyResource(state, nodeWishOf(state)) },
  { name: 'ledger', applies: () => true, run: (state) => record(state) },
];

/** The node a resource's wish asks for, below its dataset. */
export const nodeWishOf = ({ wish, job }: ResourceState): NodeWish => ({
  ...wish,
  type: 'resource',
  fields: { ...wish.fields, field_dataset_ref: { und: [{ target_id: job.data.datasetNid }] } },
  fingerprint: resourceFingerprint(wish, job.data.datasetNid),
});

function fileName({ wish }: ResourceState): string {
  return wish.source.kind === 'file' ? wish.source.name : '';
}

const filePath = ({ wish }: ResourceState): string => (wish.source.kind === 'file' ? wish.source.path : '');

const fetch = async (state: ResourceState): Promise<void> => {
  const source = await state.job.step(
    { name: 'fetch', on: fileName(state) },
    (signal) => fingerprintFile(filePath(state), state.seen, signal),
    ({ bytes, sha256 }) => `${bytes} bytes, sha256 ${sha256.slice(0, 12)}`,
  );
  const limit = state.deps.settings.maxFileBytes;
  if (source.bytes > limit) {
    throw new SourceRefusedError(`${filePath(state)} has ${source.bytes} bytes, more than the limit of ${limit}`, {
      hint: 'split the file, or raise limits.table in the configuration',
    });
  }
  state.source = source;
};

const check = async (state: ResourceState): Promise<void> => {
  state.table = await state.job.step(
    { name: 'check', on: fileName(state) },
    async (signal) => {
      const table = await checkTable(filePath(state), { signal, rowBytes: state.deps.settings.maxRowBytes });
      if (table.sha256 !== state.source?.sha256) throw changed(state);
      return table;
    },
    (table) => `sound, ${table.rows} rows, ${table.columns.length} columns`,
  );
};

const changed = (state: ResourceState): SourceChangedError =>
  new SourceChangedError(`${filePath(state)} changed while it was being published`, {
    hint: 'it is read afresh; write to another name first and rename it to avoid this',
  });

const node = async (state: ResourceState): Promise<void> => {
  state.entry = await writeNode(nodeTarget(state), nodeWishOf(state), state.entry, state.intent);
  if (state.intent?.action === 'create' || state.intent?.action === 'update') state.intent = null;
};

function needsAttach(state: ResourceState): boolean {
  return state.source !== null && state.entry.file?.sha256 !== state.source.sha256;
}

const attach = async (state: ResourceState): Promise<void> => {
  const { job, deps, portal, source } = state;
  const nid = state.entry.nid ?? '';
  if (!source) return;
  const { intent } = state;
  if (intent?.action === 'attach' && intent.nid === nid && (await attachHappened(state, intent, source))) return;
  await job.step(
    { name: 'attach', on: `${fileName(state)} to node ${nid}`, writes: true },
    async (signal) => {
      const fid = await fidBefore(state, nid, signal);
      await deps.ledger.begin(job.data.portal, state.wish.key, {
        action: 'attach',
        nid,
        fid,
        bytes: source.bytes,
        sha256: source.sha256,
        at: Date.now(),
      });
      const name = fileName(state);
      const sent = await portal.attachFile(
        nid,
        { path: filePath(state), name, bytes: source.bytes, contentType: contentTypeOf(name) },
        signal,
      );
      await refuseIfMoved(state, source, signal);
      await settleAttach(state, source, sent.fid ?? '');
      return sent.fid;
    },
    (fid) => `file ${fid ?? 'attached'}, ${source.bytes} bytes`,
  );
};

/** A fresh node has no file; of an older one the portal is asked, because the ledger may be behind. */
const fidBefore = async (state: ResourceState, nid: string, signal: AbortSignal): Promise<string | null> => {
  if (state.entry.file === null && state.job.data.actions.includes('created')) return null;
  return fileOf(await state.portal.readNode(nid, signal))?.fid ?? null;
};

const attachHappened = async (
  state: ResourceState,
  intent: Extract<Intent, { action: 'attach' }>,
  source: SourceFingerprint,
): Promise<boolean> => {
  const file = fileOf(await state.portal.readNode(intent.nid, state.job.signal));
  const happened =
    file !== null && file.fid !== intent.fid && file.filesize === intent.bytes && intent.sha256 === source.sha256;
  if (!happened || !file) {
    await state.job.note('an interrupted attach had not taken effect: attaching again');
    return false;
  }
  await state.job.note(`an interrupted attach had taken effect: going on with file ${file.fid}`);
  await settleAttach(state, source, file.fid);
  return true;
};

/** The bytes on disk must still be those that were fingerprinted; otherwise what was sent is unknown. */
const refuseIfMoved = async (state: ResourceState, source: SourceFingerprint, signal: AbortSignal): Promise<void> => {
  const now = await fingerprintFile(filePath(state), source, signal);
  if (now.sha256 === source.sha256) return;
  await state.deps.ledger.settle(state.job.data.portal, {
    ...state.entry,
    file: null,
    datastore: 'pending',
    live: false,
  });
  throw changed(state);
};

const settleAttach = async (state: ResourceState, source: SourceFingerprint, fid: string): Promise<void> => {
  const { deps, job } = state;
  await didAction(job, 'attached');
  state.entry = {
    ...state.entry,
    source,
    file: { fid, name: fileName(state), bytes: source.bytes, sha256: source.sha256, url: null },
    datastore: wantsImport(state.wish) ? 'pending' : 'none',
    rows: null,
    live: false,
    runId: job.data.runId,
    syncedAt: Date.now(),
  };
  state.intent = null;
  await deps.ledger.settle(job.data.portal, state.entry);
};

const record = async (state: ResourceState): Promise<void> => {
  const good = await keepGoodFile(state);
  state.entry = {
    ...state.entry,
    title: state.wish.title,
    source: state.source ?? state.entry.source,
    sourcePath: state.wish.source.kind === 'file' ? state.wish.source.path : null,
    live: state.wish.published,
    stale: false,
    reason: null,
    good,
    refused: null,
    runId: state.job.data.runId,
    syncedAt: Date.now(),
  };
  await state.job.step(
    { name: 'ledger', on: state.wish.key },
    () => state.deps.ledger.settle(state.job.data.portal, state.entry),
    () => (state.entry.live ? 'live' : 'published as a draft'),
  );
};
