// The local side of a resource: its file here or fetched, or the table that is made of it. Nothing is sent.
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { nameOfFetched } from '../../dataset-api/file-types.ts';
import { countedColumns } from '../../dataset-api/names.ts';
import { orNull, SourceChangedError } from '../../model/errors.ts';
import { manifestOfKey } from '../../model/key.ts';
import type { FetchedFrom, LedgerEntry, PortalFile, SourceFingerprint } from '../../model/ledger-entry.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import { type ResourceSource, type ResourceWish, sentName } from '../../model/wish.ts';
import { factsOf, fingerprintFile, kindOfFile } from '../../sources/drop/fingerprint.ts';
import type { FetchedFile, FetchedFiles } from '../../sources/fetch/fetched-files.ts';
import { checkTable, type TableReport } from '../../tables/check.ts';
import { rowsDropped } from '../../tables/inspect/importer.ts';
import {
  type Prepared,
  type PreparedTable,
  type PrepareOptions,
  prepareTable,
  removePreparedFile,
} from '../../tables/transform/prepare.ts';
import type { Limits } from '../../tables/transform/row.ts';
import { isSent, withSource } from '../plan/known-wish.ts';

export interface SentFile {
  path: string;
  /** Name that the portal shall see. */
  name: string;
  source: SourceFingerprint;
  /** Of a table that was made: of which bytes, by which recipe. */
  from?: { sha256: string; recipe: string };
  /** What the recipe made of the source: one without a table is sent unchanged. */
  made?: Prepared;
}

export type PreparedFile = SentFile & Required<Pick<SentFile, 'made'>>;

/** The table that was made of a source; null where that is sent unchanged. */
export const madeTable = (file: Pick<SentFile, 'made'> | null): PreparedTable | null =>
  file?.made?.kind === 'table' ? file.made : null;

/** Where tables are made, each while its job runs, and their limits. */
export interface TableLimits extends Limits {
  preparedDir: string;
}

/** Makes the file that is sent by a recipe; the caller removes it. @throws as `prepareTable`, SourceChangedError */
export const prepareFile = async (
  raw: SentFile,
  { key, recipe, source }: Pick<ResourceWish, 'key' | 'source'> & Required<Pick<ResourceWish, 'recipe'>>,
  { preparedDir: folder, tableBytes, rowBytes, signal }: TableLimits & { signal: AbortSignal },
  { label, rejects }: Pick<PrepareOptions, 'label' | 'rejects'>,
): Promise<PreparedFile> => {
  const { path, name, source: facts } = raw;
  const manifest = manifestOfKey(key);
  const how = { folder, label, manifest, rejects, tableBytes, rowBytes, signal };
  const made = await prepareTable({ path, name, recipe, ...how });
  const now = await fingerprintFile(path, facts, signal);
  if (now.sha256 !== facts.sha256) {
    if (made.kind === 'table') await removePreparedFile(made.path);
    throw sourceChanged(path, 'its table was being prepared');
  }
  const from = { sha256: facts.sha256, recipe: recipe.fingerprint };
  if (made.kind === 'as-is') return { ...raw, from, made };
  const stats = factsOf(await stat(made.path, { bigint: true }));
  return {
    path: made.path,
    name: sentName({ source, recipe }),
    source: { ...stats, sha256: made.sha256, hashedAt: Date.now() },
    from,
    made,
  };
};

/** The error of a source that changed while `something was done`. */
export const sourceChanged = (path: string, during: string): SourceChangedError =>
  new SourceChangedError(`${path} changed while ${during}`, {
    hint: 'it will be read again; to avoid this, write to a temporary name, then rename',
  });

/** What is known of a resource once its file is fetched: that file is its source on this host. */
export const fetchedFileOf = async (
  wish: ResourceWish,
  from: Extract<ResourceSource, { kind: 'url' }>,
  got: FetchedFile,
): Promise<{ wish: ResourceWish; source: SourceFingerprint; fetched: FetchedFrom }> => {
  const { path, sha256 } = got;
  const kind = await kindOfFile(path);
  const name = nameOfFetched(from, { ...got, kind });
  const { etag, lastModified, finalUrl = from.url } = got.validators;
  const facts = factsOf(await stat(path, { bigint: true }));
  return {
    wish: withSource(wish, { kind: 'file', path, name, url: from.url }),
    source: { ...facts, sha256, hashedAt: Date.now(), ...(kind === null ? {} : { kind }) },
    fetched: { url: from.url, etag, lastModified, finalUrl, name },
  };
};

