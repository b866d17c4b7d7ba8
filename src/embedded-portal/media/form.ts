// Reads form-encoded bodies and query strings with bracket keys as PHP does: `body[und][0][value]=…` (spec 1).
import { type BodyParser, MalformedBody, phpIntegerKey, readText } from './value.ts';

export type FormTree = Record<string, unknown>;

type Pair = readonly [name: string, value: string];

class PhpArray extends Map<string, string | PhpArray> {
  #next = 0;

  /** The key that an index stands for; an empty one for the next number. */
  keyOf(index: string): string {
    const key = /^\s?$/.test(index) ? String(this.#next) : index;
    if (phpIntegerKey(key)) this.#next = Math.max(this.#next, Number(key) + 1);
    return key;
  }

  /** The array under a key, in place of a text. */
  within(key: string): PhpArray {
    const known = this.get(key);
    const inner = known instanceof PhpArray ? known : new PhpArray();
    this.set(key, inner);
    return inner;
  }
}

const plain = (value: string | PhpArray): unknown => {
  if (typeof value === 'string') return value;
  const isList = [...value.keys()].every((key, at) => key === String(at));
  return isList ? Array.from(value.values(), plain) : mapOf(value);
};

const mapOf = (array: PhpArray): FormTree =>
  Object.fromEntries(Array.from(array, ([key, value]) => [key, plain(value)]));

/** `a.b[c][]` is `a_b`, `c` and the next number; what is behind the last bracket is ignored. Empty for no name at all. */
const pathOf = (raw: string): string[] => {
  const name = raw.replace(/^ +|\0.*$/gs, '');
  const open = name.indexOf('[');
  if (name === '' || open === 0) return [];
  if (open < 0 || !name.includes(']', open)) return [name.replaceAll(/[ .[]/g, '_')];
  const indices = name.slice(open).matchAll(/\[([^\]]*)\]/gy);
  return [name.slice(0, open).replaceAll(/[ .]/g, '_'), ...Array.from(indices, ([, index = '']) => index)];
};

const limits = { keys: 5000, depth: 16 };

/** Makes a tree of name-value pairs, as a multipart body gives them. Keys that would touch an object's prototype are dropped. */
export const treeOf = (pairs: readonly Pair[]): FormTree => {
  if (pairs.length > limits.keys) throw new MalformedBody(`more than ${limits.keys} fields`);
  const root = new PhpArray();
  for (const [name, value] of pairs) {
    const path = pathOf(name);
    if (path.length > limits.depth + 1) throw new MalformedBody(`a key nests deeper than ${limits.depth} brackets`);
    if (path.some((key) => key in Object.prototype)) continue;
    const last = path.pop();
    if (last === undefined) continue;
    let at = root;
    for (const [level, index] of path.entries()) at = at.within(level === 0 ? index : at.keyOf(index));
    at.set(at === root ? last : at.keyOf(last), value);
  }
  return mapOf(root);
};

/** What is no escape stays as it is. */
const decoded = (text: string): string =>
  text
    .replaceAll('+', ' ')
    .replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());

/** Reads a query string (without the question mark). Too many or too deep keys are malformed. */
export const parseQuery = (query: string): FormTree => {
  const fields = query.split('&').filter((field) => field !== '');
  const pairs = fields.map((field): Pair => {
    const [name = ''] = field.split('=', 1);
    return [decoded(name), decoded(field.slice(name.length + 1))];
  });
  return treeOf(pairs);
};

export const parseForm: BodyParser<FormTree> = (body) => parseQuery(readText(body));
