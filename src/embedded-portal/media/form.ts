// Reads form-encoded bodies and query strings with bracket keys as PHP does: `body[und][0][value]=…` (spec 1).
import { type BodyParser, defaultParseLimits, MalformedBody, phpIntegerKey, readText } from './value.ts';

export type FormTree = Record<string, unknown>;

type Pair = readonly [name: string, value: string];

/** An array as PHP has them. */
class PhpArray {
  readonly values = new Map<string, string | PhpArray>();
  #next = 0;

  /** The key that an index stands for; an empty one for the next number. */
  keyOf(index: string): string {
    const key = /^\s?$/.test(index) ? String(this.#next) : index;
    if (phpIntegerKey(key)) this.#next = Math.max(this.#next, Number(key) + 1);
    return key;
  }

  /** The array under a key, in place of a text. */
  within(key: string): PhpArray {
    const known = this.values.get(key);
    if (known instanceof PhpArray) return known;
    const made = new PhpArray();
    this.values.set(key, made);
    return made;
  }

  toJSON(): unknown {
    const entries = [...this.values].map(([key, value]) => [key, value instanceof PhpArray ? value.toJSON() : value]);
    const isList = entries.every(([key], at) => key === String(at));
    return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries);
  }
}

/** `a.b[c][]` is `a_b`, `c` and the next number; what is behind the last bracket is ignored. Empty for no name at all. */
const pathOf = (raw: string): string[] => {
  const name = raw.replace(/^ +|\0.*$/gs, '');
  const open = name.indexOf('[');
  if (name === '' || open === 0) return [];
  if (open < 0 || !name.includes(']', open)) return [name.replaceAll(/[ .[]/g, '_')];
  const indices = name.slice(open).matchAll(/\[([^\]]*)\]/gy);
  return [name.slice(0, open).replaceAll(/[ .]/g, '_'), ...Array.from(indices, ([, index = '']) => index)];
};

const treeWithin = (pairs: readonly Pair[], { keys, depth }: { keys: number; depth: number }): FormTree => {
  if (pairs.length > keys) throw new MalformedBody(`more than ${keys} fields`);
  const root = new PhpArray();
  for (const [name, value] of pairs) {
    const path = pathOf(name);
    if (path.length > depth + 1) throw new MalformedBody(`a key nests deeper than ${depth} brackets`);
    if (path.some((key) => key in Object.prototype)) continue;
    const last = path.pop();
    if (last === undefined) continue;
    let at = root;
    for (const [level, index] of path.entries()) at = at.within(level === 0 ? index : at.keyOf(index));
    at.values.set(at === root ? last : at.keyOf(last), value);
  }
  return Object.fromEntries(
    [...root.values].map(([k, value]) => [k, value instanceof PhpArray ? value.toJSON() : value]),
  );
};

const parse = (text: string, limits: { keys: number; depth: number }): FormTree => {
  const fields = text.split('&').filter((field) => field !== '');
  const pairs = fields.map((field): Pair => {
    const end = field.indexOf('=');
    return end < 0 ? [decoded(field), ''] : [decoded(field.slice(0, end)), decoded(field.slice(end + 1))];
  });
  return treeWithin(pairs, limits);
};

/** What is no escape stays as it is. */
const decoded = (text: string): string =>
  text
    .replaceAll('+', ' ')
    .replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());

/** Limits of one form; more is malformed. */
const formLimits = { keys: 5000, depth: 16 };

/** Reads an `application/x-www-form-urlencoded` body. Keys that would touch an object's prototype are dropped. */
export const parseForm: BodyParser<FormTree> = (body, limits = defaultParseLimits) =>
  parse(readText(body, limits), formLimits);

/** Reads a query string (without the question mark). Too many or too deep keys are malformed. */
export const parseQuery = (query: string): FormTree => parse(query, { keys: 1000, depth: 5 });

/** Makes a tree of name-value pairs as a multipart body gives them. */
export const treeOf = (pairs: Pair[]): FormTree => treeWithin(pairs, formLimits);
