// A resource: one file from its folder to a verified node. Each step looks first at what is done already.
import { setTimeout as sleep } from 'node:timers/promises';
import { contentTypeOf } from '../../dataset-api/file-types.ts';
import { countedColumns } from '../../dataset-api/names.ts';
import { PortalBusyError, reasonOf, VerifyFailedError } from '../../model/errors.ts';
import { type LedgerEntry, newEntry, type PortalFile } from '../../model/ledger-entry.ts';
import { isOfWeb, sourcePathOf } from '../../model/wish.ts';
import { isAnswer, type PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { removePreparedFile } from '../../tables/transform/prepare.ts';
import { plural } from '../../util/plural.ts';
import { madeTable, type SentFile } from '../compare/local-file.ts';
import { nodeOf } from '../compare/node.ts';
import { brokenFile, fileFault, proveTable } from '../compare/prove.ts';
import { isLate } from '../plan/known-wish.ts';
import { importFile } from './datastore-import.ts';
import type { HandlerDeps } from './deps.ts';
import { formerWith, guardTable, provenVersion, versionsToReport } from './guard.ts';
import { asOf, endOf, type Item, noteFound, workLost } from './item.ts';
import { type NodeTarget, targetOf } from './node-locate.ts';
import { proveNode } from './node-prove.ts';
import { removeLostReferences, writeNode } from './node-write.ts';
import { keepGoodFile, refuseFile, restoreLastGood, whyImportAgain } from './refused-file.ts';
import { removeNode } from './removal.ts';
import {
  changed,
  checkFile,
  compareRows,
  doubtsOf,
  fetchAddress,
  fetchSource,
  importsRows,
  isRefused,
  prepareTable,
  type ResourceState,
  type ResourceStep,
  sentFile,
  shapeOf,
} from './resource-file.ts';

export type ResourceMode = Pick<ResourceState, 'datasetNid' | 'provesNow'> & Required<Pick<NodeTarget, 'isNewDataset'>>;

/** Publishes or removes a resource; ends its item unless its table is still to be proven. */
export const publishResource = async (deps: HandlerDeps, item: Item, mode: ResourceMode): Promise<void> => {
  if (item.unproven && !mode.provesNow) return;
  const [work, known] = await Promise.all([
    deps.runs.resourceWork(item.runId, item.key),
    deps.ledger.entry(item.portal, item.key),
  ]);
  if (!work) throw workLost(item.runId, item.key);
  await noteFound(item, known, work.why);
  const { wish, removal, source: seen } = work;
  const { isNewDataset, ...how } = mode;
  const target = { ...targetOf(deps, item, work), isNewDataset };
  const { key, uuid, title } = wish;
  const before = known ?? newEntry({ key, kind: 'resource', uuid, title, sourcePath: sourcePathOf(wish.source) });
  if (removal) {
    const removed = await removeNode(target, nodeOf('resource', wish), before, removal);
    return item.end(removed, { outcome: 'done', reason: null });
  }
  const nothing = { source: null, prepared: null, fetched: null, table: null, changes: null, node: null };
  const flow = { state: { ...nothing, ...how, deps, target, wish, seen, entry: before, fallsBack: false } };
  const entry = await publish(flow).finally(async () => {
    const made = madeTable(flow.state.prepared);
    if (made) await removePreparedFile(made.path);
  });
  if (item.unproven && !mode.provesNow) return;
  const held = entry.refused?.guard === 'held' && entry.reason !== null;
  const versions = held ? { versions: await versionsToReport(deps.ledger, item, entry) } : {};
  return item.end(entry, { ...endOf(item, entry.reason), ...versions });
};

/** What the steps of a resource have come to, also where one of them fails. */
type Flow = { state: ResourceState };

/** Takes steps one after the other, until the file turns out to be refused. */
const take = async (flow: Flow, steps: readonly ResourceStep[]): Promise<void> => {
  const { deps, target, entry } = flow.state;
  try {
    for (const step of steps) {
      if (!flow.state.fallsBack && isRefused(flow.state)) return;
      flow.state = await step(flow.state);
    }
  } catch (error) {
    // A step that fails has recorded what it did.
    const known = await deps.ledger.entry(target.item.portal, entry.key);
    flow.state = { ...flow.state, entry: known ?? flow.state.entry };
    throw error;
  }
};

/** Runs all steps; a file that the portal cannot import is replaced by the last good one, and the entry holds the reason. */
const publish = async (flow: Flow): Promise<LedgerEntry> => {
  const { item } = flow.state.target;
  try {
    await take(flow, [...onThisHost, ...onThePortal, record]).catch(async (error: unknown) => {
      const why = whyImportAgain(flow.state, error);
      if (why === null) throw error;
      await item.note(why);
      await take(flow, [importRows, verify, record]);
    });
  } catch (error) {
    const refused = await refuseFile(flow.state, error);
    if (refused === null) throw error;
    flow.state = refused;
  }
  if (!isRefused(flow.state)) return flow.state.entry;
  return restoreLastGood(flow.state, async (state) => {
    const back = { state };
    await take(back, onThePortal);
    return back.state;
  });
};

/** Step `node`: creates or updates it, or creates one anew that vanished; its file is attached by the steps that follow. */
const putNode: ResourceStep = async (state) => {
  const { datasetNid, target, wish, entry } = state;
  const reference = datasetNid === null ? {} : { field_dataset_ref: { und: [{ target_id: datasetNid }] } };
  return { ...state, ...(await writeNode(target, nodeOf('resource', wish), entry, { atCreation: reference })) };
};

/** Step `bring`: fetches a file that is published and missing from the node, as on one that was recreated. */
const bringFile: ResourceStep = async (state) => {
  const { source } = state.wish;
  if (source.kind !== 'url' || state.entry.file !== null) return state;
  return guardTable(await checkFile(await prepareTable(await fetchAddress(state, source, null))));
};

const attachFile: ResourceStep = async (state) => {
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
        : 'an interrupted attach left nothing of this version: attaching it',
    );
    if (arrived) return settleAttach(state, file, { fid: arrived.fid, before: entry.pending.before });
  }
  return item.step(
    { name: 'attach', on: `${file.name} to node ${nid}`, writes: true },
    async (signal, moved) => {
      const read = async () => fileOf(state.node ?? (await portal.nodes.read(nid, signal)))?.fid ?? null;
      // A new node has none; that of an older one is in the ledger, unless it was wrong or a write was interrupted.
      const known = entry.pending ? undefined : (entry.file?.fid ?? (item.isNewNode ? null : undefined));
      const before = known === undefined ? await read() : known;
      await deps.ledger.begin(item.portal, entry, { what: 'attach', before, nonce: sha256 });
      const { path, name } = file;
      const upload = { path, name, bytes, contentType: contentTypeOf(name), moved };
      const sent = await portal.attach(nid, upload, signal).catch(async (error: unknown) => {
        const isRepaired = await removeLostReferences(target, [nid], error);
        if (!isRepaired && !(error instanceof PortalBusyError)) throw error;
        await item.note(`${reasonOf(error).message}: looking whether the file arrived`);
        const arrived = await arrivedFile(state, before, file);
        return arrived ? { fid: arrived.fid, sha256: null } : portal.attach(nid, upload, signal);
      });
      // Of a streamed file, what is on disk now must be what was read before.
      if ((sent.sha256 ?? (await fingerprintFile(path, file.source, signal)).sha256) !== sha256) {
        await deps.ledger.settle(item.portal, { ...entry, ...brokenFile, live: false });
        throw changed(state);
      }
      return settleAttach(state, file, { fid: sent.fid, before });
    },
    ({ entry: { file } }) => `file ${file?.fid}, ${plural(bytes, 'byte')}`,
  );
};

