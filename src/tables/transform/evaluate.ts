// Evaluates an expression for a row.
import type { Expression, FunctionName } from '../../model/recipe/expression.ts';

/** A value of an expression. */
type Value = string | number | boolean;

/** An expression has no value for a row, which makes it a bad row. */
export class NoValue extends Error {}

type Work = (cells: string[]) => Value;

/** Compiles an expression; `columnOf` gives the index of a column. */
export const compileExpression = (expression: Expression, columnOf: (name: string) => number): Work => {
  const inner = (of: Expression): Work => compileExpression(of, columnOf);
  switch (expression.kind) {
    case 'text':
    case 'number': {
      const { value } = expression;
      return () => value;
    }
    case 'column': {
      const at = columnOf(expression.name);
      return (cells) => cells[at] ?? '';
    }
    case 'call':
      return call(expression.name, expression.args.map(inner));
    case 'arithmetic':
      return arithmetic(expression.op, inner(expression.left), inner(expression.right));
    case 'join': {
      const [left, right] = [inner(expression.left), inner(expression.right)];
      return (cells) => textOf(left(cells)) + textOf(right(cells));
    }
    default:
      return test(expression, inner);
  }
};

/** Compiles the expressions that are true or false. */
const test = (
  expression: Exclude<Expression, { kind: 'text' | 'number' | 'column' | 'call' | 'arithmetic' | 'join' }>,
  inner: (of: Expression) => Work,
): Work => {
  switch (expression.kind) {
    case 'compare':
      return compare(expression.op, inner(expression.left), inner(expression.right));
    case 'contains': {
      const [left, right] = [inner(expression.left), inner(expression.right)];
      return (cells) => textOf(left(cells)).includes(textOf(right(cells)));
    }
    case 'matches': {
      const left = inner(expression.left);
      const pattern = new RegExp(expression.pattern, 'u');
      return (cells) => pattern.test(textOf(left(cells)));
    }
    case 'in': {
      const left = inner(expression.left);
      const list = expression.list.map((each) => compare('==', left, inner(each)));
      return (cells) => list.some((each) => each(cells));
    }
    case 'empty': {
      const of = inner(expression.of);
      return (cells) => textOf(of(cells)).trim() === '';
    }
    case 'not': {
      const of = inner(expression.of);
      return (cells) => !isTrue(of(cells));
    }
    default: {
      const [left, right] = [inner(expression.left), inner(expression.right)];
      return expression.kind === 'and'
        ? (cells) => isTrue(left(cells)) && isTrue(right(cells))
        : (cells) => isTrue(left(cells)) || isTrue(right(cells));
    }
  }
};

/** True for `true`, for text `true` in any case, and for numbers but 0. */
export const isTrue = (value: Value): boolean =>
  typeof value === 'string' ? value.toLowerCase() === 'true' : value !== false && value !== 0;

/** The text of a value; numbers are rounded to 15 digits, which hides binary fractions. */
export const textOf = (value: Value): string => {
  if (typeof value !== 'number') return String(value);
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(15)));
};

const numberPattern = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/** The value as a number; null when it is none. */
const numberOf = (value: Value): number | null => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && numberPattern.test(value) ? Number(value) : null;
};

/**
 * A number beside a number or a cell is compared as number (and with text that is none, nothing holds but `!=`); text in
 * quotes as text; two cells as numbers where both are.
 */
const compare = (
  op: '==' | '!=' | '<' | '<=' | '>' | '>=',
  left: Work,
  right: Work,
): ((cells: string[]) => boolean) => {
  const holds = relations[op];
  return (cells) => {
    const [a, b] = [left(cells), right(cells)];
    if (typeof a === 'number' || typeof b === 'number') {
      const [x, y] = [numberOf(a), numberOf(b)];
      return x === null || y === null ? op === '!=' : holds(x, y);
    }
    if (op === '==' || op === '!=') return holds(String(a), String(b));
    const [x, y] = [numberOf(a), numberOf(b)];
    return x !== null && y !== null ? holds(x, y) : holds(String(a), String(b));
  };
};

const relations = {
  '==': <T>(a: T, b: T): boolean => a === b,
  '!=': <T>(a: T, b: T): boolean => a !== b,
  '<': <T>(a: T, b: T): boolean => a < b,
  '<=': <T>(a: T, b: T): boolean => a <= b,
  '>': <T>(a: T, b: T): boolean => a > b,
  '>=': <T>(a: T, b: T): boolean => a >= b,
};

/** Empty when an operand is empty; any other operand must be a number. */
const arithmetic = (op: '+' | '-' | '*' | '/', left: Work, right: Work): Work => {
  const compute = operations[op];
  return (cells) => {
    const [a, b] = [left(cells), right(cells)];
    if (a === '' || b === '') return '';
    const result = compute(needed(a), needed(b));
    if (!Number.isFinite(result)) throw new NoValue(`the result of ${op} is not a number`);
    return result;
  };
};

const operations = {
  '+': (a: number, b: number): number => a + b,
  '-': (a: number, b: number): number => a - b,
  '*': (a: number, b: number): number => a * b,
  '/': (a: number, b: number): number => a / b,
};

const needed = (value: Value): number => {
  const number = numberOf(value);
  if (number === null) throw new NoValue('a cell is not a number');
  return number;
};

const numeric =
  (args: Work[], compute: (value: number, more: number) => number): Work =>
  (cells) => {
    const value = args[0]?.(cells) ?? '';
    return value === '' ? '' : compute(needed(value), needed(args[1]?.(cells) ?? 0));
  };

const textual =
  (args: Work[], make: (text: string) => Value): Work =>
  (cells) =>
    make(textOf(args[0]?.(cells) ?? ''));

const call = (name: FunctionName, args: Work[]): Work => {
  switch (name) {
    case 'lower':
      return textual(args, (text) => text.toLowerCase());
    case 'upper':
      return textual(args, (text) => text.toUpperCase());
    case 'trim':
      return textual(args, (text) => text.trim());
    case 'length':
      return textual(args, (text) => [...text].length);
    case 'round':
      return numeric(args, rounded);
    case 'abs':
      return numeric(args, Math.abs);
    case 'number':
      return numeric(args, (value) => value);
    case 'slice':
      return slice(args);
    case 'if':
      return (cells) => (isTrue(args[0]?.(cells) ?? false) ? args[1]?.(cells) : args[2]?.(cells)) ?? '';
    case 'coalesce':
      return (cells) => {
        for (const each of args) {
          const value = each(cells);
          if (value !== '') return value;
        }
        return '';
      };
  }
};

/** Rounds half away from zero, by decimal digits. */
const rounded = (value: number, digits: number): number => {
  const shifted = Number(`${Math.abs(value)}e${digits}`);
  const whole = Math.round(Number.isNaN(shifted) ? Math.abs(value) * 10 ** digits : shifted);
  return Math.sign(value) * Number(`${whole}e${-digits}`) || 0;
};

/** Characters from a position (from 1) on, to the end or a number of them. */
const slice =
  (args: Work[]): Work =>
  (cells) => {
    const chars = [...textOf(args[0]?.(cells) ?? '')];
    const from = Math.max(0, needed(args[1]?.(cells) ?? 1) - 1);
    const count = args[2] === undefined ? chars.length : needed(args[2](cells));
    return chars.slice(from, from + Math.max(0, count)).join('');
  };
