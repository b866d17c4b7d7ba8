// Compares what a portal holds with what is wanted, without writing: the entry that can be proven, and every fault.
import { baselineOf, shownField } from '../../dataset-api/compare.ts';
import { countedColumns } from '../../dataset-api/names.ts';
import { datastoreState } from '../../dataset-api/values.ts';
import { type LedgerEntry, newEntry, type SentNode } from '../../model/ledger-entry.ts';
import { sourcePathOf } from '../../model/wish.ts';
import { isForbidden, type Portal, type PortalNode, type PortalTable } from '../../portal-client/client.ts';
import { type FileItem, fileOf } from '../../portal-client/replies.ts';
import { wantsImport } from '../plan/known-wish.ts';
import type { LocalFile, TableShape } from './local-file.ts';
import {
  areGroupsLate,
  asRead,
  bearsWish,
  changedBaseline,
  hasGroups,
  holdsLinks,
  isOurs,
  linkedNids,
  type NodeWish,
  resolveAt,
  unexpectedFields,
} from './node.ts';

export interface Proof {
  /** The entry as the portal shows it; `metadataFingerprint` is null when the fields differ. */
  entry: LedgerEntry;
  /** One line per fault, without the key. */
  faults: string[];
  /** What the node holds exactly as sent; null when it differs. */
  sent: SentNode | null;
  /** The node as it was read; null where it was not found. */
  node: PortalNode | null;
  /** See {@link Broken}; null where the portal is not known to differ. */
  broken: Broken | null;
}

/** What the ledger must forget of an item that differs, so that the next publish restores it; edits of fields are left to `onDrift`. */
type Broken = Partial<Pick<LedgerEntry, 'links' | 'file' | 'datastore'>>;

/** What is forgotten where a file, or its table, is not what was sent. */
export const brokenFile = { file: null, datastore: 'pending' } as const satisfies Broken;
export const brokenTable = { datastore: 'failed' } as const satisfies Broken;

interface ProofParts {
  portal: Portal;
  /** True: the file is downloaded and hashed. */
  content: boolean;
  signal: AbortSignal;
}

interface ProvenNid {
  nid: string;
  /** Ledger entry of the item; undefined where the node was found without one. */
  known: LedgerEntry | undefined;
}

/** Proves the node of a dataset or resource: that it is ours, and holds what is wanted as far as the portal stores that. */
export const proveNodeOnly = async (
  { portal, signal }: ProofParts,
  wish: NodeWish,
  { nid, known }: ProvenNid,
): Promise<Proof> => {
  const { key, uuid, title, identifier, alias } = wish;
  const entry = newEntry({ key, uuid, title, identifier, alias, kind: wish.type });
  const missing = (fault: string) => ({ entry, faults: [fault], sent: null, node: null, broken: {} });
  const node = await portal.nodes.find(nid, signal);
  if (node === null) return missing(`node ${nid} is not on the portal`);
  if (node.type !== wish.type) return missing(`node ${nid} is a ${node.type}, not a ${wish.type}`);
  if (known && !isOurs(node, wish, known.uuid, await portal.dialectInUse(signal)))
    return missing(`node ${nid} ("${node.title}") is no longer ours`);
  const { fields } = await resolveAt(portal, wish, node, signal);
  const { notHeld } = known ?? entry;
  const edited = known ? changedBaseline(known, fields, node) : [];
  const wrong = [...new Set([...unexpectedFields({ ...wish, fields }, known ?? entry, node), ...edited])];
  const isAsIntended = wrong.length === 0;
  // Terms whose ids are not known cannot be compared; our marker in the revision's log vouches for them.
  const provesTerms = bearsWish(node, wish) || !JSON.stringify(fields).includes('"autocreate"');
  return {
    node,
    broken: isAsIntended ? null : {},
    sent: isAsIntended ? { title: wish.title, published: wish.published, fields: wish.fields } : null,
    faults: wrong.map((field) => `node ${nid}: ${field} differs: it is ${shownField(node, field)}`),
    entry: {
      ...entry,
      nid,
      ...asRead(node, wish),
      fieldNames: Object.keys(wish.fields),
      baseline: isAsIntended ? baselineOf(fields, node) : null,
      notHeld,
      metadataFingerprint: isAsIntended && provesTerms ? wish.fingerprint : null,
      live: isAsIntended && wish.published,
      syncedAt: Date.now(),
    },
  };
};

