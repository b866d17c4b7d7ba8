// The kind of a cell (number, date, text …), by its bytes and the marks of the scanner.
import type { ColumnKind } from '../../model/table-history.ts';
import { has, quoteFaults } from './byte-class.ts';

/** What a column holds. Identifiers with leading zeros are text. */
export type ColumnType = 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'text' | 'empty';

export interface KindFacts {
  kind: string;
  /** The type of a column of such values, and what it is compared as with the previous version of the table. */
  type: ColumnType;
  mostly: ColumnKind;
  /** The notations of numbers that read such values, by their places in a list of `columns.ts`. */
  readBy?: readonly number[];
}

export const valueKinds = [
  { kind: 'empty', type: 'empty', mostly: 'empty' },
  { kind: 'integer', type: 'integer', mostly: 'number', readBy: [0, 1, 2, 3, 4, 5, 6] },
  { kind: 'leading zero', type: 'text', mostly: 'code' },
  { kind: 'decimal point', type: 'number', mostly: 'number', readBy: [0, 2, 3, 4] },
  { kind: 'decimal comma', type: 'number', mostly: 'local number', readBy: [1, 5, 6] },
  { kind: 'decimal comma or grouped by commas', type: 'number', mostly: 'local number', readBy: [1, 2, 5, 6] },
  { kind: 'grouped by commas', type: 'number', mostly: 'local number', readBy: [2] },
  { kind: 'grouped by points', type: 'number', mostly: 'local number', readBy: [5] },
  { kind: 'grouped by spaces', type: 'number', mostly: 'local number', readBy: [3, 6] },
  { kind: 'grouped by spaces, decimal comma', type: 'number', mostly: 'local number', readBy: [6] },
  { kind: 'grouped by spaces, decimal point', type: 'number', mostly: 'local number', readBy: [3] },
  { kind: 'grouped by apostrophes', type: 'number', mostly: 'local number', readBy: [4] },
  { kind: 'percent or currency', type: 'text', mostly: 'local number' },
  { kind: 'boolean', type: 'boolean', mostly: 'boolean' },
  { kind: 'date 2026-01-31', type: 'date', mostly: 'date' },
  { kind: 'date 31/01/2026', type: 'date', mostly: 'local date' },
  { kind: 'date 01/31/2026', type: 'date', mostly: 'local date' },
  { kind: 'date 01/02/2026', type: 'date', mostly: 'local date' },
  { kind: 'date 31.01.2026', type: 'date', mostly: 'local date' },
  { kind: 'date 2026/01/31', type: 'date', mostly: 'local date' },
  { kind: 'datetime 2026-01-31T12:00', type: 'datetime', mostly: 'date' },
  { kind: 'datetime in another notation', type: 'datetime', mostly: 'local date' },
  { kind: 'text', type: 'text', mostly: 'text' },
] as const satisfies readonly KindFacts[];

export type ValueKind = (typeof valueKinds)[number]['kind'];

const kindNames: ValueKind[] = valueKinds.map(({ kind }) => kind);

export const kindNumber = (kind: ValueKind): number => kindNames.indexOf(kind);

const [empty, integer, text] = [kindNumber('empty'), kindNumber('integer'), kindNumber('text')];
const [leadingZero, decimalPoint] = [kindNumber('leading zero'), kindNumber('decimal point')];
const [isoDate, boolean] = [kindNumber('date 2026-01-31'), kindNumber('boolean')];

/** Longest integer that counts as a number (longer runs of digits are identifiers), and longest value that is no text. */
const [longestInteger, longestValue] = [18, 35];

const never = has.control | has.nul | has.tab | has.lineBreak | has.escapes | quoteFaults;
const [zero, point, minus] = [0x30, 0x2e, 0x2d];

/**
 * The number of the kind of a cell with these marks. Spaces are not ignored: ` 1` is text. Called for every cell of a
 * table, so the common kinds are found without making a string.
 */
export const kindOf = (bytes: Buffer, start: number, end: number, mark: number): number => {
  if (start === end) return empty;
  const bits = mark & ~has.quotes;
  const length = end - start;
  if (bits === has.digit) {
    if (bytes[start] === zero && length > 1) return leadingZero;
    return length > longestInteger ? text : integer;
  }
  if ((bits & never) !== 0 || length > longestValue) return text;
  if ((bits & has.text) !== 0) return letterKind(bytes, start, end, bits);
  if ((bits & has.digit) === 0) return text;
  if (bits === (has.digit | has.sign) && length === 10 && isIsoDate(bytes, start)) return isoDate;
  if (bits === (has.digit | has.point) && isPlainDecimal(bytes, start, end)) return decimalPoint;
  return patternKind(bytes.toString('utf8', start, end));
};

/** Digits with one point that is not the last character, and no zero in front that a number would not have. */
const isPlainDecimal = (bytes: Buffer, start: number, end: number): boolean => {
  let points = 0;
  for (let at = start; at < end; at++) if (bytes[at] === point) points += 1;
  if (points !== 1 || bytes[end - 1] === point) return false;
  return bytes[start] !== zero || bytes[start + 1] === point;
};

