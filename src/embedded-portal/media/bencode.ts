// Bencode replies.
import { phpIntegerKey, type Value } from './value.ts';

const text = (value: string): string => `${Buffer.byteLength(value)}:${value.toWellFormed()}`;

/** Null is an empty text, true 1 and false 0, which have no spelling of their own. */
const soundOdd = (value: null | boolean): string => (value === null ? text('') : `i${value ? 1 : 0}e`);

/**
 * The value in bencode. Texts of digits are integers, keys are sorted by bytes, a map whose keys are all integers is
 * a list, an empty map an empty list; `odd` spells null, true and false. Source: recorded behaviour 3.
 */
export const writeBencode = (value: Value, odd = soundOdd): string => {
  if (value === null || typeof value === 'boolean') return odd(value);
  if (typeof value === 'string') return /^(?:0|[1-9]\d*)$/.test(value) ? `i${value}e` : text(value);
  if (typeof value === 'number') return Number.isInteger(value) ? `i${BigInt(value)}e` : text(String(value));
  if (Array.isArray(value) || Object.keys(value).every(phpIntegerKey)) {
    return `l${Object.values(value)
      .map((item) => writeBencode(item, odd))
      .join('')}e`;
  }
  const parts = Object.entries(value).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `d${parts.map(([key, part]) => text(key) + writeBencode(part, odd)).join('')}e`;
};
