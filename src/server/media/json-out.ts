// Writes JSON as deployed servers do.
import type { Value } from './value.ts';

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * JSON without spaces, slashes unescaped, every character above U+007F as `\uXXXX`; a scalar other than null is
 * wrapped in a one-element array (`true` is `[true]`). Source: recorded behaviour 3.
 */
export const writeJson = (value: Value): string => {
  const whole = value === null || typeof value === 'object' ? value : [value];
  return JSON.stringify(whole).replace(/[\u0080-\uffff]/g, escapeUnit);
};
