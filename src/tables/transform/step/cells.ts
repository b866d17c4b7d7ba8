// Steps that change cells and columns.
import { compileCast } from '../../../model/recipe/cast.ts';
import { compileExpression } from '../../../model/recipe/expression.ts';
import { NoValue, textOf } from '../../../model/recipe/expression-values.ts';
import type { Step } from '../../../model/recipe/steps.ts';
import { plural } from '../../../util/plural.ts';
import { inColumn, noColumn, placeOf, type RowStep, type StepMakers, shown } from '../row.ts';

const keepStep = (columns: string[], places: number[], summary: string): RowStep => ({
  columns: places.map((at) => columns[at] ?? ''),
  apply: (row) => {
    const { cells } = row;
    row.cells = places.map((at) => cells[at] ?? '');
    return true;
  },
  summary: () => summary,
});

const renamed = (step: string, columns: string[], renames: Record<string, string>): string[] => {
  for (const name of Object.keys(renames)) if (!columns.includes(name)) throw noColumn(step, name, columns);
  return columns.map((name) => (Object.hasOwn(renames, name) ? (renames[name] ?? name) : name));
};

/** The header as the step `header` makes it, with a line about it; null when nothing changes. */
export const headerOf = (columns: string[], { trim = false, names, rename = {} }: NonNullable<Step['header']>) => {
  if (names !== undefined && names.length !== columns.length) {
    throw noColumn('header', `${names.length} names`, columns);
  }
  const before = columns.join('\0');
  const given = names ?? columns;
  const trimmed = trim ? given.map((name) => name.trim().replaceAll(/\s+/g, ' ')) : given;
  const after = renamed('header', trimmed, rename);
  return { columns: after, note: after.join('\0') === before ? null : `header: ${after.map(shown).join(', ')}` };
};

/** Converts cells to one notation; a cell that cannot be converted makes its row a bad row. */
const castStep = (columns: string[], casts: NonNullable<Step['cast']>): RowStep => {
  const compiled = Object.entries(casts).map(([name, cast]) => {
    const to = typeof cast === 'string' ? cast : cast.to;
    return { at: placeOf('cast', columns, name), wrong: `is not a valid ${nouns[to]}`, cast: compileCast(cast) };
  });
  let changed = 0;
  return {
    columns,
    apply: ({ cells }) => {
      const violations = [];
      for (const { at, wrong, cast } of compiled) {
        const cell = cells[at] ?? '';
        const isEmpty = cell.trim() === '';
        const text = isEmpty ? '' : cast(cell);
        if (text === null) violations.push(inColumn(columns, at, wrong));
        else if (text !== cell) {
          cells[at] = text;
          if (!isEmpty) changed++;
        }
      }
      return violations.length === 0 || violations;
    },
    summary: ({ rejected }) => `cast: ${plural(changed, 'cell')} changed, ${plural(rejected, 'bad row')}`,
  };
};

const nouns = {
  text: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'truth value',
  date: 'date in the given format',
  datetime: 'date with time in the given format',
  time: 'time in the given format',
};

/** A step that changes cells in some columns; `change` gets a cell and its place in the row. */
const cellStep = (
  columns: string[],
  { places, change, did }: { places: number[]; change: (cell: string, at: number) => string; did: string[] },
): RowStep => {
  let changed = 0;
  return {
    columns,
    apply: ({ cells }) => {
      for (const at of places) {
        const cell = cells[at] ?? '';
        const text = change(cell, at);
        if (text === cell) continue;
        cells[at] = text;
        changed++;
      }
      return true;
    },
    summary: () => did.join(plural(changed, 'cell')),
  };
};

const replacement = (wanted: NonNullable<Step['replace']>): ((cell: string) => string) => {
  const { cell, text, pattern } = wanted;
  const by = String(wanted.with);
  if (pattern !== undefined) {
    const regular = new RegExp(pattern, 'gu');
    return (found) => found.replace(regular, by);
  }
  if (text !== undefined) return (found) => (found.includes(text) ? found.replaceAll(text, () => by) : found);
  const values = new Set([cell ?? []].flat().map(String));
  return (found) => (values.has(found) ? by : found);
};

const filling = (fill: NonNullable<Step['fill']>): ((cell: string, at: number) => string) => {
  const above: string[] = [];
  const constant = fill.with === undefined ? null : String(fill.with);
  return (cell, at) => {
    if (cell.trim() === '') return constant ?? above[at] ?? '';
    above[at] = cell;
    return cell;
  };
};

/** Columns computed from others; each sees those before it. A row without a value is a bad row. */
const computedStep = (columns: string[], computed: Record<string, string>): RowStep => {
  const wanted = Object.keys(computed);
  const { names, places } = withColumns(columns, wanted);
  const works = Object.values(computed).map((text, index) => {
    const known = [...columns, ...names.slice(columns.length).filter((name) => wanted.indexOf(name) < index)];
    return compileExpression(text, (name) => placeOf('computed', known, name));
  });
  return {
    columns: names,
    apply: ({ cells }) => {
      for (const [index, at] of places.entries()) {
        try {
          cells[at] = textOf(works[index]?.(cells) ?? '');
        } catch (error) {
          if (!(error instanceof NoValue)) throw error;
          return [inColumn(names, at, error.message)];
        }
      }
      return true;
    },
    summary: ({ rejected }) =>
      `computed: ${wanted.map(shown).join(', ')}${rejected > 0 ? `, ${plural(rejected, 'bad row')}` : ''}`,
  };
};

const withColumns = (columns: string[], wanted: string[]): { names: string[]; places: number[] } => {
  const names = [...columns];
  const places = wanted.map((name) => (names.includes(name) ? placeOf('computed', names, name) : names.push(name) - 1));
  return { names, places };
};

export const cellSteps: StepMakers<
  'select' | 'drop' | 'rename' | 'cast' | 'replace' | 'fill' | 'constant' | 'computed'
> = {
  select: (columns, names) => {
    const places = names.map((name) => placeOf('select', columns, name));
    return keepStep(columns, places, `select: ${plural(names.length, 'column')} of ${columns.length}`);
  },
  drop: (columns, names) => {
    const gone = new Set(names.map((name) => placeOf('drop', columns, name)));
    const places = [...columns.keys()].filter((at) => !gone.has(at));
    return keepStep(columns, places, `drop: ${plural(gone.size, 'column')} of ${columns.length}`);
  },
  rename: (columns, renames) => ({
    columns: renamed('rename', columns, renames),
    apply: () => true,
    summary: () => `rename: ${plural(Object.keys(renames).length, 'column')}`,
  }),
  cast: castStep,
  replace: (columns, wanted) => {
    const places = wanted.in?.map((name) => placeOf('replace', columns, name)) ?? [...columns.keys()];
    return cellStep(columns, { places, change: replacement(wanted), did: ['replace: ', ' changed'] });
  },
  fill: (columns, fill) => {
    const places = fill.in.map((name) => placeOf('fill', columns, name));
    return cellStep(columns, { places, change: filling(fill), did: ['fill: ', ' filled'] });
  },
  /** Columns with the same value in every row; an existing one is overwritten. */
  constant: (columns, constants) => {
    const { names, places } = withColumns(columns, Object.keys(constants));
    const values = Object.values(constants).map(String);
    return {
      columns: names,
      apply: ({ cells }) => {
        for (const [index, at] of places.entries()) cells[at] = values[index] ?? '';
        return true;
      },
      summary: () => `constant: ${Object.keys(constants).map(shown).join(', ')}`,
    };
  },
  computed: computedStep,
};
