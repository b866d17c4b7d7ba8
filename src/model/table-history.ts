// The history of a table: facts about its live versions, and the limits for the next one.
import { z } from 'zod';
import { columnPolicies } from './policy.ts';

/** What most values of a column are; `mixed` where no kind makes up three quarters of them. */
const columnKinds = [
  'number',
  'local number',
  'code',
  'date',
  'local date',
  'boolean',
  'text',
  'mixed',
  'empty',
] as const;

/** See {@link columnKinds}: a code is a number with leading zeros, a local number or date one in another notation than 1234.5 or 2026-01-31. */
export type ColumnKind = (typeof columnKinds)[number];

/** Limits beyond which a new version of a table is held; what is absent has none. Shares are 0 to 1. */
export const tableGuardSchema = z.object({
  /** Fewer or more rows than this share of those before. */
  rows: z.number().exactOptional(),
  columns: z.enum(columnPolicies).exactOptional(),
  /** Share of the values of a column that may get lost. */
  nulls: z.number().exactOptional(),
  /** How long nothing new may come, milliseconds. */
  sameMs: z.number().exactOptional(),
});

export type TableGuard = z.infer<typeof tableGuardSchema>;

/** One column of a table as it was sent. */
export interface TableColumn {
  /** The header cell. */
  name: string;
  kind: ColumnKind;
  /** Cells without a value. */
  empty: number;
}

/** A version of a table. */
export interface TableVersion {
  /** When it was proven on the portal, Unix milliseconds. */
  at: number;
  rows: number;
  bytes: number;
  /** True where a guard on rows let it pass, or it was released by hand: its step from the previous version is a known one. */
  isGuarded: boolean;
  columns: Omit<TableColumn, 'empty'>[];
}

/** The version that is live, as the ledger entry holds it. */
export const liveVersionSchema = z.object({
  /** Unix seconds. */
  at: z.number().int(),
  /** First 8 digits of the sha256 of the file. */
  sum: z.string(),
  rows: z.number().int(),
  bytes: z.number().int(),
  guarded: z.literal(1).exactOptional(),
  names: z.array(z.string()),
  /** Digits: the number of each column's kind in {@link columnKinds}. */
  kinds: z.string(),
  /** Cells without a value, by the column's place; absent for columns that have none. */
  empty: z.record(z.string(), z.number()).exactOptional(),
  /** Least share of cells with a value that passed the guard, in percent, by name, where that is less than now. */
  sparse: z.record(z.string(), z.number()).exactOptional(),
  /** When it was confirmed to be still the newest, Unix seconds. */
  confirmed: z.number().int().exactOptional(),
});

export type LiveVersion = z.infer<typeof liveVersionSchema>;

/** Former versions, oldest first, as lists of what differs from the previous version. */
export const formerVersionsSchema = z.object({
  /** Unix seconds. */
  at: z.array(z.number().int()),
  rows: z.array(z.number().int()),
  bytes: z.array(z.number().int()),
  /** `1` for each that is guarded, `0` for others. */
  guarded: z.string(),
  /** Number of its columns in `sets`. */
  set: z.array(z.number().int()),
  sets: z.array(z.object({ names: z.array(z.string()), kinds: z.string() })),
});

export type FormerVersions = z.infer<typeof formerVersionsSchema>;

/** Versions that are kept of a table, with the one that is live. */
const keptVersions = 100;

/** Columns that are kept of a version, and compared; few portals take more. */
export const keptColumns = 1000;

/** What the check found of a file that is to be sent. */
export interface CheckedTable {
  rows: number;
  bytes: number;
  sha256: string;
  contents: readonly TableColumn[];
}

