// The local side of a resource: its file here or fetched, or the table that would be made of it. Nothing is sent.
import { randomUUID } from 'node:crypto';
import { SluiceError } from '../../model/errors.ts';
import type { FetchedFrom, LedgerEntry, PortalFile, SourceFingerprint } from '../../model/ledger-entry.ts';
import type { ResourceSource, ResourceWish } from '../../model/wish.ts';
import type { FetchedFiles } from '../../sources/fetch/fetched-files.ts';
import { checkTable, type TableReport } from '../../tables/check.ts';
import { rowsDropped } from '../../tables/scan/rows-dropped.ts';
import { prepareTable, removePreparedFile } from '../../tables/transform/prepare.ts';
import { fetchedFileOf } from '../handlers/fetch-step.ts';
import { withSource } from '../plan/known-wishes.ts';
import { isSent, isTabular } from '../plan/plan.ts';

/** The local side of a resource. */
export interface LocalFile {
  wish: ResourceWish;
  /** The source as it lies here, or was fetched; null when it cannot be read. */
  source: SourceFingerprint | null;
  /** What the portal should hold; null when the source cannot be read or made a table. */
  sent: Pick<PortalFile, 'bytes' | 'sha256' | 'from'> | null;
  /** Null for files that are no tables. */
  table: Pick<TableReport, 'rows'> | null;
  /** Rows of the table that the importer of some portals drops. */
  rowsDropped: number;
  /** Of a fetched file: what its server told. */
  fetched: FetchedFrom | null;
}

/** What files are looked at with. */
export interface LocalTools {
  fetched: FetchedFiles;
  /** Folder for tables that are made for a moment. */
  preparedDir: string;
  maxFileBytes: number;
  maxRowBytes: number;
  signal: AbortSignal;
}

/** What is known of a resource before. */
export interface KnownFile {
  portal: string;
  entry: LedgerEntry | undefined;
  /** Of a local file, as it is now. */
  source: SourceFingerprint | null;
}

/**
 * Looks at the file of a resource, and removes what was fetched or made for that once `work` has ended. Sources that
 * cannot be had, faulty tables and recipes give nothing to compare; their own job tells the fault.
 */
export const withLocalFile = async <T>(
  wish: ResourceWish,
  known: KnownFile,
  tools: LocalTools,
  work: (local: LocalFile) => Promise<T>,
): Promise<T> => {
  const nothing: LocalFile = { wish, source: null, sent: null, table: null, rowsDropped: 0, fetched: null };
  const { source } = wish;
  if (source.kind === 'file') return work(await lookAtFile({ ...nothing, source: known.source }, tools));
  if (source.kind !== 'url') return work(nothing);
  try {
    return await work((await orNull(fetchedFile(nothing, source, known, tools))) ?? nothing);
  } finally {
    await tools.fetched.remove(placeOf(wish, known));
  }
};

/** The bytes are only fetched where they are not what is published already. */
const fetchedFile = async (
  nothing: LocalFile,
  source: Extract<ResourceSource, { kind: 'url' }>,
  known: KnownFile,
  tools: LocalTools,
): Promise<LocalFile> => {
  const { wish } = nothing;
  const { entry } = known;
  const { url, name } = source;
  const isPublished =
    entry?.fetched?.url === url && entry.source !== null && isSent(entry.file, entry.source.sha256, wish);
  const published = isPublished ? entry.fetched : null;
  const wanted = { ...placeOf(wish, known), url, name, by: randomUUID(), published };
  const got = await tools.fetched.get(wanted, { signal: tools.signal });
  if (got === 'unchanged') {
    if (!entry?.file) return nothing;
    const { bytes, sha256, from } = entry.file;
    const { rows, rowsDropped } = entry;
    const table = rows === null ? null : { rows: rows + rowsDropped };
    return {
      ...nothing,
      source: entry.source,
      sent: { bytes, sha256, ...(from ? { from } : {}) },
      table,
      rowsDropped,
      fetched: entry.fetched,
    };
  }
  const { file, source: facts, fetched } = await fetchedFileOf(source, got);
  const local = await lookAtFile({ ...nothing, wish: withSource(wish, file), source: facts }, tools);
  return { ...local, fetched };
};

/** Beside the folder of the job that publishes the resource, which may run at the same time. */
const placeOf = ({ uuid }: ResourceWish, { portal }: KnownFile): { portal: string; uuid: string } => ({
  portal: `${portal}~compare`,
  uuid,
});

const lookAtFile = async (local: LocalFile, tools: LocalTools): Promise<LocalFile> => {
  const { wish, source } = local;
  if (wish.source.kind !== 'file' || source === null) return local;
  const { path, name } = wish.source;
  const plain = { bytes: source.bytes, sha256: source.sha256 };
  if (!wish.recipe) return { ...local, sent: plain, ...(await tableOf(path, name, tools)) };
  const from = { sha256: source.sha256, recipe: wish.recipe.fingerprint };
  const { preparedDir: folder, maxFileBytes: maxBytes, maxRowBytes: rowBytes, signal } = tools;
  const how = { path, name, recipe: wish.recipe, folder, label: randomUUID(), rejects: null };
  const made = await orNull(prepareTable({ ...how, maxBytes, rowBytes, signal }));
  if (made === null) return local;
  if (made.kind === 'as-is') return { ...local, sent: { ...plain, from }, ...(await tableOf(path, name, tools)) };
  try {
    const table = await tableOf(made.path, '.csv', tools);
    return { ...local, sent: { bytes: made.bytes, sha256: made.sha256, from }, ...table };
  } finally {
    await removePreparedFile(made.path);
  }
};

const tableOf = async (
  path: string,
  name: string,
  { maxRowBytes: rowBytes, signal }: LocalTools,
): Promise<Pick<LocalFile, 'table' | 'rowsDropped'>> => {
  const table = isTabular(name) ? await orNull(checkTable(path, { signal, rowBytes })) : null;
  const dropped = table ? await rowsDropped(path, table.rows, signal) : [];
  return { table, rowsDropped: dropped.length };
};

const orNull = async <T>(pending: Promise<T>): Promise<T | null> => {
  try {
    return await pending;
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
};
