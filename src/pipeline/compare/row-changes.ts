// Which rows of a new version of a table are not as in the last good file, where a copy of that is on this host.
import { randomUUID } from 'node:crypto';
import { idsOfKey } from '../../model/key.ts';
import type { GoodFile, LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import type { RowChanges } from '../../model/row-changes.ts';
import type { ResourceWish } from '../../model/wish.ts';
import type { KeptFiles } from '../../sources/drop/kept.ts';
import { findArchived } from '../../sources/drop/spool.ts';
import { rowChanges } from '../../tables/changes/changes.ts';
import { checkTable, type TableReport } from '../../tables/check.ts';
import { type Prepared, removePreparedFile } from '../../tables/transform/prepare.ts';
import { madeTable, orNull, prepareFile, type SentFile, type TableLimits } from './local-file.ts';

/** Where copies of the good file of a resource may be. */
interface CopyPlace {
  kept: Pick<KeptFiles, 'find'>;
  portal: string;
  wish: Pick<ResourceWish, 'key' | 'uuid' | 'source' | 'rowKey'>;
}

/** Path of the good file on this host; null where it is not kept. */
export const goodPath = async ({ kept, portal, wish }: CopyPlace, good: GoodFile): Promise<string | null> => {
  const path = await kept.find({ portal, uuid: wish.uuid }, good.sha256);
  if (path !== null || wish.source.kind !== 'file' || wish.source.claim === undefined) return path;
  const { path: dropped, claim } = wish.source;
  return findArchived({ path: dropped, claim }, { ...idsOfKey(wish.key), sha256: good.sha256 });
};

export const sumOf = (sha256: string): string => sha256.slice(0, 8);

/** Larger tables are not compared: the memory that takes grows with their rows. */
const mostRows = 10_000_000;

interface NewVersion {
  path: string;
  table: Pick<TableReport, 'rows' | 'delimiter' | 'sha256'>;
  /** Lines above the header, where it was made so. */
  skipRows?: number | undefined;
}

/** Null where that is no new version, or the one before is not known here. */
export const changesSince = async (
  { good, version }: Pick<LedgerEntry, 'good' | 'version'>,
  { path, table, skipRows }: NewVersion,
  place: CopyPlace,
  { rowBytes, signal }: { rowBytes: number; signal: AbortSignal },
): Promise<RowChanges | null> => {
  if (good === null || version === null || version.sum === sumOf(table.sha256)) return null;
  if (Math.max(table.rows, version.rows) > mostRows) return null;
  const copy = await goodPath(place, good);
  if (copy === null) return null;
  const task = {
    before: { path: copy, rows: version.rows, skipRows: 0, delimiter: good.delimiter ?? undefined },
    after: { path, rows: table.rows, skipRows, delimiter: table.delimiter },
    key: place.wish.rowKey ?? null,
    rowBytes,
  };
  return orNull(rowChanges(task, signal));
};

interface AheadOptions extends TableLimits {
  kept: CopyPlace['kept'];
  portal: string;
  entry: LedgerEntry | undefined;
  source: SourceFingerprint | null | undefined;
  signal: AbortSignal;
}

/** What a publish would change in the table of a local file; null where that is not known. */
export const changesAhead = async (wish: ResourceWish, options: AheadOptions): Promise<RowChanges | null> => {
  const { entry, source, kept, portal, signal, maxRowBytes: rowBytes } = options;
  if (wish.source.kind !== 'file' || !source || !entry?.good || !entry.version) return null;
  const { recipe } = wish;
  const raw: SentFile = { path: wish.source.path, name: wish.source.name, source };
  const label = { label: randomUUID(), rejects: null };
  const file: (SentFile & { made?: Prepared }) | null = recipe
    ? await orNull(prepareFile(raw, { ...wish, recipe }, options, label))
    : raw;
  const made = madeTable(file);
  try {
    if (file === null || !isTabular(file.name)) return null;
    const table = await orNull(checkTable(file.path, { signal, rowBytes, ...made?.reading }));
    const skipRows = made?.reading.skipRows;
    return (
      table &&
      (await changesSince(entry, { path: file.path, table, skipRows }, { kept, portal, wish }, { rowBytes, signal }))
    );
  } finally {
    if (made) await removePreparedFile(made.path);
  }
};
