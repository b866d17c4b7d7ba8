// The local side of a resource: its file here or fetched, or the table that is made of it. Nothing is sent.
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { nameOfFetched } from '../../dataset-api/file-kinds.ts';
import { countedColumns } from '../../dataset-api/names.ts';
import { SluiceError, SourceChangedError } from '../../model/errors.ts';
import { manifestOfKey } from '../../model/key.ts';
import type { FetchedFrom, LedgerEntry, PortalFile, SourceFingerprint } from '../../model/ledger-entry.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import { type ResourceSource, type ResourceWish, sentName } from '../../model/wish.ts';
import { factsOf, fingerprintFile, kindOfFile } from '../../sources/drop/fingerprint.ts';
import type { FetchedFile, FetchedFiles } from '../../sources/fetch/fetched-files.ts';
import { checkTable, type TableReport } from '../../tables/check.ts';
import { rowsDropped } from '../../tables/scan/rows-dropped.ts';
import {
  type Prepared,
  type PreparedTable,
  type PrepareOptions,
  prepareTable,
  removePreparedFile,
} from '../../tables/transform/prepare.ts';
import { isSent, withSource } from '../plan/known-wish.ts';

/** A file that is sent. */
export interface SentFile {
  path: string;
  /** Name that the portal shall see. */
  name: string;
  source: SourceFingerprint;
  /** Of a table that was made: of which bytes, by which recipe. */
  from?: { sha256: string; recipe: string };
}

/** The file that a recipe makes of a source. */
export interface PreparedFile extends SentFile {
  /** False where the source holds no table and is sent unchanged. */
  isMade: boolean;
  /** How a made table is written. */
  reading: PreparedTable['reading'];
  rejected: { rows: number; path: string | null } | null;
  /** What was fixed, a line each. */
  mended: string[];
  /** What of the source may be missing, a line each. */
  warnings: string[];
}

type PrepareHow = Pick<PrepareOptions, 'folder' | 'label' | 'manifest' | 'rejects' | 'maxBytes' | 'rowBytes'> & {
  signal: AbortSignal;
};

/**
 * Makes the file that is sent from a source by the recipe of its wish; the caller removes a made one (`isMade`).
 * @throws as `prepareTable`, and SourceChangedError when the source changed meanwhile
 */
export const prepareFile = async (
  raw: SentFile,
  { recipe, source }: Pick<ResourceWish, 'source'> & Required<Pick<ResourceWish, 'recipe'>>,
  how: PrepareHow,
): Promise<{ file: PreparedFile; made: Prepared }> => {
  const { path, name, source: facts } = raw;
  const made = await prepareTable({ path, name, recipe, ...how });
  const now = await fingerprintFile(path, facts, how.signal);
  if (now.sha256 !== facts.sha256) {
    if (made.kind === 'table') await removePreparedFile(made.path);
    throw sourceChanged(path, 'its table was being prepared');
  }
  const from = { sha256: facts.sha256, recipe: recipe.fingerprint };
  if (made.kind === 'as-is')
    return { file: { ...raw, from, isMade: false, reading: {}, rejected: null, mended: [], warnings: [] }, made };
  const { rejected, rejects, sha256, reading, mended, warnings } = made;
  const file = {
    path: made.path,
    name: sentName({ source, recipe }),
    source: { ...factsOf(await stat(made.path, { bigint: true })), sha256, hashedAt: Date.now() },
    from,
    isMade: true,
    reading,
    rejected: rejected.rows > 0 ? { rows: rejected.rows, path: rejects } : null,
    mended,
    warnings,
  };
  return { file, made };
};

/** The error of a source that changed while `something was done`. */
export const sourceChanged = (path: string, during: string): SourceChangedError =>
  new SourceChangedError(`${path} changed while ${during}`, {
    hint: 'it will be read again; to avoid this, write to a temporary name, then rename',
  });

interface FileHere {
  file: Extract<ResourceSource, { kind: 'file' }>;
  source: SourceFingerprint;
  fetched: FetchedFrom;
}

export const fetchedFileOf = async (
  from: Extract<ResourceSource, { kind: 'url' }>,
  got: FetchedFile,
): Promise<FileHere> => {
  const kind = await kindOfFile(got.path);
  const name = nameOfFetched(from, { ...got, kind });
  const { etag, lastModified, finalUrl = from.url } = got.validators;
  const facts = factsOf(await stat(got.path, { bigint: true }));
  return {
    file: { kind: 'file', path: got.path, name, url: from.url },
    source: { ...facts, sha256: got.sha256, hashedAt: Date.now(), ...(kind === null ? {} : { kind }) },
    fetched: { url: from.url, etag, lastModified, finalUrl, name },
  };
};