/** Adds to the proof of a dataset that its list holds its resources, in order; `links` are their node ids. */
export const proveLinks = (proof: Proof, links: readonly string[]): Proof => {
  if (!proof.node) return proof;
  const held = linkedNids(proof.node);
  if (holdsLinks(held, links)) return { ...proof, entry: { ...proof.entry, links: [...links] } };
  const missing = links.filter((nid) => !held.includes(nid));
  const what =
    missing.length > 0
      ? `resource nodes are missing from its list:  ${missing.join(', ')}`
      : 'its list has the resources in another order';
  const faults = [...proof.faults, `node ${proof.node.nid}: ${what}`];
  return { ...proof, faults, broken: { ...proof.broken, links: null } };
};

/** Adds to the proof of a dataset with many resources that its groups are on them; portals put them there later. */
export const proveGroups = (proof: Proof, wish: NodeWish, resources: readonly PortalNode[]): Proof => {
  const late = resources.filter((node) => !hasGroups(node, wish));
  if (!proof.node || late.length === 0 || !areGroupsLate(resources.map(({ nid }) => nid))) return proof;
  const fault = `node ${proof.node.nid}: ${late.length} of its ${resources.length} resources do not have its groups yet: the portal adds them with its next cron run`;
  return { ...proof, faults: [...proof.faults, fault] };
};

export const proveResource = async (
  parts: ProofParts,
  node: NodeWish,
  at: ProvenNid,
  local: LocalFile,
): Promise<Proof> => {
  const proof = await proveNodeOnly(parts, node, at);
  const { wish, source, fetched } = local;
  if (!proof.node || !('name' in wish.source)) return proof;
  const { file, ...ofFile } = await proveFile(parts, proof.node, local, at.known?.file?.fid);
  // What was made of the source may be no table, and then has no datastore.
  const isTable = wantsImport(wish) && (local.table !== null || local.sent === null);
  const { fault, ...table } = isTable
    ? await proveDatastore(parts, { nid: at.nid, uuid: proof.entry.uuid, table: local.table })
    : { fault: null };
  const faults = [...proof.faults, ...[ofFile.fault, fault].filter((each) => each !== null)];
  const broken = { ...(ofFile.isBroken ? brokenFile : {}), ...(fault === null ? {} : brokenTable) };
  const entry: LedgerEntry = { ...proof.entry, sourcePath: sourcePathOf(wish.source), source, fetched, file, ...table };
  return {
    ...proof,
    entry: { ...entry, rowsAreOwn: entry.datastore === 'imported', live: entry.live && faults.length === 0 },
    faults,
    broken: ofFile.isBroken || fault !== null ? { ...proof.broken, ...broken } : proof.broken,
  };
};

const noFile = 'the node has no file';

/** How the file of a node differs from the one that was sent; null where it does not, as far as that is known without reading it. */
export const fileFault = (file: FileItem | null, { bytes, fid = '' }: { bytes: number; fid?: string | undefined }) => {
  if (!file) return noFile;
  if (file.filesize !== bytes) return `file ${file.filename} has ${file.filesize} bytes on the portal, ${bytes} here`;
  return fid === '' || fid === file.fid ? null : `file ${file.filename} was replaced on the portal`;
};

