// Steps of a resource that prove it: node, file and table are read back, then recorded as live, or as waiting for their proof.
import { setTimeout as sleep } from 'node:timers/promises';
import { countedColumns } from '../../dataset-api/names.ts';
import { VerifyFailedError } from '../../model/errors.ts';
import type { LedgerEntry, PortalFile } from '../../model/ledger-entry.ts';
import { isOfWeb, sourcePathOf } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { rowsDropped } from '../../tables/scan/rows-dropped.ts';
import type { PreparedTable } from '../../tables/transform/prepare.ts';
import { madeTable, type SentFile } from '../compare/local-file.ts';
import { brokenFile, fileFault, proveTable } from '../compare/prove.ts';
import { isLate } from '../plan/known-wish.ts';
import { keepGoodFile } from './fall-back.ts';
import { formerWith, provenVersion } from './guard-table.ts';
import { proveNode } from './node-prove.ts';
import { nodeWishOf } from './resource-attach.ts';
import { type ResourceState, type ResourceStep, sentFile } from './resource-file.ts';

/** Step `verify`: reads node, file and table back. @throws VerifyFailedError naming what differs */
export const verifyResource: ResourceStep = async (state) => {
  const wish = nodeWishOf(state);
  const entry = await state.target.item.step(
    { name: 'verify', light: true, on: `node ${state.entry.nid}` },
    async (signal) => {
      const { entry, node } = await proveNode(state.target, wish, state);
      const proven = await verifyRows(await verifyFile({ ...state, entry }, node), signal);
      return { ...proven, metadataFingerprint: wish.fingerprint };
    },
    ({ rows }) => (rows === null ? 'verified' : `verified, ${rows} rows`),
  );
  return { ...state, entry };
};

const verifyFile = async (state: ResourceState, node: PortalNode): Promise<ResourceState> => {
  const { entry, target } = state;
  const sent = entry.file;
  if (!sent || !state.source) return state;
  const { ledger, item, portal } = target;
  const file = fileOf(node);
  const fault = fileFault(file, sent);
  if (file && fault === null)
    return { ...state, entry: { ...entry, file: { ...sent, fid: file.fid, name: file.filename } } };
  // The next publish attaches it again.
  await ledger.put(item.portal, { ...entry, ...brokenFile, rows: null });
  throw new VerifyFailedError(`${portal.name}: node ${node.nid} does not hold what was sent: ${fault}`, {
    hint: 'publish again; if it persists, look for an upload limit of the portal',
  });
};

/** Verifies the size of the table; a portal may report it with some delay. */
const verifyRows = async (state: ResourceState, signal: AbortSignal): Promise<LedgerEntry> => {
  const { table, target, entry } = state;
  if (entry.datastore !== 'imported') return { ...entry, rows: null };
  // Rows of a file that was not fetched again are proven already.
  if (!table) return entry;
  let lines: number[] = [];
  const dropped = async (): Promise<number> => {
    const sent = sentFile(state);
    lines = sent ? await rowsDropped(sent.path, table.rows, signal) : [];
    return lines.length;
  };
  const shape = { rows: table.rows, columns: countedColumns(table.columns), dropped };
  let found = '';
  for (const pauseMs of [0, 200, 1000]) {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    const { fault, ...proven } = await proveTable(await target.portal.datastore.tableSize(entry.uuid, signal), shape);
    if (fault === null) {
      if (proven.rowsDropped > 0) await noteDropped(state, lines);
      return { ...entry, ...proven };
    }
    found = fault;
  }
  await target.ledger.put(target.item.portal, { ...entry, datastore: 'failed' });
  throw new VerifyFailedError(`${target.portal.name}: node ${entry.nid}: ${found}`, {
    hint: 'the portal lost data on import; publish again, and if it persists check its import log',
  });
};

const noteDropped = ({ target }: ResourceState, lines: readonly number[]): Promise<void> =>
  target.item.note(
    `the importer of this portal drops the rows in lines ${lines.slice(0, 10).join(', ')}${lines.length > 10 ? ' …' : ''}: they end in the same 32 bytes as a 1,000th row`,
  );

/** Another recipe may give the same bytes: nothing was sent then, and only their origin is recorded. */
const withOrigin = (file: PortalFile, sent: SentFile | null): PortalFile => {
  if (!sent || sent.source.sha256 !== file.sha256) return file;
  const { from: _from, ...plain } = file;
  return sent.from ? { ...plain, from: sent.from } : plain;
};

/** What is said of the table that was made. */
const saidOf = (made: PreparedTable | null): Pick<LedgerEntry, 'rejected' | 'mended' | 'doubts'> => ({
  rejected: made && made.rejected.rows > 0 ? { rows: made.rejected.rows, path: made.rejects } : null,
  mended: made?.mended ?? [],
  doubts: made?.warnings ?? [],
});

/** Step `ledger`: records what was proven; a table that is proven later, together with others, is left open. */
export const recordResource: ResourceStep = async (state) => {
  const { deps, entry, table, wish } = state;
  const { item } = state.target;
  const isOpen = entry.datastore === 'pending';
  const good = await keepGoodFile(state);
  const sent = sentFile(state);
  const version = provenVersion(state);
  const former = isOpen ? undefined : await formerWith(deps.ledger, item.portal, entry, version);
  // A new description is no new data.
  const staysLate = isLate(entry) && version === entry.version && !isOpen;
  const proven: LedgerEntry = {
    ...entry,
    title: wish.title,
    source: state.source ?? entry.source,
    file: entry.file && withOrigin(entry.file, sent),
    // A file that was not fetched again was not prepared again either.
    ...(sent ? saidOf(madeTable(state.prepared)) : {}),
    sourcePath: sourcePathOf(wish.source),
    fetched: state.fetched ?? (isOfWeb(wish.source) ? entry.fetched : null),
    live: wish.published && !isOpen && !staysLate,
    stale: staysLate,
    reason: staysLate ? entry.reason : null,
    ...(isOpen ? {} : { good, version, refused: null }),
    runId: item.runId,
    syncedAt: Date.now(),
  };
  const settled = await item.step(
    { name: 'ledger', on: wish.key, light: true },
    () => deps.ledger.settle(item.portal, proven, { former }),
    ({ live }) => (isOpen ? 'its table is still to be verified' : live ? 'live' : 'published as a draft'),
  );
  if (isOpen && good) {
    const rows = table?.rows ?? 0;
    await item.awaitProof({
      nid: entry.nid ?? '',
      uuid: entry.uuid,
      rows,
      columns: countedColumns(table?.columns ?? []),
      good: { ...good, rows: table?.rows ?? null },
      version,
    });
  }
  // Once it is published, the fetched file is not needed any more.
  if (state.fetched) await deps.fetched.remove({ portal: item.portal, uuid: wish.uuid });
  return { ...state, entry: settled };
};