const twoDigits = (bytes: Buffer, at: number): number => ((bytes[at] ?? 0) - zero) * 10 + (bytes[at + 1] ?? 0) - zero;

const isIsoDate = (bytes: Buffer, at: number): boolean => {
  if (bytes[at + 4] !== minus || bytes[at + 7] !== minus) return false;
  const [month, day] = [twoDigits(bytes, at + 5), twoDigits(bytes, at + 8)];
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= 31 && twoDigits(bytes, at) >= 0 && twoDigits(bytes, at + 2) >= 0
  );
};

const isDigit = (byte: number): boolean => byte >= zero && byte <= zero + 9;

/** Up to five letters as one number, whatever their case. */
const packed = (bytes: Uint8Array, start: number, end: number): number => {
  let number = 0;
  for (let at = start; at < end; at++) number = number * 256 + ((bytes[at] ?? 0) | 0x20);
  return number;
};

const booleans = new Set(['true', 'false', 'yes', 'no'].map((word) => packed(Buffer.from(word), 0, word.length)));

/** What a value that begins with a digit and holds letters may end with: `Z`, `AM`, `pm`, a currency. */
const lastLetters = new Set([...'ZMmRDFP'].map((letter) => letter.charCodeAt(0)));

/** A value with letters: a boolean, a date with T, an amount with a currency; most are text. */
const letterKind = (bytes: Buffer, start: number, end: number, bits: number): number => {
  if (bits === has.text) return end - start <= 5 && booleans.has(packed(bytes, start, end)) ? boolean : text;
  const [first, last] = [bytes[start] ?? 0, bytes[end - 1] ?? 0];
  if ((bits & has.digit) === 0 || !(isDigit(first) || first === minus)) return text;
  return isDigit(last) || lastLetters.has(last) ? patternKind(bytes.toString('utf8', start, end)) : text;
};

const currency = '(?:[€£$¥]|EUR|USD|CHF|GBP)';
const plain = String.raw`[+-]?(?:\d{1,3}(?:[.,'’   ]?\d{3})*|\d+)(?:[.,]\d+)?`;
const time = String.raw`\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?`;

const patterns: [ValueKind, RegExp][] = [
  ['integer', /^[+-](?:0|[1-9]\d{0,17})$/],
  ['leading zero', /^[+-]?0\d+$/],
  ['decimal comma or grouped by commas', /^[+-]?[1-9]\d{0,2},\d{3}$/],
  ['grouped by commas', /^[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/],
  ['grouped by points', /^[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,}(?:,\d+)?$|^[+-]?[1-9]\d{0,2}(?:\.\d{3})+,\d+$/],
  ['grouped by spaces', /^[+-]?[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+$/],
  ['grouped by spaces, decimal comma', /^[+-]?[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+,\d+$/],
  ['grouped by spaces, decimal point', /^[+-]?[1-9]\d{0,2}(?:[ \u00a0\u202f]\d{3})+\.\d+$/],
  ['grouped by apostrophes', /^[+-]?[1-9]\d{0,2}(?:'\d{3})+(?:\.\d+)?$/],
  ['decimal point', /^[+-]?(?:0|[1-9]\d*)?\.\d+(?:[eE][+-]?\d+)?$|^[+-]?[1-9]\d*[eE][+-]\d+$/],
  ['decimal comma', /^[+-]?(?:0|[1-9]\d*),\d+$/],
  ['percent or currency', new RegExp(`^${plain} ?(?:%|${currency})$|^[+-]?${currency} ?${plain}$`)],
  ['date 2026/01/31', /^\d{4}\/(?:0?[1-9]|1[0-2])\/(?:0?[1-9]|[12]\d|3[01])$/],
  ['date 31.01.2026', /^(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:\d{4}|\d{2})$/],
  ['datetime 2026-01-31T12:00', new RegExp(`^\\d{4}-\\d{2}-\\d{2}[T ]${time} ?(?:Z|[+-]\\d{2}(?::?\\d{2})?)?$`)],
  [
    'datetime in another notation',
    new RegExp(`^\\d{1,4}[./-]\\d{1,2}[./-]\\d{1,4},? ${time} ?(?:[AaPp]\\.?[Mm]\\.?)?$`),
  ],
];

/** The kind of a date such as `03/04/2026`: a number above 12 is no month. */
const slashedKind = (first: number, second: number): ValueKind => {
  if (first < 1 || second < 1 || first > 31 || second > 31 || (first > 12 && second > 12)) return 'text';
  if (first > 12) return 'date 31/01/2026';
  return second > 12 ? 'date 01/31/2026' : 'date 01/02/2026';
};

const patternKind = (value: string): number => {
  const date = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4}|\d{2})$/.exec(value);
  if (date !== null) return kindNumber(slashedKind(Number(date[1]), Number(date[2])));
  const found = patterns.find(([, pattern]) => pattern.test(value));
  return found === undefined ? text : kindNumber(found[0]);
};