/** The file of the node, if it is not the one `before` the attach and has the size of what was sent. */
const arrivedFile = async ({ target, entry }: ResourceState, before: string | null, { source }: SentFile) => {
  const file = fileOf(await target.portal.nodes.read(entry.nid ?? '', target.item.signal));
  return file !== null && file.fid !== before && file.filesize === source.bytes ? file : null;
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
    file: { fid, name, bytes: source.bytes, sha256: source.sha256, ...(from ? { from } : {}) },
    datastore: importsRows(state) ? 'pending' : 'none',
    rowsAreOwn: item.isNewNode && before === null,
    rows: null,
    rowsDropped: 0,
    live: false,
    ...asOf(item),
  };
  return { ...state, node: null, entry: await state.deps.ledger.settle(item.portal, attached) };
};

/** Step `verify`: reads node, file and table back. @throws VerifyFailedError naming what differs */
const verify: ResourceStep = async (state) => {
  const wish = nodeOf('resource', state.wish);
  const entry = await state.target.item.step(
    { name: 'verify', light: true, on: `node ${state.entry.nid}` },
    async (signal) => {
      const { entry, node } = await proveNode(state.target, wish, state);
      const proven = await verifyRows(await verifyFile({ ...state, entry }, node), signal);
      return { ...proven, metadataFingerprint: wish.fingerprint };
    },
    ({ rows }) => (rows === null ? 'verified' : `verified, ${plural(rows, 'row')}`),
  );
  return { ...state, entry };
};

