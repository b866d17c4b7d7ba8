// Verifies that a node holds what is wanted, as a reader of the portal sees it; step `verify` of resources.

import { setTimeout as sleep } from 'node:timers/promises';
import { baselineOf, countItems, shownField } from '../../dataset-api/compare.ts';
import { countedColumns } from '../../dataset-api/names.ts';
import { PortalGoneError, VerifyFailedError } from '../../model/errors.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { ItemAction } from '../../model/report.ts';
import type { Portal, PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { rowsDropped } from '../../tables/scan/rows-dropped.ts';
import {
  asRead,
  differences,
  isKnownDifference,
  isOurs,
  markerOf,
  type NodeWish,
  resolveAt,
  unexpectedFields,
} from '../compare/node.ts';
import { brokenFile, fileFault, proveTable } from '../compare/prove.ts';
import type { Item } from './item.ts';
import type { NodeTarget, WrittenNode } from './node-locate.ts';
import { editsOf, type WriteMore, writeNode } from './node-write.ts';
import { type ResourceState, sentFile } from './resource-state.ts';

/** A node that was proven. */
interface ProvenNode {
  entry: LedgerEntry;
  node: PortalNode;
}

/**
 * Proves that a node holds what is wanted; `node` as it was read after the last write, null to read it now. One that was
 * changed on the portal since our last write is restored, once. After a write of this job a difference is the portal's: an
 * essential field fails, any other one is remembered and reported as a warning.
 * @throws VerifyFailedError, PortalGoneError when the node is gone or not ours
 */
export const proveNode = async (
  target: NodeTarget,
  wish: NodeWish,
  { entry, node: known }: WrittenNode,
  more: WriteMore = {},
): Promise<ProvenNode> => {
  const { item, ledger, portal } = target;
  const read = known ?? (await readOurs(target, wish, entry));
  const { fields } = await resolveAt(portal, wish, read, item.signal);
  const wished = { ...wish, fields };
  const node = await growItems(target, wished, read);
  const wrong = unexpectedFields(wished, entry, node);
  if (isWrittenBy(item)) {
    const kept = new Set((await ledger.sentFor(item.portal, wish.key))?.kept);
    return settled(target, wished, { entry, node, wrong: wrong.filter((field) => !kept.has(field)), kept });
  }
  const { kept, edited } = await editsOf(target, wished, entry, node);
  const open = [...new Set([...wrong, ...edited])].filter((field) => !kept.has(field));
  if (open.length === 0) return settled(target, wished, { entry, node, wrong: [], kept });
  await item.note(`node ${entry.nid} was changed on the portal (${open.join(', ')}): restoring it`);
  const restored = await writeNode(target, wish, { ...entry, metadataFingerprint: null }, null, more);
  const now = restored.node ?? (await readOurs(target, wish, restored.entry));
  const still = unexpectedFields(wished, restored.entry, now).filter((field) => !kept.has(field));
  return settled(target, wished, { entry: restored.entry, node: now, wrong: still, kept });
};

/**
 * Portals with an editing form accept one more item of a field with each write. Repeats the write while that adds items, and
 * returns the node as it is then.
 */
const growItems = async ({ item, portal }: NodeTarget, wish: NodeWish, read: PortalNode): Promise<PortalNode> => {
  if (!isWrittenBy(item) || (await portal.dialectInUse(item.signal)) !== 'form') return read;
  let node = read;
  for (let hasGrown = true; hasGrown; ) {
    const before = node;
    const short = Object.entries(wish.fields).filter(([name, value]) => {
      const held = itemsIn(before[name]);
      return held > 0 && itemsIn(value) > held;
    });
    if (short.length === 0) break;
    await item.note(`the portal accepted some items of ${short.map(([name]) => name).join(', ')}: sending the next`);
    await portal.nodes.update(node.nid, { log: markerOf(wish), fields: Object.fromEntries(short) }, item.signal, node);
    node = await portal.nodes.read(node.nid, item.signal);
    const now = node;
    hasGrown = short.some(([name]) => itemsIn(now[name]) > itemsIn(before[name]));
  }
  return node;
};

const itemsIn = (value: unknown): number => countItems(value) ?? 0;

const isWrittenBy = ({ actions }: Item): boolean => actions.some((action) => nodeWrites.has(action));

const nodeWrites: ReadonlySet<ItemAction> = new Set<ItemAction>(['created', 'updated', 'recreated', 'adopted']);

const readOurs = async (target: NodeTarget, wish: NodeWish, entry: LedgerEntry): Promise<PortalNode> => {
  const { item, portal } = target;
  const node = await portal.nodes.read(entry.nid ?? '', item.signal);
  if (isOurs(node, wish, entry.uuid, await portal.dialectInUse(item.signal))) return node;
  const request = { method: 'GET', path: `node ${node.nid}`, status: 200 };
  throw new PortalGoneError(
    `${portal.name}: node ${node.nid} is no longer ours: it is the ${node.type} "${node.title}"`,
    request,
  );
};

/** A node that was read: the fields that differ, and those that stay as edited. */
interface Looked extends ProvenNode {
  wrong: readonly string[];
  kept: ReadonlySet<string>;
}

/** The entry with what the node holds. @throws VerifyFailedError where an essential field differs */
const settled = async (
  target: NodeTarget,
  wish: NodeWish,
  { entry, node, wrong, kept }: Looked,
): Promise<ProvenNode> => {
  const essential = wrong.filter((field) => isEssential(field));
  if (essential.length > 0) throw notAsSent(target.portal, wish, node, essential);
  const unsent = wrong.length === 0 ? {} : await target.portal.nodes.unsendable(wish.fields, target.item.signal);
  const got = (field: string): string => [shownField(node, field), ...(unsent[field] ?? [])].join('; ');
  for (const field of wrong)
    await target.item.note(`the portal does not hold ${field} as sent: it holds ${got(field)}`);
  const different = differences(wish, node);
  const stillKnown = Object.entries(entry.notHeld).filter(
    ([field]) => field in wish.fields && isKnownDifference(entry, node, field) && different.includes(field),
  );
  const notHeld = Object.fromEntries([...stillKnown, ...wrong.map((field) => [field, got(field)])]);
  const now = Object.entries(baselineOf(wish.fields, node)).filter(([field]) => !kept.has(field));
  // Of fields that others edited, the baseline from before the edit.
  const before = Object.entries(entry.baseline ?? {}).filter(([field]) => kept.has(field));
  return {
    node,
    entry: {
      ...entry,
      ...asRead(node, entry),
      notHeld,
      baseline: Object.fromEntries([...before, ...now]),
    },
  };
};

/** Title, published state, and the link of a resource without a file. */
const isEssential = (field: string): boolean => field === 'title' || field === 'status' || field === 'field_link_api';

const notAsSent = (portal: Portal, wish: NodeWish, node: PortalNode, wrong: readonly string[]): VerifyFailedError =>
  new VerifyFailedError(
    `${portal.name}: node ${node.nid} ("${wish.title}") does not hold what was sent: ${wrong
      .map(
        (field) =>
          `${field} is ${field === 'status' ? (node.status === '1' ? 'published' : 'unpublished') : shownField(node, field)}`,
      )
      .join(', ')}`,
    { hint: 'the portal may not allow this user to set these fields; check the node and the manifest' },
  );

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
  const fault = fileFault(file, sent);
  if (file && fault === null) {
    state.entry = { ...state.entry, file: { ...sent, fid: file.fid, name: file.filename } };
    return;
  }
  // The next publish attaches it again.
  await ledger.put(item.portal, { ...state.entry, ...brokenFile, rows: null });
  throw new VerifyFailedError(`${portal.name}: node ${node.nid} does not hold what was sent: ${fault}`, {
    hint: 'publish again; if it persists, look for an upload limit of the portal',
  });
};

/** Verifies the size of the table; a portal may report it with some delay. */
const verifyRows = async (state: ResourceState, signal: AbortSignal): Promise<number | null> => {
  const { table, target, entry } = state;
  if (entry.datastore !== 'imported') return null;
  // Rows of a file that was not fetched again are proven already.
  if (!table) return entry.rows;
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
    const proven = await proveTable(await target.portal.datastore.tableSize(entry.uuid, signal), shape);
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