export interface TableShape {
  rows: number;
  /** As {@link countedColumns} counts; null where they are not known. */
  columns: number | null;
  /** Counts the rows that importers of some portals drop. */
  dropped(): Promise<number>;
}

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

export interface LocalTools extends TableLimits {
  fetched: FetchedFiles;
  signal: AbortSignal;
}

export interface KnownFile {
  portal: string;
  entry: LedgerEntry | undefined;
  source: SourceFingerprint | null;
}

/** Reads the file of a resource for `work`, then removes what was fetched or made; a faulty one leaves nothing to compare. */
export const withLocalFile = async <T>(
  wish: ResourceWish,
  known: KnownFile,
  tools: LocalTools,
  work: (local: LocalFile) => Promise<T>,
): Promise<T> => {
  // Beside the folder of the job that publishes the resource, which may run at the same time.
  const place = { portal: `${known.portal}~compare`, uuid: wish.uuid };
  try {
    const local = await sourceOf(wish, known, place, tools);
    if (local.sent || local.source === null) return await work(local);
    return await withSentFile(local.wish, local.source, tools, (file, table) => {
      if (file === null) return work(local);
      const { from, source } = file;
      const sent = { bytes: source.bytes, sha256: source.sha256, ...(from && { from }) };
      return work({ ...local, sent, table: table && shapeOfTable(file.path, table, tools.signal) });
    });
  } finally {
    if (wish.source.kind === 'url') await tools.fetched.remove(place);
  }
};

/** The source on this host. Its bytes are not fetched where the published version is the current one. */
const sourceOf = async (
  wish: ResourceWish,
  { entry, source: here }: KnownFile,
  place: { portal: string; uuid: string },
  tools: LocalTools,
): Promise<LocalFile> => {
  const { source } = wish;
  const nothing: LocalFile = { wish, source: null, sent: null, table: null, fetched: null };
  if (source.kind === 'changes') return asSent(nothing, entry);
  if (source.kind !== 'url') return { ...nothing, source: source.kind === 'file' ? here : null };
  const { url, name } = source;
  const isPublished =
    entry?.fetched?.url === url && entry.source !== null && isSent(entry.file, entry.source.sha256, wish);
  const wanted = { ...place, url, name, by: randomUUID(), published: isPublished ? entry.fetched : null };
  const got = await orNull(tools.fetched.get(wanted, { signal: tools.signal }));
  if (got === null) return nothing;
  if (got !== 'unchanged') return { ...nothing, ...(await fetchedFileOf(wish, source, got)) };
  return asSent(nothing, entry);
};

/** What was sent last, by the ledger. */
const asSent = (nothing: LocalFile, entry: LedgerEntry | undefined): LocalFile => {
  if (!entry?.file) return nothing;
  const { bytes, sha256, from } = entry.file;
  const { rows, rowsDropped: lost } = entry;
  return {
    wish: nothing.wish,
    source: entry.source,
    fetched: entry.fetched,
    sent: { bytes, sha256, ...(from && { from }) },
    table: rows === null ? null : { rows: rows + lost, columns: null, dropped: async () => lost },
  };
};

/** Gives `work` the file that is sent of a source on this host, then removes one that was made; null where it is faulty, or no table. */
export const withSentFile = async <T>(
  wish: ResourceWish,
  source: SourceFingerprint,
  tools: TableLimits & { signal: AbortSignal },
  work: (file: SentFile | null, table: TableReport | null) => Promise<T>,
): Promise<T> => {
  if (wish.source.kind !== 'file') return work(null, null);
  const { recipe } = wish;
  const { signal, rowBytes } = tools;
  const raw: SentFile = { path: wish.source.path, name: wish.source.name, source };
  const how = { label: randomUUID(), rejects: null };
  const file = recipe ? await orNull(prepareFile(raw, { ...wish, recipe }, tools, how)) : raw;
  const made = madeTable(file);
  try {
    if (file === null || !isTabular(file.name)) return await work(file, null);
    return await work(file, await orNull(checkTable(file.path, { signal, rowBytes, ...made?.reading })));
  } finally {
    if (made) await removePreparedFile(made.path);
  }
};

/** The shape that the table of a file should have on a portal. */
export const shapeOfTable = (path: string, { rows, columns }: TableReport, signal: AbortSignal): TableShape => ({
  rows,
  columns: countedColumns(columns),
  dropped: async () => (await rowsDropped(path, rows, signal)).length,
});
