// Reads form-encoded bodies and query strings with bracket keys: `body[und][0][value]=…` (spec 1).
import qs from 'qs';
import { type BodyParser, defaultParseLimits, MalformedBody, readText } from './value.ts';

/** A tree of strings, lists and maps. */
export type FormTree = Record<string, unknown>;

const parse = (text: string, { keys, depth }: { keys: number; depth: number }): FormTree => {
  try {
    return qs.parse(text, {
      parameterLimit: keys,
      depth,
      strictDepth: true,
      throwOnLimitExceeded: true,
      arrayLimit: 1000,
      duplicates: 'last',
      ignoreQueryPrefix: false,
    });
  } catch (error) {
    if (error instanceof RangeError) throw new MalformedBody(error.message);
    throw error;
  }
};

/** Fields of one form; more is malformed. */
const mostKeys = 5000;

/** Nested brackets of one key; deeper is malformed. */
const deepest = 16;

/** Reads an `application/x-www-form-urlencoded` body. Keys that would touch an object's prototype are dropped. */
export const parseForm: BodyParser<FormTree> = (body, limits = defaultParseLimits) =>
  parse(readText(body, limits), { keys: mostKeys, depth: deepest });

/** Reads a query string (without the question mark). Too many or too deep keys are malformed. */
export const parseQuery = (query: string): FormTree => (query === '' ? {} : parse(query, { keys: 1000, depth: 5 }));

/** Makes a tree of name-value pairs as a multipart body gives them. */
export const treeOf = (pairs: [name: string, value: string][]): FormTree =>
  parse(pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&'), {
    keys: mostKeys,
    depth: deepest,
  });