/** The table that a portal makes of a file. */
export interface TableShape {
  rows: number;
  /** As {@link countedColumns} counts; null where they are not known. */
  columns: number | null;
  /** Counts the rows that importers of some portals drop. */
  dropped(): Promise<number>;
}

/** The local side of a resource. */
export interface LocalFile {
  wish: ResourceWish;
  /** The local or fetched source; null when it cannot be read. */
  source: SourceFingerprint | null;
  /** What the portal should hold; null when the source cannot be read or no table can be made of it. */
  sent: Pick<PortalFile, 'bytes' | 'sha256' | 'from'> | null;
  /** Null for files that are no tables. */
  table: TableShape | null;
  /** What the server reported of a fetched file. */
  fetched: FetchedFrom | null;
}

/** What files are checked with. */
export interface LocalTools {
  fetched: FetchedFiles;
  /** Folder for temporary tables. */
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

type Work<T> = (local: LocalFile) => Promise<T>;

/**
 * Reads the file of a resource for `work`, and removes what was fetched or made for that afterwards. Unavailable sources and
 * faulty tables or recipes leave nothing to compare; their own job reports the fault.
 */
export const withLocalFile = async <T>(
  wish: ResourceWish,
  known: KnownFile,
  tools: LocalTools,
  work: Work<T>,
): Promise<T> => {
  const nothing: LocalFile = { wish, source: null, sent: null, table: null, fetched: null };
  const { source } = wish;
  if (source.kind === 'file') return withSentFile({ ...nothing, source: known.source }, tools, work);
  if (source.kind !== 'url') return work(nothing);
  try {
    const local = (await orNull(fetchedFile(nothing, source, known, tools))) ?? nothing;
    return await (local.sent ? work(local) : withSentFile(local, tools, work));
  } finally {
    await tools.fetched.remove(placeOf(wish, known));
  }
};

/** The bytes are not fetched where the published version is the current one. */
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
    const { rows, rowsDropped: lost } = entry;
    return {
      ...nothing,
      source: entry.source,
      sent: { bytes, sha256, ...(from ? { from } : {}) },
      table: rows === null ? null : { rows: rows + lost, columns: null, dropped: async () => lost },
      fetched: entry.fetched,
    };
  }
  const { file, source: facts, fetched } = await fetchedFileOf(source, got);
  return { ...nothing, wish: withSource(wish, file), source: facts, fetched };
};

/** Beside the folder of the job that publishes the resource, which may run at the same time. */
const placeOf = ({ uuid }: ResourceWish, { portal }: KnownFile): { portal: string; uuid: string } => ({
  portal: `${portal}~compare`,
  uuid,
});

const withSentFile = async <T>(local: LocalFile, tools: LocalTools, work: Work<T>): Promise<T> => {
  const { wish, source } = local;
  if (wish.source.kind !== 'file' || source === null) return work(local);
  const { recipe } = wish;
  const raw: SentFile = { path: wish.source.path, name: wish.source.name, source };
  const { preparedDir: folder, maxFileBytes: maxBytes, maxRowBytes: rowBytes, signal } = tools;
  const how = {
    folder,
    label: randomUUID(),
    manifest: manifestOfKey(wish.key),
    rejects: null,
    maxBytes,
    rowBytes,
    signal,
  };
  const made = recipe
    ? await orNull(prepareFile(raw, { ...wish, recipe }, how))
    : { file: { ...raw, isMade: false, reading: {} } };
  if (made === null) return work(local);
  const { path, name, source: facts, from, isMade, reading } = made.file;
  try {
    const sent = { bytes: facts.bytes, sha256: facts.sha256, ...(from ? { from } : {}) };
    return await work({ ...local, sent, table: await tableOf(path, { name, reading }, tools) });
  } finally {
    if (isMade) await removePreparedFile(path);
  }
};

const tableOf = async (
  path: string,
  { name, reading }: Pick<PreparedFile, 'name' | 'reading'>,
  { maxRowBytes: rowBytes, signal }: LocalTools,
): Promise<TableShape | null> => {
  const table = isTabular(name) ? await orNull(checkTable(path, { signal, rowBytes, ...reading })) : null;
  if (table === null) return null;
  return shapeOfTable(path, table, signal);
};

/** The shape that the table of a file should have on a portal. */
export const shapeOfTable = (
  path: string,
  { rows, columns }: Pick<TableReport, 'rows' | 'columns'>,
  signal: AbortSignal,
): TableShape => ({
  rows,
  columns: countedColumns(columns),
  dropped: async () => (await rowsDropped(path, rows, signal)).length,
});

const orNull = async <T>(pending: Promise<T>): Promise<T | null> => {
  try {
    return await pending;
  } catch (error) {
    if (error instanceof SluiceError) return null;
    throw error;
  }
};
