// Replaces `${NAME}` in a configuration and reads its secrets, which are redacted wherever a configuration is printed.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { type FileProblem, unreadable } from '../model/errors.ts';
import type { Path, YamlDocument } from '../model/yaml/document.ts';
import { isObject, recordOf } from '../util/json.ts';

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const maxSecretBytes = 64 * 1024;

/** Secrets that go into a header as they are; `*` stands for any name. */
const headerPaths = ['sources credentials * bearer', 'sources credentials * headers *'];

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

/**
 * Resolves every reference of `document`; files are relative to `dir`. A variable or file that is missing is a problem at its
 * line. `value` has `${NAME}` replaced everywhere but in secrets, which stay references; `secrets` are in clear by dotted
 * path, such as `portals.city.password` and `redis.url`.
 */
export const resolveReferences = async (
  document: YamlDocument,
  { env, dir }: { env: NodeJS.ProcessEnv; dir: string },
) => {
  const secrets = new Map<string, string>();
  const problems: FileProblem[] = [];
  const fault = (path: PropertyKey[], message: string): null => {
    problems.push(document.problem(path, message));
    return null;
  };
  const expanded = (text: string, path: PropertyKey[]): string =>
    text.replaceAll(reference, (whole, name: string) => {
      const value = env[name];
      if (value) return value;
      const state = value === undefined ? 'not set' : 'empty';
      fault(path, `the environment variable ${name} is ${state}; set it, or refer to a file with {file: path}`);
      return whole;
    });
  const secretOf = async (value: unknown, path: PropertyKey[]): Promise<string | null> => {
    if (typeof value === 'string') return expanded(value, path);
    const { file: written } = recordOf(value);
    if (typeof written !== 'string') return null;
    const place = [...path, 'file'];
    const file = resolve(dir, expanded(written, place));
    try {
      const bytes = await readFile(file);
      if (bytes.byteLength > maxSecretBytes) return fault(place, `${file} is too large for a secret`);
      return bytes.toString('utf8').replace(/\r?\n$/, '') || fault(place, `${file} is empty`);
    } catch (error) {
      return fault(place, `${file} cannot be read: ${unreadable(error).why}`);
    }
  };
  const walk = async (value: unknown, path: PropertyKey[]): Promise<unknown> => {
    if (isOneOf(secretPaths, path)) {
      const secret = await secretOf(value, path);
      if (secret !== null && isOneOf(headerPaths, path) && !/^[ -~]+$/.test(secret))
        fault(path, 'holds something that no header may hold, such as a line break');
      if (secret !== null) secrets.set(path.map(String).join('.'), secret);
      return value;
    }
    if (typeof value === 'string') return expanded(value, path);
    if (Array.isArray(value)) return Promise.all(value.map((item, index) => walk(item, [...path, index])));
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(async ([key, item]) => [key, await walk(item, [...path, key])]);
    return Object.fromEntries(await Promise.all(entries));
  };
  return { value: await walk(document.value, []), secrets, problems };
};

/**
 * Returns a copy of `target` of which JSON.stringify, util.inspect and the log show `[redacted]` for `keys` where a value
 * is there. The values themselves stay readable. Copies by spread keep the protection, because it is enumerable: a log
 * that clones what it is given (pino does, to redact) must not undo it.
 */
export const redacting = <T extends object>(target: T, ...keys: (keyof T & string)[]): T => {
  const name = keys.join(' ');
  const hide = hiders.get(name) ?? hiderOf(keys);
  hiders.set(name, hide);
  return { ...target, toJSON: hide, [inspect.custom]: hide };
};

/** One for each list of keys, so that equal objects stay equal. */
const hiders = new Map<string, () => object>();

const hiderOf = (keys: string[]) =>
  function (this: object): object {
    const shown: Record<PropertyKey, unknown> = { ...this };
    delete shown.toJSON;
    delete shown[inspect.custom];
    for (const key of keys) if (shown[key] != null) shown[key] = '[redacted]';
    return shown;
  };
