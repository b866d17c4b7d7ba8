// Compares what a portal holds with what is wished, without writing: the entry that can be proven, and every fault.
import { besideSent, shownField } from '../../dataset-api/compare.ts';
import { datastoreState } from '../../dataset-api/datastore-status.ts';
import { type LedgerEntry, newEntry, type SentNode } from '../../model/ledger-entry.ts';
import { type NodeFields, sourcePathOf } from '../../model/wish.ts';
import type { Portal, PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { wantsImport } from '../plan/plan.ts';
import type { LocalFile } from './local-file.ts';
import { differences, holdsLinks, isKnownDifference, isOurs, linkedNids, markerOf, type NodeWish } from './node.ts';

/** What was proven of one item. */
export interface Proof {
  /** The entry as the portal shows it; `metadataFingerprint` is null when the fields are not as wished. */
  entry: LedgerEntry;
  /** One line per fault, without the key. */
  faults: string[];
  /** What the node proves to hold as it was sent; null when it differs. */
  sent: SentNode | null;
  /** What the ledger must not believe any more, so that the next publish mends it; edits of fields are left to `onDrift`. */
  broken: Partial<Pick<LedgerEntry, 'links' | 'file' | 'datastore'>>;
}

/** What a proof is made with. */
export interface ProofParts {
  portal: Portal;
  /** True: the file is downloaded and hashed. */
  content: boolean;
  signal: AbortSignal;
}

/** The node that shall be proven. */
export interface ProvenNid {
  nid: string;
  /** What the ledger knows of the item; undefined where the node was found otherwise. */
  known: LedgerEntry | undefined;
}

/** Proves the node of a dataset or resource: that it is the one, and holds what is wished, as far as the portal holds that at all. */
export const proveNodeOnly = async (
  { portal, signal }: ProofParts,
  wish: NodeWish,
  { nid, known }: ProvenNid,
): Promise<Proof & { node: PortalNode | null }> => {
  const { key, uuid, title, identifier } = wish;
  const entry = newEntry({ key, uuid, title, identifier, kind: wish.type });
  const missing = (fault: string) => ({ entry, faults: [fault], sent: null, node: null, broken: {} });
  const node = await portal.findNode(nid, signal);
  if (node === null) return missing(`node ${nid} is not on the portal`);
  if (node.type !== wish.type) return missing(`node ${nid} is a ${node.type}, not a ${wish.type}`);
  const dialect = await portal.dialectInUse(signal);
  if (known && !isOurs(node, wish, known.uuid, dialect))
    return missing(`node ${nid} ("${node.title}") is not ours any more`);
  const fields = await resolvedBy(portal, wish, node);
  const notHeld = known?.notHeld ?? {};
  const wrong = differences({ ...wish, fields }, node).filter((field) => !isKnownDifference({ notHeld }, node, field));
  const isAsWished = wrong.length === 0;
  return {
    node,
    broken: {},
    sent: isAsWished ? { title: wish.title, published: wish.published, fields: wish.fields } : null,
    faults: wrong.map((field) => `node ${nid}: ${field} is not as wished: it is ${shownField(node, field)}`),
    entry: {
      ...entry,
      nid,
      uuid: node.uuid || wish.uuid,
      vid: node.vid,
      changed: node.changed || null,
      url: node.path,
      fieldNames: Object.keys(wish.fields),
      beside: isAsWished ? besideSent(fields, node) : null,
      notHeld,
      metadataFingerprint: isAsWished && provesTerms({ ...wish, fields }, node) ? wish.fingerprint : null,
      live: isAsWished && wish.published,
      syncedAt: Date.now(),
    },
  };
};

/** The fields with ids of terms; a node that we wrote with these very names tells those that are not known. */
const resolvedBy = async (portal: Portal, wish: NodeWish, node: PortalNode): Promise<NodeFields> => {
  const { fields, fresh } = await portal.terms.resolve(wish.fields);
  if (fresh.length === 0 || node.log !== markerOf(wish)) return fields;
  await portal.terms.learn(fresh, node);
  return (await portal.terms.resolve(wish.fields)).fields;
};

/** Terms whose ids are not known cannot be compared; our marker in the revision's log vouches for them. */
const provesTerms = (wish: NodeWish, node: PortalNode): boolean =>
  node.log === markerOf(wish) || !JSON.stringify(wish.fields).includes('"autocreate"');

/** Adds to the proof of a dataset that its list holds its resources, in order; `links` are their node ids. */
export const proveLinks = (proof: Proof & { node: PortalNode | null }, links: readonly string[]): Proof => {
  if (!proof.node) return proof;
  const held = linkedNids(proof.node);
  if (holdsLinks(held, links)) return { ...proof, entry: { ...proof.entry, links: [...links] } };
  const missing = links.filter((nid) => !held.includes(nid));
  const fault =
    missing.length > 0
      ? `node ${proof.node.nid}: its list lacks the resource nodes ${missing.join(', ')}`
      : `node ${proof.node.nid}: its list holds the resources in another order`;
  return { ...proof, faults: [...proof.faults, fault], broken: { ...proof.broken, links: null } };
};

/** Proves node, file and datastore of a resource. */
export const proveResource = async (
  parts: ProofParts,
  node: NodeWish,
  at: ProvenNid,
  local: LocalFile,
): Promise<Proof> => {
  const proof = await proveNodeOnly(parts, node, at);
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
  let { broken } = proof;
  if (file.isBroken) broken = { ...broken, file: null, datastore: 'pending' };
  if (wantsImport(local.wish)) {
    const rowsDropped = at.known?.rowsDropped ?? 0;
    const { faults: ofTable, ...table } = await proveTable(parts, at.nid, { uuid: entry.uuid, local, rowsDropped });
    faults.push(...ofTable);
    if (ofTable.length > 0) broken = { ...broken, datastore: 'failed' };
    entry = { ...entry, ...table };
  }
  return { ...proof, entry: { ...entry, live: entry.live && faults.length === 0 }, faults, broken };
};

const proveFile = async (
  { portal, content, signal }: ProofParts,
  node: PortalNode,
  { source, sent }: LocalFile,
): Promise<{ file: LedgerEntry['file']; faults: string[]; isBroken: boolean }> => {
  const unknown = (fault: string) => ({ file: null, faults: [fault], isBroken: false });
  const broken = (fault: string) => ({ file: null, faults: [fault], isBroken: true });
  const item = fileOf(node);
  if (!item) return broken(`node ${node.nid} has no file`);
  if (!source) return unknown('the local file cannot be read, so nothing can be compared');
  if (!sent) return unknown('no table can be made of the local file, so nothing can be compared');
  const { filename, filesize, fid, uri } = item;
  if (filesize !== sent.bytes)
    return broken(`file ${filename} has ${filesize} bytes on the portal, ${sent.bytes} here`);
  const file = { fid, name: filename, url: null, ...sent };
  if (!content) return { file, faults: [], isBroken: false };
  const sha256 = await portal.fileHash(typeof uri === 'string' ? uri : '', signal);
  if (sha256 === null) return broken(`file ${filename} cannot be downloaded`);
  if (sha256 !== sent.sha256) return broken(`file ${filename} holds other bytes than the local file`);
  return { file, faults: [], isBroken: false };
};

type ProvenTable = Pick<LedgerEntry, 'datastore' | 'rows' | 'rowsDropped'> & { faults: string[] };

const proveTable = async (
  { portal, signal }: ProofParts,
  nid: string,
  { uuid, local, rowsDropped }: { uuid: string; local: LocalFile; rowsDropped: number },
): Promise<ProvenTable> => {
  const status = await portal.datastoreStatus(nid, signal);
  if (status === null) return { datastore: 'none', rows: null, rowsDropped: 0, faults: [] };
  const state = datastoreState(status);
  if (state !== 'imported')
    return { datastore: 'pending', rows: null, rowsDropped: 0, faults: [`the datastore is not imported (${state})`] };
  const size = await portal.tableSize(uuid, signal);
  const { table } = local;
  if (!table || size === null || size.rows === table.rows)
    return { datastore: 'imported', rows: table?.rows ?? null, rowsDropped: 0, faults: [] };
  const dropped = table.rows - size.rows;
  if (dropped === rowsDropped || dropped === local.rowsDropped)
    return { datastore: 'imported', rows: size.rows, rowsDropped: dropped, faults: [] };
  return {
    datastore: 'failed',
    rows: size.rows,
    rowsDropped: 0,
    faults: [`the datastore holds ${size.rows} rows, the file ${table.rows}`],
  };
};
