// Steps that leave rows out: filter and dedupe.
import { parseExpression } from '../../recipe/expression.ts';
import { compileExpression, isTrue, NoValue } from '../evaluate.ts';
import { SeenKeys } from '../seen-keys.ts';
import { many, placeOf, type RowStep, type StepTools } from './row-step.ts';

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
