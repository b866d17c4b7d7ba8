// Writes JSON as deployed servers do.
import type { Value } from './value.ts';

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const beyondAscii = /[\u0080-\uffff]/;
const allBeyondAscii = /[\u0080-\uffff]/g;

/**
 * JSON without spaces, slashes unescaped, every character above U+007F as `\uXXXX`; a scalar other than null is
 * wrapped in a one-element array (`true` is `[true]`). Source: recorded behaviour 3.
 */
export const writeJson = (value: Value): string => {
  const whole = value === null || typeof value === 'object' ? value : [value];
  const text = JSON.stringify(whole);
  return beyondAscii.test(text) ? text.replace(allBeyondAscii, escapeUnit) : text;
};
