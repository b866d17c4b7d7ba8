// Steps that leave rows out: filter and dedupe.
import { TableStepError } from '../../../model/errors.ts';
import { parseExpression } from '../../../model/recipe/expression.ts';
import type { Step } from '../../../model/recipe/steps.ts';
import { compileExpression, isTrue, NoValue } from '../evaluate.ts';
import { SeenKeys } from '../seen-keys.ts';
import { inColumn, many, placeOf, type RowStep, type StepTools } from './row-step.ts';

/** Keeps the rows for which an expression holds. */
export const filterStep = (columns: string[], text: string, { bad }: StepTools): RowStep => {
  const holds = compileExpression(parseExpression(text), (name) => placeOf('filter', columns, name));
  let dropped = 0;
  return {
    columns,
    apply: (row) => {
      try {
        if (isTrue(holds(row.cells))) return true;
        dropped++;
      } catch (error) {
        if (!(error instanceof NoValue)) throw error;
        bad.reject(row, [{ column: null, at: null, message: `filter: ${error.message}` }]);
      }
      return false;
    },
    tell: () => `filter ${text}: ${many(dropped, 'row')} dropped`,
  };
};

/** Keeps the rows with one value of a column; rows with a value that no resource has are bad ones. */
export const splitStep = (columns: string[], split: NonNullable<Step['split']>, { bad }: StepTools): RowStep => {
  const { by, values, only } = split;
  if (only === undefined) {
    throw new TableStepError('step split: the resources were not told apart', {
      hint: '`split` stands in `table` of a resource below `datasets`, not elsewhere',
    });
  }
  const at = placeOf('split', columns, by);
  const own = String(only);
  const others = new Set(Array.isArray(values) ? values.map(String) : Object.keys(values));
  let left = 0;
  return {
    columns,
    apply: (row) => {
      const cell = row.cells[at] ?? '';
      if (cell === own) return true;
      if (others.has(cell)) left++;
      else bad.reject(row, [inColumn(columns, at, 'is none of the values of split')]);
      return false;
    },
    tell: () => `split by ${by}: ${many(left, 'row')} of other resources left out`,
  };
};

/** Keeps the first row of those that agree in the named columns. */
export const dedupeStep = (columns: string[], names: string[], { scratch }: StepTools): RowStep => {
  const places = names.map((name) => placeOf('dedupe', columns, name));
  const seen = new SeenKeys(scratch('dedupe'));
  let dropped = 0;
  return {
    columns,
    apply: (row) => {
      const isNew = seen.add(places.map((at) => row.cells[at] ?? ''));
      if (!isNew) dropped++;
      return isNew;
    },
    tell: () => `dedupe by ${names.join(', ')}: ${many(dropped, 'row')} dropped`,
    close: () => seen.close(),
  };
};
