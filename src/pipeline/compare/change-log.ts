// The lines of a change log: each version of a table of the dataset, and the rows that changed with it. Pure.
import { countsText, type RowChanges, type TableVersion } from '../../model/table-history.ts';

export const logColumns = ['version', 'time', 'table', 'key', 'what', 'column', 'old', 'new'] as const;

/** A line by {@link logColumns}. */
export type LogLine = readonly string[];

/** Lines that a log has at most; older ones go. */
const mostLines = 10_000;

/** Rows of each kind that are listed of a version. */
export const mostListed = 1000;

const longest = 1000;

export interface LoggedTable {
  /** Id of its resource. */
  id: string;
  /** Oldest first. */
  versions: readonly TableVersion[];
  /** What changed with the last version; null where that is not known. */
  changes: RowChanges | null;
}

const [numberAt, timeAt, tableAt, whatAt] = [0, 1, 2, 4];

const isVersion = (line: LogLine): boolean => line[whatAt] === 'version';

/** When the last version of a log was made, as it says it; empty where it has none. */
export const lastTime = (log: readonly LogLine[]): string => log.findLast(isVersion)?.[timeAt] ?? '';

/** The log with the versions that it lacks, by their times. */
export const withVersions = (log: readonly LogLine[], tables: readonly LoggedTable[]): LogLine[] => {
  const ids = new Set(tables.map(({ id }) => id));
  const fresh = tables.flatMap(({ id, versions, changes }) => {
    const isOf = (line: LogLine): boolean => versions.some(({ at }) => at === Date.parse(line[timeAt] ?? ''));
    // A table that was renamed goes on under its new id.
    const last =
      log.findLast((line) => isVersion(line) && line[tableAt] === id) ??
      log.findLast((line) => isVersion(line) && !ids.has(line[tableAt] ?? '') && isOf(line));
    const since = last ? Date.parse(last[timeAt] ?? '') : 0;
    const listed = versions.findLastIndex(({ at }) => at === since);
    const known = listed < 0 ? versions.filter(({ at }) => at <= since).length : listed + 1;
    return versions.slice(known).map((version, index) => ({
      at: version.at,
      lines: linesOf(version, {
        id,
        number: Number(last?.[numberAt] ?? 0) + index + 1,
        before: versions[known + index - 1],
        // Of a version that is not listed, such as a draft, readers learn no rows.
        changes: version === versions.at(-1) && index === 0 && listed >= 0 ? changes : null,
      }),
    }));
  });
  fresh.sort((a, b) => a.at - b.at);
  return withoutOldest([...log, ...fresh.flatMap(({ lines }) => lines)]);
};

/** The last version of each table stays, so that it is never listed twice. */
const withoutOldest = (lines: LogLine[]): LogLine[] => {
  const over = lines.length - mostLines;
  if (over <= 0) return lines;
  const last = new Map(lines.filter(isVersion).map((line) => [line[tableAt], line]));
  return lines.filter((line, index) => index >= over || last.get(line[tableAt]) === line);
};

interface Told {
  id: string;
  number: number;
  before: TableVersion | undefined;
  changes: RowChanges | null;
}

interface Cells {
  key?: string;
  column?: string;
  old?: string;
  now?: string;
}

const linesOf = ({ at, rows }: TableVersion, { id, number, before, changes }: Told): LogLine[] => {
  const time = new Date(at).toISOString();
  const line = (what: string, { key = '', column = '', old = '', now = '' }: Cells): LogLine =>
    [String(number), time, id, key, what, column, old, now].map((cell) => cell.slice(0, longest));
  const first = line('version', { old: String(before?.rows ?? ''), now: String(rows) });
  if (changes === null) return [first];
  const { key, columns, examples } = changes;
  const keyOf = (row: Row): string => valuesOf(row.slice(0, key?.length ?? 0));
  const { added, removed, changed } = examples;
  const more = {
    added: changes.added - added.length,
    removed: changes.removed - removed.length,
    changed: changes.changed - changed.length,
  };
  return [
    first,
    ...columns.added.map((column) => line('column added', { column })),
    ...columns.removed.map((column) => line('column removed', { column })),
    ...columns.renamed.map(({ from, to }) => line('column renamed', { column: to, old: from, now: to })),
    ...changed.flatMap((row) =>
      row.cells.map(({ column, old, new: now }) => line('changed', { key: valuesOf(row.key), column, old, now })),
    ),
    ...added.map((row) => line('added', { key: keyOf(row), now: rowText(row) })),
    ...removed.map((row) => line('removed', { key: keyOf(row), old: rowText(row) })),
    ...(Object.values(more).some((count) => count > 0) ? [line('not listed', { now: countsText(more) })] : []),
  ];
};

type Row = RowChanges['examples']['added'][number];

const valuesOf = (row: Row): string => row.map(({ value }) => value).join(', ');

const rowText = (row: Row): string => row.map(({ column, value }) => `${column}: ${value}`).join('; ');