const proveFile = async (
  { portal, content, signal }: ProofParts,
  node: PortalNode,
  { source, sent }: LocalFile,
  known: string | undefined,
): Promise<{ file: LedgerEntry['file']; fault: string | null; isBroken: boolean }> => {
  const broken = (fault: string) => ({ file: null, fault, isBroken: true });
  const item = fileOf(node);
  if (!item) return broken(noFile);
  if (!source || !sent) {
    const why = source ? 'no table can be made of the local file' : 'the local file cannot be read';
    return { file: null, fault: `${why}, so nothing can be compared`, isBroken: false };
  }
  const fault = fileFault(item, { bytes: sent.bytes, ...(content ? {} : { fid: known }) });
  if (fault !== null) return broken(fault);
  const { filename: name, fid, uri } = item;
  if (content) {
    const sha256 = await portal.fileHash(typeof uri === 'string' ? uri : '', signal);
    if (sha256 === null) return broken(`file ${name} cannot be downloaded`);
    if (sha256 !== sent.sha256) return broken(`file ${name} differs from the local file`);
  }
  return { file: { fid, name, ...sent }, fault: null, isBroken: false };
};

/** True for a table with these rows and columns; columns are not compared where the portal does not report them. */
export const hasShape = (size: PortalTable, { rows, columns }: Pick<TableShape, 'rows' | 'columns'>): boolean =>
  size.rows === rows && hasColumns(size, columns);

const hasColumns = ({ columns }: PortalTable, wanted: number | null): boolean =>
  columns.length === 0 || wanted === null || countedColumns(columns) === wanted;

/** What a table was proven to hold; `fault` says how it differs from the file, null where it does not. */
type ProvenTable = { rows: number; rowsDropped: number; fault: string | null };

/** Of 1,000 rows at most so many end in the same block of 32 bytes. */
const mostDropped = 32 / 1000;

/** Compares a table with its file; `size` is null where there is none, undefined where the portal does not count. */
export const proveTable = async (size: PortalTable | null | undefined, table: TableShape): Promise<ProvenTable> => {
  const held = size ?? { rows: size === null ? 0 : table.rows, columns: [] };
  const { rows } = held;
  const fits = hasColumns(held, table.columns);
  if (fits && rows === table.rows) return { rows, rowsDropped: 0, fault: null };
  const missing = table.rows - rows;
  const mayBeDropped = missing > 0 && missing <= table.rows * mostDropped;
  if (fits && size && mayBeDropped && (await table.dropped()) === missing)
    return { rows, rowsDropped: missing, fault: null };
  const [there, here] = fits ? ['', ''] : [` of ${countedColumns(held.columns)} columns`, ` of ${table.columns}`];
  return { rows, rowsDropped: 0, fault: `the datastore holds ${rows} rows${there}, the file ${table.rows}${here}` };
};

/** What the portal tells of a table, without a look at its rows. */
export const toldOf = async (
  portal: Portal,
  nid: string,
  signal: AbortSignal,
): Promise<Pick<LedgerEntry, 'datastore'> & { fault: string | null }> => {
  try {
    const status = await portal.datastore.status(nid, signal);
    const state = status && datastoreState(status);
    if (state === null || state === 'imported') return { datastore: state ?? 'none', fault: null };
    return { datastore: 'pending', fault: `the datastore is not imported (${state})` };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { datastore: 'pending', fault: `its datastore cannot be read: ${error.message}` };
  }
};

const proveDatastore = async (
  { portal, signal }: ProofParts,
  { nid, uuid, table }: { nid: string; uuid: string; table: TableShape | null },
): Promise<Pick<LedgerEntry, 'datastore'> & Partial<ProvenTable> & Pick<ProvenTable, 'fault'>> => {
  const told = await toldOf(portal, nid, signal);
  if (told.datastore !== 'imported' || !table) return told;
  const proven = await proveTable(await portal.datastore.table(uuid, signal), table);
  return { ...proven, datastore: proven.fault === null ? 'imported' : 'failed' };
};
