// Parts that the schemas of files share: optional keys with their documentation, and common texts.
import { z } from 'zod';
import { hasCredentials } from '../util/http.ts';
import { idPattern } from './key.ts';

/** What the documentation says of a key; `default` is what holds where it is left out. */
type KeyDocs = { default?: unknown; description: string; examples?: unknown[] };

/** The schema of a key that may be left out, but not be `undefined`. */
export const optional = <T extends z.ZodType>(schema: T, docs: KeyDocs): z.ZodExactOptional<T> =>
  schema.exactOptional().meta({ ...docs });

/** The schema of a key that must be given, with what the documentation says of it, and an example. */
export const needed = <T extends z.ZodType>(schema: T, description: string, example: unknown): T =>
  schema.meta({ description, examples: [example] });

/** A key that may be left out: its schema, what the documentation says of it, and an example. */
export type Key = readonly [schema: z.ZodType, description: string, example?: unknown];

/** The keys of a mapping, each with its default if `usual` has one. */
export const keysOf = <T extends Record<string, Key>>(keys: T, usual: object = {}) => {
  const schemas = Object.entries(keys).map(([name, [schema, description, example]]) => {
    const fallback: unknown = (usual as Record<string, unknown>)[name];
    const docs = { ...(fallback == null ? {} : { default: fallback }), description };
    return [name, optional(schema, example === undefined ? docs : { ...docs, examples: [example] })];
  });
  return Object.fromEntries(schemas) as { [K in keyof T]: z.ZodExactOptional<T[K][0]> }; // as made above
};

export const text = z.string().trim().min(1);

/** A name that may be part of a key. */
export const idText = z.string().regex(idPattern, {
  error: 'must be 1 to 64 characters from a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit',
});

/** What is said of an address that is not an http(s) one. */
export const webAddressRule = 'must be a full address that begins with http:// or https://';

export const webAddress = z.url({ protocol: /^https?$/, error: webAddressRule });

/** One that sluice reads from; what visitors see may be anything that the portal to leave has. */
export const fetchedAddress = webAddress.refine((url) => !hasCredentials(URL.parse(url)), {
  error: 'must not hold a user or password: addresses are logged',
});

/** A plain value of YAML; in a cell it means its text. */
export const scalar = z.union([z.string(), z.number(), z.boolean()], {
  error: 'must be text, a number, or true or false',
});

export const isPattern = (pattern: string): boolean => {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
};
