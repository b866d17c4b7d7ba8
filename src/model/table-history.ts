// The history of a table: facts about its live versions, what changed between two of them, and the limits for the next one.
import { z } from 'zod';
import { columnPolicies } from './policy.ts';

/** How many rows are new, gone, or have other values. */
export const rowCountsSchema = z.object({
  added: z.number().int(),
  removed: z.number().int(),
  changed: z.number().int(),
});

const cellsSchema = z.array(z.object({ column: z.string(), value: z.string() }));

export const rowChangesSchema = rowCountsSchema.extend({
  /** The columns that tell which rows are the same one; null: rows were compared as a whole. */
  key: z.array(z.string()).nullable(),
  /** Rows of the version before. */
  before: z.number().int(),
  columns: z.object({
    added: z.array(z.string()),
    removed: z.array(z.string()),
    renamed: z.array(z.object({ from: z.string(), to: z.string() })),
  }),
  /** The first rows of each kind, by their order in the files; long values are cut. */
  examples: z.object({
    added: z.array(cellsSchema),
    removed: z.array(cellsSchema),
    changed: z.array(
      z.object({
        key: cellsSchema,
        cells: z.array(z.object({ column: z.string(), old: z.string(), new: z.string() })),
      }),
    ),
  }),
});

/** See {@link rowChangesSchema}; examples hold contents of rows: for people, never for logs. */
export type RowChanges = z.infer<typeof rowChangesSchema>;

export const mostExamples = 20;

/** What is shown of rows: longer values, and more columns, are cut. */
const [longestShown, mostShown] = [60, 8];

const shown = (value: string): string => (value.length > longestShown ? `${value.slice(0, longestShown - 1)}…` : value);

/** Changes as they are kept and shown, of those that tell of more. */
export const brief = ({ examples: { added, removed, changed }, ...changes }: RowChanges): RowChanges => {
  type Cells = z.infer<typeof cellsSchema>;
  const cut = (cells: Cells): Cells =>
    cells.slice(0, mostShown).map(({ column, value }) => ({ column, value: shown(value) }));
  return {
    ...changes,
    examples: {
      added: added.slice(0, mostExamples).map(cut),
      removed: removed.slice(0, mostExamples).map(cut),
      changed: changed.slice(0, mostExamples).map(({ key, cells }) => ({
        key: cut(key),
        cells: cells
          .slice(0, mostShown)
          .map(({ column, old, new: now }) => ({ column, old: shown(old), new: shown(now) })),
      })),
    },
  };
};

/** Rows added, removed and changed: `+412 -3 ~17`; those that are none are left out. */
export const countsText = ({ added, removed, changed }: z.infer<typeof rowCountsSchema>): string => {
  const some = Object.entries({ '+': added, '-': removed, '~': changed }).filter(([, count]) => count > 0);
  return some.map(([sign, count]) => `${sign}${count.toLocaleString('en')}`).join(' ') || 'as before';
};

/** The changes in one line: `+412 -3 ~17 by id; columns: +email, -fax, name to title`. */
export const changesText = ({ key, columns: { added, removed, renamed }, ...counts }: RowChanges): string => {
  const columns = [
    ...added.map((name) => `+${name}`),
    ...removed.map((name) => `-${name}`),
    ...renamed.map(({ from, to }) => `${from} to ${to}`),
  ];
  const by = key === null || counts.added + counts.removed + counts.changed === 0 ? '' : ` by ${key.join(', ')}`;
  return `${countsText(counts)}${by}${columns.length === 0 ? '' : `; columns: ${columns.join(', ')}`}`;
};

/**
 * What most values of a column are; `mixed` where no kind makes up three quarters of them. A code is a number with leading
 * zeros, a local number or date one in another notation than 1234.5 or 2026-01-31.
 */
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

export type ColumnKind = (typeof columnKinds)[number];

/** Limits beyond which a new version of a table is held; what is absent has none. Shares are 0 to 1. */
export const tableGuardSchema = z.object({
  /** Fewer or more rows than this share of those before. */
  rows: z.number().exactOptional(),
  columns: z.enum(columnPolicies).exactOptional(),
  /** Share of the values of a column that may get lost. */
  nulls: z.number().exactOptional(),
  /** Share of the rows of the live version that may be added, removed or changed. */
  maxChangedRows: z.number().exactOptional(),
  /** How long nothing new may come, milliseconds. */
  sameMs: z.number().exactOptional(),
});

export type TableGuard = z.infer<typeof tableGuardSchema>;

