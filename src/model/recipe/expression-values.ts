// The values of expressions: how they are compared and computed, and the functions of them.

type Value = string | number | boolean;

/** A compiled expression: its value for the cells of a row. */
export type Formula = (cells: string[]) => Value;

/** An expression has no value for a row, which makes it a bad row. */
export class NoValue extends Error {}

/** True for `true`, for text `true` in any case, and for numbers but 0. */
export const isTrue = (value: Value): boolean =>
  typeof value === 'string' ? value.toLowerCase() === 'true' : value !== false && value !== 0;

/** The text of a value; numbers are rounded to 15 digits, which hides binary fractions. */
export const textOf = (value: Value): string => {
  if (typeof value !== 'number') return String(value);
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(15)));
};

const numberPattern = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

const numberOf = (value: Value): number | null => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && numberPattern.test(value) ? Number(value) : null;
};

const needed = (value: Value): number => {
  const number = numberOf(value);
  if (number === null) throw new NoValue('a cell is not a number');
  return number;
};

const relations = {
  '==': <T>(a: T, b: T): boolean => a === b,
  '!=': <T>(a: T, b: T): boolean => a !== b,
  '<': <T>(a: T, b: T): boolean => a < b,
  '<=': <T>(a: T, b: T): boolean => a <= b,
  '>': <T>(a: T, b: T): boolean => a > b,
  '>=': <T>(a: T, b: T): boolean => a >= b,
};

/**
 * A number beside a number or a cell is compared as number (and with text that is none, nothing holds but `!=`); text in
 * quotes as text; two cells as numbers where both are.
 */
export const compared = (op: keyof typeof relations, left: Formula, right: Formula): Formula => {
  const holds = relations[op];
  return (cells) => {
    const [a, b] = [left(cells), right(cells)];
    const isNumeric = typeof a === 'number' || typeof b === 'number';
    if (!isNumeric && (op === '==' || op === '!=')) return holds(String(a), String(b));
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== null && y !== null) return holds(x, y);
    return isNumeric ? op === '!=' : holds(String(a), String(b));
  };
};

const operations = {
  '+': (a: number, b: number): number => a + b,
  '-': (a: number, b: number): number => a - b,
  '*': (a: number, b: number): number => a * b,
  '/': (a: number, b: number): number => a / b,
};

/** Empty when an operand is empty; any other operand must be a number. */
export const arithmetic = (op: keyof typeof operations, left: Formula, right: Formula): Formula => {
  const compute = operations[op];
  return (cells) => {
    const [a, b] = [left(cells), right(cells)];
    if (a === '' || b === '') return '';
    const result = compute(needed(a), needed(b));
    if (!Number.isFinite(result)) throw new NoValue(`the result of ${op} is not a number`);
    return result;
  };
};

/** An argument by its place; undefined where none was given. */
type Args = (at: number) => Value | undefined;

type ExpressionFunction = { least: number; most: number; of: (args: Args) => Value };

const numeric = (compute: (value: number, more: number) => number, most = 1): ExpressionFunction => ({
  least: 1,
  most,
  of: (args) => {
    const value = args(0) ?? '';
    return value === '' ? '' : compute(needed(value), needed(args(1) ?? 0));
  },
});

const textual = (make: (text: string) => Value): ExpressionFunction => ({
  least: 1,
  most: 1,
  of: (args) => make(textOf(args(0) ?? '')),
});

/** Rounds half away from zero, by decimal digits. */
const rounded = (value: number, digits: number): number => {
  const shifted = Number(`${Math.abs(value)}e${digits}`);
  const whole = Math.round(Number.isNaN(shifted) ? Math.abs(value) * 10 ** digits : shifted);
  return Math.sign(value) * Number(`${whole}e${-digits}`) || 0;
};

/** Characters from a position (from 1) on, to the end or a number of them. */
const slice = (args: Args): Value => {
  const chars = [...textOf(args(0) ?? '')];
  const from = Math.max(0, needed(args(1) ?? 1) - 1);
  return chars.slice(from, from + Math.max(0, needed(args(2) ?? chars.length))).join('');
};

const firstFilled = (args: Args): Value => {
  for (let at = 0; ; at++) {
    const value = args(at);
    if (value !== '') return value ?? '';
  }
};

export const functions: ReadonlyMap<string, ExpressionFunction> = new Map(
  Object.entries({
    lower: textual((text) => text.toLowerCase()),
    upper: textual((text) => text.toUpperCase()),
    trim: textual((text) => text.trim()),
    length: textual((text) => [...text].length),
    round: numeric(rounded, 2),
    abs: numeric(Math.abs),
    number: numeric((value) => value),
    slice: { least: 2, most: 3, of: slice },
    if: { least: 3, most: 3, of: (args) => (isTrue(args(0) ?? false) ? args(1) : args(2)) ?? '' },
    coalesce: { least: 1, most: 20, of: firstFilled },
  }),
);
