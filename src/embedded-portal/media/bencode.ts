// Bencode replies.
import { phpIntegerKey, type Value, type WriteStyle } from './value.ts';

const text = (value: string): string => `${Buffer.byteLength(value)}:${value.toWellFormed()}`;

const scalar = (value: null | boolean | number | string, style: WriteStyle): string => {
  if (typeof value === 'string') return /^(?:0|[1-9]\d*)$/.test(value) ? `i${value}e` : text(value);
  if (typeof value === 'number') return Number.isInteger(value) ? `i${BigInt(value)}e` : text(String(value));
  if (style !== 'sound') return ''; // deployed servers leave the value out, which no reader can follow
  return value === null ? text('') : `i${value ? 1 : 0}e`;
};

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * The value in bencode. Texts of digits are integers, keys are sorted by bytes, a map whose keys are all integers is
 * a list, an empty map an empty list. Null is an empty text, true 1 and false 0 in the `sound` style; in the
 * `recorded` style the three are written as nothing at all. Source: recorded behaviour 3.
 */
export const writeBencode = (value: Value, style: WriteStyle): string => {
  if (value === null || typeof value !== 'object') return scalar(value, style);
  const keys = Object.keys(value);
  if (Array.isArray(value) || keys.every(phpIntegerKey)) {
    return `l${Object.values(value)
      .map((item) => writeBencode(item, style))
      .join('')}e`;
  }
  const parts = Object.entries(value).sort(([a], [b]) => byBytes(a, b));
  return `d${parts.map(([key, part]) => text(key) + writeBencode(part, style)).join('')}e`;
};
