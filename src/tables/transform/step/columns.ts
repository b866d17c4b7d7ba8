// Steps about columns: which there are, in which order, under which names.
import type { Step } from '../../../model/recipe/steps.ts';
import { noColumn, shown } from '../row.ts';
import { many, placeOf, type RowStep } from './row-step.ts';

/** Keeps the named columns, in that order. */
export const selectStep = (columns: string[], names: string[]): RowStep => {
  const places = names.map((name) => placeOf('select', columns, name));
  return {
    columns: names,
    apply: (row) => {
      const { cells } = row;
      row.cells = places.map((at) => cells[at] ?? '');
      return true;
    },
    tell: () => `select: ${many(names.length, 'column')} of ${columns.length}`,
  };
};

/** Leaves the named columns out. */
export const dropStep = (columns: string[], names: string[]): RowStep => {
  const gone = new Set(names.map((name) => placeOf('drop', columns, name)));
  return {
    columns: columns.filter((_, at) => !gone.has(at)),
    apply: (row) => {
      row.cells = row.cells.filter((_, at) => !gone.has(at));
      return true;
    },
    tell: () => `drop: ${many(gone.size, 'column')} of ${columns.length}`,
  };
};

/** Gives columns new names; names may change places. */
export const renameStep = (columns: string[], renames: Record<string, string>): RowStep => ({
  columns: renamed('rename', columns, renames),
  apply: () => true,
  tell: () => `rename: ${many(Object.keys(renames).length, 'column')}`,
});

const renamed = (step: string, columns: string[], renames: Record<string, string>): string[] => {
  for (const name of Object.keys(renames)) if (!columns.includes(name)) throw noColumn(step, name, columns);
  return columns.map((name) => (Object.hasOwn(renames, name) ? (renames[name] ?? name) : name));
};

/** The header as the step `header` makes it, with a line about it; null when it says nothing. */
export const headerOf = (
  columns: string[],
  { trim = false, names, rename = {} }: NonNullable<Step['header']>,
): { columns: string[]; said: string | null } => {
  if (names !== undefined && names.length !== columns.length) {
    throw noColumn('header', `${names.length} names`, columns);
  }
  const before = columns.join('\0');
  const given = names ?? columns;
  const trimmed = trim ? given.map((name) => name.trim().replaceAll(/\s+/g, ' ')) : given;
  const after = renamed('header', trimmed, rename);
  return { columns: after, said: after.join('\0') === before ? null : `header: ${after.map(shown).join(', ')}` };
};
