// Replaces `${NAME}` in a configuration and reads its secrets, which are redacted wherever a configuration is printed.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { type FileProblem, unreadable } from '../model/errors.ts';
import type { Path, YamlDocument } from '../model/yaml/document.ts';

interface Resolved {
  /** The document's value with `${NAME}` replaced everywhere but in secrets, which stay references. */
  value: unknown;
  /** Secrets in clear by dotted path, such as `portals.city.password` and `redis.url`. */
  secrets: Map<string, string>;
  problems: FileProblem[];
}

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const maxSecretBytes = 64 * 1024;

/** Resolves every reference of `document`; files are relative to `dir`. A variable or file that is missing is a problem at its line. */
export const resolveReferences = async (
  document: YamlDocument,
  options: { env: NodeJS.ProcessEnv; dir: string },
): Promise<Resolved> => {
  const resolver = new Resolver(document, options.env, options.dir);
  const value = await resolver.walk(document.value, []);
  return { value, secrets: resolver.secrets, problems: resolver.problems };
};

/** Secrets that go into a header as they are; `*` stands for any name. */
const headerPaths = ['sources credentials * bearer', 'sources credentials * headers *'];

/** Values that are kept out of sight. */
const secretPaths = [
  ...['portals * password', 'portals * token', 'redis url', 'web password', 'web token'],
  ...['notify webhook url', 'notify webhook secret', 'notify email password'],
  ...['sources credentials * basic password', ...headerPaths],
];

const isOneOf = (patterns: readonly string[], path: Path): boolean =>
  patterns.some((pattern) => {
    const keys = pattern.split(' ');
    return keys.length === path.length && keys.every((key, index) => key === '*' || key === path[index]);
  });

class Resolver {
  readonly secrets = new Map<string, string>();
  readonly problems: FileProblem[] = [];
  readonly #document: YamlDocument;
  readonly #env: NodeJS.ProcessEnv;
  readonly #dir: string;

  constructor(document: YamlDocument, env: NodeJS.ProcessEnv, dir: string) {
    this.#document = document;
    this.#env = env;
    this.#dir = dir;
  }

  async walk(value: unknown, path: PropertyKey[]): Promise<unknown> {
    if (isOneOf(secretPaths, path)) {
      await this.#secret(value, path);
      return value;
    }
    if (typeof value === 'string') return this.#expanded(value, path);
    if (Array.isArray(value)) return await Promise.all(value.map((item, index) => this.walk(item, [...path, index])));
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value).map(async ([key, item]) => [key, await this.walk(item, [...path, key])]);
    return Object.fromEntries(await Promise.all(entries));
  }

  async #secret(value: unknown, path: PropertyKey[]): Promise<void> {
    const name = path.map(String).join('.');
    if (typeof value === 'string') {
      this.#keep(name, this.#expanded(value, path), path);
    } else if (value !== null && typeof value === 'object' && 'file' in value && typeof value.file === 'string') {
      const text = await this.#fileText(this.#expanded(value.file, [...path, 'file']), [...path, 'file']);
      if (text !== null) this.#keep(name, text, path);
    }
  }

  #keep(name: string, secret: string, path: PropertyKey[]): void {
    if (isOneOf(headerPaths, path) && !/^[ -~]+$/.test(secret))
      this.#problem(path, 'holds something that no header may hold, such as a line break');
    this.secrets.set(name, secret);
  }

  #expanded(text: string, path: PropertyKey[]): string {
    return text.replaceAll(reference, (whole, name: string) => {
      const value = this.#env[name];
      if (value !== undefined && value !== '') return value;
      const state = value === undefined ? 'not set' : 'empty';
      this.#problem(path, `the environment variable ${name} is ${state}; set it, or refer to a file with {file: path}`);
      return whole;
    });
  }

  async #fileText(file: string, path: PropertyKey[]): Promise<string | null> {
    const absolute = resolve(this.#dir, file);
    try {
      const bytes = await readFile(absolute);
      if (bytes.byteLength > maxSecretBytes) return this.#problem(path, `${absolute} is too large for a secret`);
      const text = bytes.toString('utf8').replace(/\r?\n$/, '');
      return text === '' ? this.#problem(path, `${absolute} is empty`) : text;
    } catch (error) {
      return this.#problem(path, `${absolute} cannot be read: ${unreadable(error).why}`);
    }
  }

  #problem(path: PropertyKey[], message: string): null {
    this.problems.push(this.#document.problem(path, message));
    return null;
  }
}

/** Functions that hide keys, one for each list of keys, so that equal objects stay equal. */
const hiders = new Map<string, (this: object) => object>();

/**
 * Returns a copy of `target` of which JSON.stringify, util.inspect and the log show `[redacted]` for `keys` where a value
 * is there. The values themselves stay readable. Copies by spread keep the protection, because it is enumerable: a log
 * that clones what it is given (pino does, to redact) must not undo it.
 */
export const redacting = <T extends object>(target: T, ...keys: (keyof T & string)[]): T => {
  const hide = hiderOf(keys);
  return { ...target, toJSON: hide, [inspect.custom]: hide };
};

const hiderOf = (keys: string[]): ((this: object) => object) => {
  const name = keys.join(' ');
  const known = hiders.get(name);
  if (known !== undefined) return known;
  const hide = function (this: object): object {
    const shown: Record<PropertyKey, unknown> = { ...this };
    delete shown.toJSON;
    delete shown[inspect.custom];
    for (const key of keys) if (shown[key] !== null && shown[key] !== undefined) shown[key] = '[redacted]';
    return shown;
  };
  hiders.set(name, hide);
  return hide;
};
