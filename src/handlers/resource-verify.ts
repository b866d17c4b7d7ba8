// Step `verify`: the portal is read back, and the row count is compared, before anything counts as live.
import { setTimeout as sleep } from 'node:timers/promises';
import { VerifyFailedError } from '../errors.ts';
import type { PortalNode } from '../portal/client.ts';
import { fileOf } from './node-file.ts';
import type { NodeWish } from './node-wish.ts';
import { proveNode } from './node-write.ts';
import { nodeTarget, type ResourceState } from './resource-state.ts';

/** Proves node, file and datastore of a resource; throws {@link VerifyFailedError} naming what differs. */
export const verifyResource = async (state: ResourceState, wish: NodeWish): Promise<void> => {
  await state.item.step(
    { name: 'verify', light: true, on: `node ${state.entry.nid}` },
    async (signal) => {
      const { entry, node } = await proveNode(nodeTarget(state), wish, state.entry, signal);
      state.entry = entry;
      await verifyFile(state, node);
      const rows = await verifyRows(state, signal);
      state.entry = {
        ...state.entry,
        vid: node.vid,
        url: node.path ?? null,
        metadataFingerprint: wish.fingerprint,
        rows,
      };
      return rows;
    },
    (rows) => (rows === null ? 'as wished' : `as wished, ${rows} rows`),
  );
};

const verifyFile = async (state: ResourceState, node: PortalNode): Promise<void> => {
  const sent = state.entry.file;
  if (!sent || !state.source) return;
  const file = fileOf(node);
  if (!file || file.filesize !== sent.bytes) {
    // The next publish attaches it again.
    await state.deps.ledger.put(state.item.portal, {
      ...state.entry,
      file: null,
      datastore: 'pending',
      rows: null,
    });
    throw new VerifyFailedError(
      `${state.portal.name}: node ${node.nid} holds ${file ? `a file of ${file.filesize} bytes` : 'no file'} where ${sent.bytes} bytes were sent`,
      { hint: 'publish again; if it persists, look for an upload limit of the portal' },
    );
  }
  state.entry = { ...state.entry, file: { ...sent, fid: file.fid, name: file.filename } };
};

/** Looks at the size of the table; a portal may show it with some delay. */
const verifyRows = async (state: ResourceState, signal: AbortSignal): Promise<number | null> => {
  const { table, portal, wish } = state;
  if (state.entry.datastore !== 'imported') return null;
  // The rows of a file that did not have to be fetched again were proven before.
  if (!table) return state.entry.rows;
  if (state.counted) return table.rows;
  let found = '';
  for (const pauseMs of [0, 200, 1000]) {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    const size = await portal.tableSize(wish.uuid, signal);
    const columns = size?.columns ?? table.columns.length;
    if (size === null || (size.rows === table.rows && columns === table.columns.length)) return table.rows;
    found = `${size.rows} rows of ${columns} columns`;
  }
  state.entry = { ...state.entry, datastore: 'failed' };
  await state.deps.ledger.put(state.item.portal, state.entry);
  throw new VerifyFailedError(
    `${portal.name}: the datastore of node ${state.entry.nid} holds ${found}, the file has ${table.rows} rows of ${table.columns.length} columns`,
    { hint: 'the portal lost something on import; publish again, and if it persists look at its import log' },
  );
};
