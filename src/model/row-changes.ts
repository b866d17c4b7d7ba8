// What changed between two versions of a table: rows and columns, counted, with examples.
import { z } from 'zod';

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

/** How many rows of each kind are shown. */
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
