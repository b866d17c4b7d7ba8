// Step `verify`: the node is read back, with its file; the rows are counted where the table is proven now.
import { setTimeout as sleep } from 'node:timers/promises';
import { VerifyFailedError } from '../../model/errors.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { rowsDropped } from '../../tables/scan/rows-dropped.ts';
import type { NodeWish } from '../compare/node.ts';
import { fileFault, proveTable } from '../compare/prove.ts';
import { proveNode } from './node-prove.ts';
import { type ResourceState, sentFile } from './resource-state.ts';

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
  const fault = fileFault(file, sent.bytes);
  if (file && fault === null) {
    state.entry = { ...state.entry, file: { ...sent, fid: file.fid, name: file.filename } };
    return;
  }
  // The next publish attaches it again.
  await ledger.put(item.portal, { ...state.entry, file: null, datastore: 'pending', rows: null });
  throw new VerifyFailedError(`${portal.name}: node ${node.nid} does not hold what was sent: ${fault}`, {
    hint: 'publish again; if it persists, look for an upload limit of the portal',
  });
};

/** Looks at the size of the table; a portal may show it with some delay. */
const verifyRows = async (state: ResourceState, signal: AbortSignal): Promise<number | null> => {
  const { table, target, entry } = state;
  if (entry.datastore !== 'imported') return null;
  // The rows of a file that did not have to be fetched again were proven before.
  if (!table) return entry.rows;
  const { uuid } = entry;
  let lines: number[] = [];
  const dropped = async (): Promise<number> => {
    const sent = sentFile(state);
    lines = sent ? await rowsDropped(sent.path, table.rows, signal) : [];
    return lines.length;
  };
  const shape = { rows: table.rows, columns: table.columns.length, dropped };
  let found = '';
  for (const pauseMs of [0, 200, 1000]) {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    const size = (await target.portal.datastore.tableSizes([uuid], signal)).get(uuid);
    const proven = await proveTable(size, shape);
    if (proven.fault === null) {
      state.entry = { ...entry, rowsDropped: proven.rowsDropped };
      if (proven.rowsDropped > 0) await noteDropped(state, lines);
      return proven.rows;
    }
    found = proven.fault;
  }
  state.entry = { ...entry, datastore: 'failed' };
  await target.ledger.put(target.item.portal, state.entry);
  throw new VerifyFailedError(`${target.portal.name}: node ${entry.nid}: ${found}`, {
    hint: 'the portal lost data on import; publish again, and if it persists check its import log',
  });
};

const noteDropped = ({ target }: ResourceState, lines: readonly number[]): Promise<void> =>
  target.item.note(
    `the importer of this portal drops the rows in lines ${lines.slice(0, 10).join(', ')}${lines.length > 10 ? ' …' : ''}: they end in the same 32 bytes as a 1,000th row`,
  );