/** Step `import`. Portals refuse it for a node without the file, as for an account without the right. */
const importRows: ResourceStep = (state) =>
  importFile(state).catch(async (error: unknown) => {
    const { portal, item } = state.target;
    if (isAnswer(error, 'datastore-denied'))
      await verifyFile(state, await portal.nodes.read(state.entry.nid ?? '', item.signal));
    throw error;
  });

const verifyFile = async (state: ResourceState, node: PortalNode): Promise<ResourceState> => {
  const { entry, target } = state;
  const sent = entry.file;
  if (!sent || !state.source) return state;
  const file = fileOf(node);
  const fault = fileFault(file, sent);
  if (file && fault === null)
    return { ...state, entry: { ...entry, file: { ...sent, fid: file.fid, name: file.filename } } };
  // The next publish attaches it again.
  await target.ledger.put(target.item.portal, { ...entry, ...brokenFile, rows: null });
  throw new VerifyFailedError(`${target.portal.name}: node ${node.nid} does not hold what was sent: ${fault}`, {
    hint: 'publish again; if it persists, look for an upload limit of the portal',
  });
};

/** Verifies the size of the table; a portal may report it with some delay. */
const verifyRows = async (state: ResourceState, signal: AbortSignal): Promise<LedgerEntry> => {
  const { table, target, entry } = state;
  if (entry.datastore !== 'imported') return { ...entry, rows: null };
  // Rows of a file that was not fetched again are proven already.
  if (!table) return entry;
  const shape = shapeOf(state, table, signal);
  let found = '';
  for (const pauseMs of [0, 200, 1000]) {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    const { fault, ...proven } = await proveTable(await target.portal.datastore.table(entry.uuid, signal), shape);
    if (fault === null) return { ...entry, ...proven };
    found = fault;
  }
  await target.ledger.put(target.item.portal, { ...entry, datastore: 'failed' });
  throw new VerifyFailedError(`${target.portal.name}: node ${entry.nid}: ${found}`, {
    hint: 'the portal lost data on import; publish again, and if it persists check its import log',
  });
};

/** Another recipe may give the same bytes: nothing was sent then, and only their origin is recorded. */
const withOrigin = (file: PortalFile | null, sent: SentFile | null): PortalFile | null => {
  if (!file || !sent || sent.source.sha256 !== file.sha256) return file;
  const { from: _from, ...plain } = file;
  return sent.from ? { ...plain, from: sent.from } : plain;
};

/** Step `record`: what was proven; a table that is proven later, together with others, is left open. */
const record: ResourceStep = async (state) => {
  const { deps, entry, table, wish } = state;
  const { item } = state.target;
  const isOpen = entry.datastore === 'pending';
  const good = await keepGoodFile(state);
  const sent = sentFile(state);
  const made = madeTable(state.prepared);
  const version = provenVersion(state);
  const former = isOpen ? undefined : await formerWith(deps.ledger, item.portal, entry, version);
  // A new description is no new data.
  const staysLate = isLate(entry) && version === entry.version && !isOpen;
  const proven: LedgerEntry = {
    ...entry,
    title: wish.title,
    source: state.source ?? entry.source,
    file: withOrigin(entry.file, sent),
    changes: version === entry.version ? entry.changes : state.changes,
    // A file that was not fetched again was not prepared again either.
    ...(sent && {
      rejected: made && made.rejected.rows > 0 ? { rows: made.rejected.rows, path: made.rejects } : null,
      fixes: made?.fixes ?? [],
      doubts: doubtsOf(state),
    }),
    sourcePath: sourcePathOf(wish.source),
    fetched: state.fetched ?? (isOfWeb(wish.source) ? entry.fetched : null),
    live: wish.published && !isOpen && !staysLate,
    stale: staysLate,
    reason: staysLate ? entry.reason : null,
    ...(isOpen ? {} : { good, version, refused: null }),
    ...asOf(item),
  };
  const settled = await item.step(
    { name: 'record', on: wish.key, light: true },
    () => deps.ledger.settle(item.portal, proven, { former }),
    ({ live }) => (isOpen ? 'its table is still to be verified' : live ? 'live' : 'published as a draft'),
  );
  if (isOpen && good) {
    const { nid, uuid } = entry;
    const { rows = 0, columns = [] } = table ?? {};
    const wanted = { rows, columns: countedColumns(columns), good: { ...good, rows: table?.rows ?? null } };
    await item.awaitProof({ nid: nid ?? '', uuid, ...wanted, version });
  }
  // Once it is published, the fetched file is not needed any more.
  if (state.fetched) await deps.fetched.remove({ portal: item.portal, uuid: wish.uuid });
  return { ...state, entry: settled };
};

const onThisHost: readonly ResourceStep[] = [fetchSource, prepareTable, checkFile, compareRows, guardTable];
const onThePortal: readonly ResourceStep[] = [putNode, bringFile, attachFile, importRows, verify];