const columnSchema = z.object({ name: z.string(), kind: z.enum(columnKinds) });

/** A column of a table that is live: its header cell, what its values are, and how many cells have none. */
const liveColumnSchema = columnSchema.extend({ empty: z.number().int() });

export type TableColumn = z.infer<typeof liveColumnSchema>;

const versionSchema = z.object({
  at: z.number().int(),
  rows: z.number().int(),
  bytes: z.number().int(),
  /** True where a guard on rows let it pass, or it was released by hand: its step from the previous version is a known one. */
  isGuarded: z.boolean(),
  columns: z.array(columnSchema),
  /** Rows since the version before, where they could be compared. */
  changes: rowCountsSchema.exactOptional(),
});

export type TableVersion = z.infer<typeof versionSchema>;

export const liveVersionSchema = versionSchema.extend({
  /** First 8 digits of the sha256 of the file. */
  sum: z.string(),
  columns: z.array(liveColumnSchema),
  /** Least share of cells with a value that passed the guard, in percent, by name, where that is less than now. */
  sparse: z.record(z.string(), z.number()),
  /** When it was confirmed to be still the newest, Unix milliseconds. */
  confirmed: z.number().int().exactOptional(),
});

export type LiveVersion = z.infer<typeof liveVersionSchema>;

/** Former versions, oldest first; one without columns has those of the version before it. */
export const formerVersionsSchema = z.array(versionSchema.partial({ columns: true }));

export type FormerVersions = z.infer<typeof formerVersionsSchema>;

/** Versions that are kept of a table, with the one that is live. */
export const keptVersions = 100;

/** Columns that are kept of a version, and compared; few portals take more. */
export const keptColumns = 1000;

export interface CheckedTable {
  rows: number;
  bytes: number;
  sha256: string;
  contents: readonly TableColumn[];
}

/** First digits of the hash of a file, by which versions are told apart. */
export const sumOf = ({ sha256 }: Pick<CheckedTable, 'sha256'>): string => sha256.slice(0, 8);

/** True where a version was made of the same bytes. */
export const isOfTable = (version: LiveVersion | null, table: Pick<CheckedTable, 'sha256'>): boolean =>
  version?.sum === sumOf(table);

/** The version that a proven table is; `before`: the one that was live until now; `guard`: the limits that it passed. */
export const liveVersionOf = (
  table: CheckedTable,
  {
    at,
    before,
    guard = {},
    changes,
  }: { at: number; before: LiveVersion | null; guard?: TableGuard | undefined; changes?: RowChanges | null },
): LiveVersion => ({
  at,
  sum: sumOf(table),
  rows: table.rows,
  bytes: table.bytes,
  isGuarded: guard.rows !== undefined,
  ...(changes ? { changes: rowCountsSchema.parse(changes) } : {}),
  columns: table.contents.slice(0, keptColumns),
  sparse: guard.nulls === undefined || before === null || table.rows === 0 ? {} : sparseOf(table, before),
});

/** Columns that were emptier before, with the share that they had. */
const sparseOf = ({ rows, contents }: CheckedTable, before: LiveVersion): LiveVersion['sparse'] => {
  const filled = new Map(contents.slice(0, keptColumns).map(({ name, empty }) => [name, percentFilled(rows, empty)]));
  const least = before.columns.map(({ name, empty }): [string, number] => [
    name,
    Math.min(percentFilled(before.rows, empty), before.sparse[name] ?? 100),
  ]);
  return Object.fromEntries(least.filter(([name, percent]) => percent < (filled.get(name) ?? 0)));
};

const percentFilled = (rows: number, empty: number): number =>
  rows === 0 ? 100 : Math.round((1 - empty / rows) * 100);

/** All versions, oldest first, without what only the live one has. */
export const versionsOf = (former: FormerVersions | null, live: LiveVersion | null): TableVersion[] => {
  let columns: TableVersion['columns'] = [];
  return [...(former ?? []), ...(live ? [live] : [])].map(({ at, rows, bytes, isGuarded, changes, columns: own }) => {
    columns = own?.map(({ name, kind }) => ({ name, kind })) ?? columns;
    return { at, rows, bytes, isGuarded, ...(changes && { changes }), columns };
  });
};

export const withFormer = (former: FormerVersions | null, live: LiveVersion): FormerVersions =>
  versionsOf(former, live)
    .slice(1 - keptVersions)
    .map(({ columns, ...version }, index, all) =>
      JSON.stringify(columns) === JSON.stringify(all[index - 1]?.columns) ? version : { ...version, columns },
    );