/** The version that a proven table is; `before`: the one that was live until now; `guard`: the limits that it passed. */
export const liveVersionOf = (
  table: CheckedTable,
  { at, before, guard = {} }: { at: number; before: LiveVersion | null; guard?: TableGuard | undefined },
): LiveVersion => {
  const { rows, bytes, sha256, contents } = table;
  const columns = contents.slice(0, keptColumns);
  const empty = columns.flatMap((column, place) => (column.empty > 0 ? [[String(place), column.empty] as const] : []));
  const sparse = guard.nulls === undefined ? [] : sparseOf(table, before);
  return {
    at: Math.floor(at / 1000),
    sum: sha256.slice(0, 8),
    rows,
    bytes,
    ...(guard.rows === undefined ? {} : { guarded: 1 as const }),
    names: columns.map(({ name }) => name),
    kinds: columns.map(({ kind }) => columnKinds.indexOf(kind)).join(''),
    ...(empty.length === 0 ? {} : { empty: Object.fromEntries(empty) }),
    ...(sparse.length === 0 ? {} : { sparse: Object.fromEntries(sparse) }),
  };
};

/** Columns that were emptier before, with the share that they had. */
const sparseOf = ({ rows, contents: columns }: CheckedTable, before: LiveVersion | null): [string, number][] => {
  if (before === null || rows === 0) return [];
  const filled = new Map(columns.map(({ name, empty }) => [name, Math.round((1 - empty / rows) * 100)]));
  return columnsOf(before).flatMap(({ name, empty }): [string, number][] => {
    const own = before.rows === 0 ? 100 : Math.round((1 - empty / before.rows) * 100);
    const least = Math.min(own, before.sparse?.[name] ?? 100);
    return least < (filled.get(name) ?? 0) ? [[name, least]] : [];
  });
};

/** The columns of a live version. */
export const columnsOf = ({ names, kinds, empty = {} }: LiveVersion): TableColumn[] =>
  names.map((name, place) => ({ name, kind: kindAt(kinds, place), empty: empty[String(place)] ?? 0 }));

const kindAt = (kinds: string, place: number): ColumnKind => columnKinds[Number(kinds[place])] ?? 'mixed';

/** All versions, the live one last. */
export const versionsOf = (former: FormerVersions | null, live: LiveVersion | null): TableVersion[] => {
  const versions: TableVersion[] = [];
  const sum = { at: 0, rows: 0, bytes: 0 };
  for (const [index, at] of (former?.at ?? []).entries()) {
    sum.at += at;
    sum.rows += former?.rows[index] ?? 0;
    sum.bytes += former?.bytes[index] ?? 0;
    const { names = [], kinds = '' } = former?.sets[former.set[index] ?? 0] ?? {};
    versions.push({
      at: sum.at * 1000,
      rows: sum.rows,
      bytes: sum.bytes,
      isGuarded: former?.guarded[index] === '1',
      columns: names.map((name, place) => ({ name, kind: kindAt(kinds, place) })),
    });
  }
  if (live === null) return versions;
  const { at, rows, bytes, guarded } = live;
  const columns = columnsOf(live).map(({ name, kind }) => ({ name, kind }));
  return [...versions, { at: at * 1000, rows, bytes, isGuarded: guarded === 1, columns }];
};

/** The former versions once `live` is one of them. */
export const withFormer = (former: FormerVersions | null, live: LiveVersion): FormerVersions => {
  const versions = versionsOf(former, live).slice(1 - keptVersions);
  const sets: FormerVersions['sets'] = [];
  const numbers = new Map<string, number>();
  const set = versions.map(({ columns }) => {
    const names = columns.map(({ name }) => name);
    const kinds = columns.map(({ kind }) => columnKinds.indexOf(kind)).join('');
    const text = JSON.stringify([names, kinds]);
    const number = numbers.get(text) ?? sets.push({ names, kinds }) - 1;
    numbers.set(text, number);
    return number;
  });
  const steps = (of: (version: TableVersion) => number): number[] =>
    versions.map((version, index) => {
      const earlier = versions[index - 1];
      return of(version) - (earlier === undefined ? 0 : of(earlier));
    });
  return {
    at: steps(({ at }) => Math.floor(at / 1000)),
    rows: steps(({ rows }) => rows),
    bytes: steps(({ bytes }) => bytes),
    guarded: versions.map(({ isGuarded }) => (isGuarded ? '1' : '0')).join(''),
    set,
    sets,
  };
};
