// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts show people the reference syntax itself
// Logins for the servers of sources: how they are written, and which of them goes with a request.
import { z } from 'zod';
import { needed, optional, text } from '../model/schema-parts.ts';
import { hasCredentials } from '../util/http.ts';
import { secret } from './portal-schema.ts';
import { redacting } from './references.ts';

/** A login for all addresses of one server below a path. JSON.stringify, util.inspect and the log do not show its headers. */
export type SourceCredentials = ReturnType<typeof resolveCredentials>[number];

/** The address that a login is for; https where no scheme is written. Null for text that is none. */
const placeOf = (written: string): URL | null =>
  URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(written) ? written : `https://${written}`);

const place = z.string().refine(
  (written) => {
    const url = placeOf(written);
    return url !== null && /^https?:$/.test(url.protocol) && !hasCredentials(url) && !/[?#]/.test(written);
  },
  { error: 'must be a host, with a path or without, such as `data.example.org/exports`, or such an address' },
);

/** Say how a request travels, or what is asked for. */
const ownHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|keep-alive|expect|accept.*|range|if-.*|user-agent|proxy-.*)$/i;

const loginHeader = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, { error: 'is not the name of a header' })
  .refine((name) => !ownHeaders.test(name), { error: 'is a header that sluice sets itself' });

const partRule = 'must hold a reference, `${NAME}`, or be one, `{file: path}`: secrets do not belong in this file';
const headerValue = z.union([z.string().regex(/\$\{[A-Za-z_][A-Za-z0-9_]*\}/, { error: partRule }), secret], {
  error: partRule,
});

const credentials = z
  .strictObject({
    basic: optional(
      z.strictObject({
        username: needed(
          text.refine((name) => !name.includes(':'), { error: 'must not contain `:`' }),
          'User.',
          'ann',
        ),
        password: needed(secret, 'Password, as a reference.', '${EXPORTS_PASSWORD}'),
      }),
      { description: 'Login with a user name and a password.' },
    ),
    bearer: optional(secret, { description: 'Token, as a reference.', examples: ['${EXPORTS_TOKEN}'] }),
    headers: optional(z.record(loginHeader, headerValue), {
      description: 'Headers by name; each value holds a reference or is one.',
      examples: [{ 'X-Api-Key': '${EXPORTS_KEY}' }],
    }),
  })
  .refine(
    ({ basic, bearer, headers = {} }) => {
      const names = [basic && 'authorization', bearer && 'authorization', ...Object.keys(headers)].filter(Boolean);
      return names.length > 0 && names.filter((name) => /^authorization$/i.test(name ?? '')).length <= 1;
    },
    { error: 'needs `basic`, `bearer` or `headers`, and one `Authorization` at most' },
  );

export const credentialsFileSchema = z.record(place, credentials);

export const resolveCredentials = (file: z.infer<typeof credentialsFileSchema>, secrets: ReadonlyMap<string, string>) =>
  Object.entries(file).map(([name, { basic, bearer, headers = {} }]) => {
    const secretAt = (...keys: string[]): string => secrets.get(['sources.credentials', name, ...keys].join('.')) ?? '';
    const { origin = '', pathname: path = '/' } = placeOf(name) ?? {};
    const pair = basic && Buffer.from(`${basic.username}:${secretAt('basic', 'password')}`).toString('base64');
    const sent: Record<string, string> = {
      ...(pair === undefined ? {} : { authorization: `Basic ${pair}` }),
      ...(bearer === undefined ? {} : { authorization: `Bearer ${secretAt('bearer')}` }),
      ...Object.fromEntries(Object.keys(headers).map((key) => [key.toLowerCase(), secretAt('headers', key)])),
    };
    // As a server may echo them.
    const parts = [pair ?? '', secretAt('basic', 'password'), secretAt('bearer'), ...Object.values(sent)];
    return redacting({ name, origin, path, headers: sent, secrets: parts }, 'headers', 'secrets');
  });

/** The login for an address, the one with the longest path that leads there; null where none is for it. */
export const credentialsFor = (url: URL, all: readonly SourceCredentials[]): SourceCredentials | null => {
  const isBelow = (path: string): boolean =>
    url.pathname === path || url.pathname.startsWith(path.replace(/\/?$/, '/'));
  const fitting = all.filter(({ origin, path }) => origin === url.origin && isBelow(path));
  return fitting.sort((a, b) => b.path.length - a.path.length)[0] ?? null;
};
