// Step `verify`: the node is read back, with its file; the rows are counted where the table is proven now.
import { setTimeout as sleep } from 'node:timers/promises';
import { VerifyFailedError } from '../../model/errors.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { rowsDropped } from '../../tables/scan/rows-dropped.ts';
import type { NodeWish } from '../compare/node.ts';
import { proveNode } from './node-prove.ts';
import type { ResourceState } from './resource-state.ts';
import { sentFile } from './resource-state.ts';

/** Proves node, file and datastore of a resource; throws {@link VerifyFailedError} naming what differs. */
export const verifyResource = async (state: ResourceState, wish: NodeWish): Promise<void> => {
  const { item } = state.target;
  await item.step(
    { name: 'verify', light: true, on: `node ${state.entry.nid}` },
    async (signal) => {
      const { entry, node } = await proveNode(state.target, wish, state);
      state.entry = entry;
      await verifyFile(state, node);
      const rows = await verifyRows(state, signal);
      state.entry = { ...state.entry, metadataFingerprint: wish.fingerprint, rows };
      return rows;
    },
    (rows) => (rows === null ? 'verified' : `verified, ${rows} rows`),
  );
};

const verifyFile = async (state: ResourceState, node: PortalNode): Promise<void> => {
  const sent = state.entry.file;
  if (!sent || !state.source) return;
  const { ledger, item, portal } = state.target;
  const file = fileOf(node);
  if (!file || file.filesize !== sent.bytes) {
    // The next publish attaches it again.
    await ledger.put(item.portal, { ...state.entry, file: null, datastore: 'pending', rows: null });
    throw new VerifyFailedError(
      `${portal.name}: node ${node.nid} holds ${file ? `a file of ${file.filesize} bytes` : 'no file'} where ${sent.bytes} bytes were sent`,
      { hint: 'publish again; if it persists, look for an upload limit of the portal' },
    );
  }
  state.entry = { ...state.entry, file: { ...sent, fid: file.fid, name: file.filename } };
};

/** Looks at the size of the table; a portal may show it with some delay. */
const verifyRows = async (state: ResourceState, signal: AbortSignal): Promise<number | null> => {
  const { table, target, entry } = state;
  if (entry.datastore !== 'imported') return null;
  // The rows of a file that did not have to be fetched again were proven before.
  if (!table) return entry.rows;
  const { uuid } = entry;
  let found = '';
  for (const pauseMs of [0, 200, 1000]) {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    const size = (await target.portal.tableSizes([uuid], signal)).get(uuid);
    if (size === undefined) return table.rows;
    const { rows, columns } = { rows: size?.rows ?? 0, columns: size?.columns ?? table.columns.length };
    if (columns === table.columns.length) {
      if (rows === table.rows) return rows;
      if (await isExplained(state, rows)) return rows;
    }
    found = `${rows} rows of ${columns} columns`;
  }
  state.entry = { ...entry, datastore: 'failed' };
  await target.ledger.put(target.item.portal, state.entry);
  throw new VerifyFailedError(
    `${target.portal.name}: the datastore of node ${entry.nid} holds ${found}, the file has ${table.rows} rows of ${table.columns.length} columns`,
    { hint: 'the portal lost something on import; publish again, and if it persists look at its import log' },
  );
};

/** True where the missing rows are those that the portal's importer is known to drop; then that is remembered. */
const isExplained = async (state: ResourceState, rows: number): Promise<boolean> => {
  const { table } = state;
  const sent = sentFile(state);
  if (!table || !sent || rows >= table.rows) return false;
  const dropped = await rowsDropped(sent.path, table.rows, state.target.item.signal);
  if (rows !== table.rows - dropped.length) return false;
  state.entry = { ...state.entry, rowsDropped: dropped.length };
  await state.target.item.note(
    `the importer of this portal drops the rows in lines ${dropped.slice(0, 10).join(', ')}${dropped.length > 10 ? ' …' : ''}: they end in the same 32 bytes as a 1,000th row`,
  );
  return true;
};
