// Which rows of a new version of a table are not as in the last good file, or in the datastore where no copy is on this host.
import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { orNull } from '../../model/errors.ts';
import { idsOfKey } from '../../model/key.ts';
import type { GoodFile, LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import { brief, isOfTable, mostExamples, type RowChanges } from '../../model/table-history.ts';
import type { ResourceWish } from '../../model/wish.ts';
import type { Datastore } from '../../portal-client/datastore.ts';
import type { KeptFiles } from '../../sources/drop/kept.ts';
import { findArchived } from '../../sources/drop/spool.ts';
import { rowChanges } from '../../tables/changes/changes.ts';
import type { TableReport } from '../../tables/check.ts';
import { csvLine } from '../../tables/transform/bad-rows.ts';
import { makeFolder } from '../../util/files.ts';
import { type KnownFile, madeTable, type TableLimits, withSentFile } from './local-file.ts';

/** Where copies of the good file of a resource may be. */
interface CopyPlace {
  kept: Pick<KeptFiles, 'find'>;
  portal: string;
  wish: Pick<ResourceWish, 'key' | 'uuid' | 'source' | 'rowKey'>;
}

/** Path of the good file on this host; null where it is not kept. */
export const goodPath = async ({ kept, portal, wish }: CopyPlace, good: GoodFile): Promise<string | null> => {
  const path = await kept.find({ portal, uuid: wish.uuid }, good.sha256);
  if (path !== null || wish.source.kind !== 'file') return path;
  return findArchived(wish.source.path, { ...idsOfKey(wish.key), sha256: good.sha256 });
};

/** Larger tables are not compared: the memory that takes grows with their rows. */
const mostRows = 10_000_000;

interface NewVersion {
  path: string;
  table: Pick<TableReport, 'rows' | 'delimiter' | 'sha256'>;
  /** Lines above the header, where it was made so. */
  skipRows?: number | undefined;
}

/** Rows that are read from a datastore, a thousand at once, at most. */
const mostFetched = 100_000;

/** Where rows of the live version are read from where no copy is kept, and a file for them, which the caller removes. */
interface LiveRows {
  datastore: Pick<Datastore, 'rows'>;
  uuid: string;
  path: string;
}

/** Writes live rows to a file; false where they are too many, or not there. */
export const fetchRows = async ({ datastore, uuid, path }: LiveRows, signal: AbortSignal): Promise<boolean> => {
  let isThere = false;
  const pages = async function* (): AsyncGenerator<string> {
    for await (const { rows, columns, records } of datastore.rows(uuid, signal)) {
      const isFirst = !isThere;
      isThere = rows <= mostFetched && columns.length > 0;
      if (!isThere) return;
      const lines = records.map((record) => csvLine(columns.map((name) => String(record[name] ?? ''))));
      yield (isFirst ? csvLine(columns) : '') + lines.join('');
    }
  };
  await makeFolder(dirname(path), 0o700);
  await writeFile(path, pages(), { mode: 0o600 });
  return isThere;
};

interface CompareOptions {
  rowBytes: number;
  signal: AbortSignal;
  live?: LiveRows | null;
  examples?: number;
}

/** Null where that is no new version, or the one before is not known. */
export const changesSince = async (
  { good, version }: Pick<LedgerEntry, 'good' | 'version'>,
  { path, table, skipRows }: NewVersion,
  place: CopyPlace,
  { rowBytes, signal, live, examples = mostExamples }: CompareOptions,
): Promise<RowChanges | null> => {
  if (good === null || version === null || isOfTable(version, table)) return null;
  if (Math.max(table.rows, version.rows) > mostRows) return null;
  const copy = await goodPath(place, good);
  if (copy === null && !(live && (await orNull(fetchRows(live, signal))))) return null;
  const task = {
    before: {
      path: copy ?? live?.path ?? '',
      rows: version.rows,
      skipRows: 0,
      delimiter: copy === null ? ',' : (good.delimiter ?? undefined),
    },
    after: { path, rows: table.rows, skipRows, delimiter: table.delimiter },
    key: place.wish.rowKey ?? null,
    rowBytes,
    examples,
  };
  return orNull(rowChanges(task, signal));
};

interface AheadOptions extends TableLimits, Pick<KnownFile, 'portal' | 'entry'> {
  kept: CopyPlace['kept'];
  source: SourceFingerprint | null | undefined;
  signal: AbortSignal;
}

/** What a publish would change in the table of a local file; null where that is not known. */
export const changesAhead = async (wish: ResourceWish, options: AheadOptions): Promise<RowChanges | null> => {
  const { entry, source, kept, portal, signal, rowBytes } = options;
  const place = { kept, portal, wish };
  // Without a copy nothing is compared: then the table is not made and checked either.
  if (!source || !entry?.good || !entry.version || (await goodPath(place, entry.good)) === null) return null;
  return withSentFile(wish, source, options, async (file, table) => {
    if (file === null || table === null) return null;
    const version = { path: file.path, table, skipRows: madeTable(file)?.reading.skipRows };
    const found = await changesSince(entry, version, place, { rowBytes, signal });
    return found && brief(found);
  });
};
