// Compares what a portal holds with what is wished, without writing: the entry that can be proven, and every fault.
import { createHash } from 'node:crypto';
import { request } from 'undici';
import { besideSent } from '../dkan/compare.ts';
import { datastoreState } from '../dkan/datastore-status.ts';
import { PortalGoneError } from '../errors.ts';
import { fileOf } from '../handlers/node-file.ts';
import { differences, markerOf, type NodeWish } from '../handlers/node-wish.ts';
import { type LedgerEntry, newEntry, type SentNode } from '../ledger/entry.ts';
import { wantsImport } from '../plan/plan.ts';
import type { Portal, PortalNode } from '../portal/client.ts';
import { sourcePathOf } from '../wish.ts';
import type { LocalFile } from './local-file.ts';

/** What was proven of one item. */
export interface Proof {
  /** The entry as the portal shows it; `metadataFingerprint` is null when the fields are not as wished. */
  entry: LedgerEntry;
  /** One line per fault, without the key. */
  faults: string[];
  /** What the node proves to hold as it was sent; null when it differs. */
  sent: SentNode | null;
}

/** What a proof is made with. */
export interface ProofParts {
  portal: Portal;
  /** True: the file is downloaded and hashed. */
  content: boolean;
  signal: AbortSignal;
}

/** Proves the node of a dataset or resource. */
export const proveNodeOnly = async (
  parts: ProofParts,
  wish: NodeWish,
  nid: string,
): Promise<Proof & { node: PortalNode | null }> => {
  const { key, uuid, title, identifier } = wish;
  const entry = newEntry({ key, uuid, title, identifier, kind: wish.type });
  let node: PortalNode;
  try {
    node = await parts.portal.readNode(nid, parts.signal);
  } catch (error) {
    if (!(error instanceof PortalGoneError)) throw error;
    return { entry, faults: [`node ${nid} is not on the portal`], sent: null, node: null };
  }
  if (node.type !== wish.type) {
    return { entry, faults: [`node ${nid} is a ${node.type}, not a ${wish.type}`], sent: null, node: null };
  }
  const wrong = differences(wish, node);
  const isOurs = wrong.length === 0;
  return {
    node,
    sent: isOurs ? { title: wish.title, published: wish.published, fields: wish.fields } : null,
    faults: wrong.map((field) => `node ${nid}: ${field} is not as wished`),
    entry: {
      ...entry,
      nid,
      uuid: node.uuid || wish.uuid,
      vid: node.vid,
      url: node.path,
      fieldNames: Object.keys(wish.fields),
      beside: isOurs ? besideSent(wish.fields, node) : null,
      metadataFingerprint: isOurs && provesTerms(wish, node) ? wish.fingerprint : null,
      live: isOurs && wish.published,
      syncedAt: Date.now(),
    },
  };
};

/** Terms sent by name cannot be compared; our marker in the revision's log vouches for them. */
const provesTerms = (wish: NodeWish, node: PortalNode): boolean =>
  node.log === markerOf(wish) || !JSON.stringify(wish.fields).includes('"autocreate"');

/** Proves node, file and datastore of a resource. */
export const proveResource = async (
  parts: ProofParts,
  node: NodeWish,
  nid: string,
  local: LocalFile,
): Promise<Proof> => {
  const proof = await proveNodeOnly(parts, node, nid);
  if (!proof.node || !('name' in local.wish.source)) return proof;
  const faults = [...proof.faults];
  let entry: LedgerEntry = {
    ...proof.entry,
    sourcePath: sourcePathOf(local.wish.source),
    fetched: local.fetched,
  };
  const file = await proveFile(parts, proof.node, local);
  faults.push(...file.faults);
  entry = { ...entry, file: file.file, source: local.source };
  if (wantsImport(local.wish)) {
    const table = await proveTable(parts, nid, { uuid: entry.uuid, table: local.table });
    faults.push(...table.faults);
    entry = { ...entry, datastore: table.datastore, rows: table.rows };
  }
  return { ...proof, entry: { ...entry, live: entry.live && faults.length === 0 }, faults };
};

const proveFile = async (
  { portal, content, signal }: ProofParts,
  node: PortalNode,
  { source, sent }: LocalFile,
): Promise<{ file: LedgerEntry['file']; faults: string[] }> => {
  const item = fileOf(node);
  if (!item) return { file: null, faults: [`node ${node.nid} has no file`] };
  if (!source) return { file: null, faults: ['the local file cannot be read, so nothing can be compared'] };
  if (!sent) return { file: null, faults: ['no table can be made of the local file, so nothing can be compared'] };
  if (item.filesize !== sent.bytes) {
    return {
      file: null,
      faults: [`file ${item.filename} has ${item.filesize} bytes on the portal, ${sent.bytes} here`],
    };
  }
  const file = { fid: item.fid, name: item.filename, url: null, ...sent };
  if (!content) return { file, faults: [] };
  const sha256 = await hashOfFile(portal, typeof item.uri === 'string' ? item.uri : '', signal);
  if (sha256 === null) return { file: null, faults: [`file ${item.filename} cannot be downloaded`] };
  if (sha256 !== sent.sha256)
    return { file: null, faults: [`file ${item.filename} holds other bytes than the local file`] };
  return { file, faults: [] };
};

/** sha256 of a public file as the portal serves it, streamed; null when it is not served. */
export const hashOfFile = async (portal: Portal, uri: string, signal: AbortSignal): Promise<string | null> => {
  if (!uri.startsWith('public://')) return null;
  const path = uri.slice('public://'.length).split('/').map(encodeURIComponent).join('/');
  const reply = await request(`${portal.url}/sites/default/files/${path}`, { signal });
  if (reply.statusCode !== 200) {
    await reply.body.dump();
    return null;
  }
  const hash = createHash('sha256');
  for await (const chunk of reply.body) hash.update(chunk);
  return hash.digest('hex');
};

const proveTable = async (
  { portal, signal }: ProofParts,
  nid: string,
  { uuid, table }: { uuid: string; table: LocalFile['table'] },
): Promise<{ datastore: LedgerEntry['datastore']; rows: number | null; faults: string[] }> => {
  const status = await portal.datastoreStatus(nid, signal);
  if (status === null) return { datastore: 'none', rows: null, faults: [] };
  const state = datastoreState(status);
  if (state !== 'imported')
    return { datastore: 'pending', rows: null, faults: [`the datastore is not imported (${state})`] };
  const size = await portal.tableSize(uuid, signal);
  if (!table || size === null) return { datastore: 'imported', rows: table?.rows ?? null, faults: [] };
  if (size.rows === table.rows) return { datastore: 'imported', rows: table.rows, faults: [] };
  return {
    datastore: 'failed',
    rows: size.rows,
    faults: [`the datastore holds ${size.rows} rows, the file ${table.rows}`],
  };
};
