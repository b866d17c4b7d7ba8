// Classes of the bytes of a table, which become the marks of its cells, and bytes that divide cells and rows.
import type { TableDialect } from './dialect.ts';

/** Marks of a cell, one bit each; the first ones tell which characters it holds. */
export const has = {
  digit: 1,
  point: 1 << 1,
  comma: 1 << 2,
  sign: 1 << 3,
  slash: 1 << 4,
  colon: 1 << 5,
  space: 1 << 6,
  text: 1 << 7,
  /** `%`, `$` and the apostrophe, which occur in amounts. */
  symbol: 1 << 8,
  high: 1 << 9,
  /** A control character other than tab, line break and NUL. */
  control: 1 << 10,
  nul: 1 << 11,
  tab: 1 << 12,
  lineBreak: 1 << 13,
  quotes: 1 << 16,
  /** The text holds quotes written twice, or characters behind an escape. */
  escapes: 1 << 17,
  strayQuote: 1 << 18,
  /** Text follows the quote that should close the cell, in the same line. */
  textAfterQuote: 1 << 19,
  /** The quote that opens the cell is not closed; the cell is read as if it were text. */
  unclosed: 1 << 20,
  /** As `unclosed`, because the row would be larger than the limit. */
  unclosedInLimit: 1 << 21,
  /** Spaces are between the quotes of the cell and its delimiters; they are no part of it. */
  quoteSpaces: 1 << 22,
} as const;

export const quoteFaults = has.strayQuote | has.textAfterQuote | has.unclosed | has.unclosedInLimit | has.quoteSpaces;

/** In a class table, values from here on are no bits but one of {@link divider}. */
export const firstDivider = 1 << 14;

export const divider = {
  delimiter: firstDivider,
  quote: firstDivider + 1,
  escape: firstDivider + 2,
  lineEnd: firstDivider + 3,
} as const;

const classOf = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return has.digit;
  if (byte === 0) return has.nul;
  if (byte >= 0x80) return has.high;
  const character = String.fromCharCode(byte);
  const known: Record<string, number> = {
    '.': has.point,
    ',': has.comma,
    '+': has.sign,
    '-': has.sign,
    '/': has.slash,
    ':': has.colon,
    ' ': has.space,
    '\t': has.tab,
    '%': has.symbol,
    $: has.symbol,
    "'": has.symbol,
  };
  return known[character] ?? (byte < 0x20 || byte === 0x7f ? has.control : has.text);
};

const plainClasses = Uint16Array.from({ length: 256 }, (_, byte) => classOf(byte));

const withDividers = (dividers: [string, number][]): Uint16Array => {
  const classes = plainClasses.slice();
  for (const [character, value] of dividers) if (character !== '') classes[character.charCodeAt(0)] = value;
  return classes;
};

const lineEnds: [string, number][] = [
  ['\n', divider.lineEnd],
  ['\r', divider.lineEnd],
];

export const byteClasses = (dialect: TableDialect): { bare: Uint16Array; quoted: Uint16Array } => ({
  bare: withDividers([...lineEnds, [dialect.delimiter, divider.delimiter], [dialect.quote, divider.quote]]),
  quoted: withDividers([...lineEnds, [dialect.escape, divider.escape], [dialect.quote, divider.quote]]),
});
