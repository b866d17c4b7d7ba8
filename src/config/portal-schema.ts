// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts show people the reference syntax itself
// The shape of one portal in a configuration file.
import { z } from 'zod';
import { permissions } from '../dataset-api/values.ts';
import { keysOf, needed, text } from '../model/schema-parts.ts';
import { durationText } from '../util/quantity.ts';
import { baseUrl, network } from './addresses.ts';
import { defaults } from './defaults.ts';

/** Operations by resource; the embedded portal knows exactly these (a test compares). */
export const portalOperations = {
  node: ['index', 'retrieve', 'create', 'update', 'delete', 'attach_file', 'files'],
  user: ['retrieve', 'login', 'logout', 'token'],
  datastore: ['retrieve', 'create', 'update', 'delete', 'import', 'drop'],
  file: ['retrieve'],
  taxonomy_term: ['index', 'retrieve'],
} as const;

const roleName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 _.-]{0,63}$/, {
  error: 'a role name has 1 to 64 letters, digits, spaces, `_`, `.` or `-` and begins with a letter or digit',
});

/** Of the embedded portal and of the operator's pages. */
export const trustedProxies = [
  z.array(network),
  'Addresses and networks of proxies whose X-Forwarded-For identifies clients.',
  ['127.0.0.1', '10.0.0.0/8'],
] as const;

const operations = <const T extends readonly [string, ...string[]]>(names: T, what: string, example: T[number][]) =>
  [z.array(z.enum(names)), `Operations on ${what}; none if left out of \`expose\`.`, example] as const;

const expose = z.strictObject(
  keysOf({
    node: operations(portalOperations.node, 'nodes', ['index', 'retrieve']),
    user: operations(portalOperations.user, 'users', ['login', 'logout', 'token']),
    datastore: operations(portalOperations.datastore, 'datastores', ['retrieve', 'import']),
    file: operations(portalOperations.file, 'files', ['retrieve']),
    taxonomy_term: operations(portalOperations.taxonomy_term, 'terms', ['retrieve']),
  }),
);

const count = z.int().min(1);

/** A TCP port; 0 picks a free one. */
export const portNumber = z.int().min(0).max(65_535);

const secretRule = 'must be a reference, `${NAME}` or `{file: path}`: secrets do not belong in this file';

const fileThatHolds = (what: string, example: string) =>
  z.strictObject({ file: needed(text, `File that holds the ${what}.`, example) });

/** A secret by reference: an environment variable, or a file of which one newline at the end is cut. */
export const secret = z.union(
  [
    z.string().regex(/^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/, { error: secretRule }),
    fileThatHolds('secret', 'portal-password'),
  ],
  { error: secretRule },
);

/** An address that may hold a secret, which then is a reference. */
export const secretAddress = (example: string) =>
  z.union([text, fileThatHolds('address', 'webhook-url')], {
    error: `must be an address such as \`${example}\`, or \`{file: path}\``,
  });

const byVocabulary = <T extends z.ZodType>(value: T, what: string, examples: [unknown, unknown, unknown]) =>
  z.strictObject(
    keysOf({
      formats: [value, `${what} formats.`, examples[0]],
      tags: [value, `${what} tags.`, examples[1]],
      topics: [value, `${what} topics.`, examples[2]],
    }),
  );

const login = (passwordWords: string, usual: object = {}) =>
  keysOf(
    {
      username: [text, 'User to log in as.', 'publisher'],
      password: [secret, passwordWords, '${SLUICE_PASSWORD}'],
    },
    usual,
  );

const shared = keysOf(
  {
    dialect: [z.enum(['auto', 'entity', 'form']), 'How the portal takes fields; detected by default.', 'form'],
    importTimeout: [durationText, 'How long a datastore import may take.', '1h'],
    vocabularies: [
      byVocabulary(count, 'Number of the vocabulary of', [1, 2, 3]),
      'Numbers of the vocabularies on the portal; by default 1, 2 and 3.',
      { formats: 1, tags: 2, topics: 3 },
    ],
    terms: [
      byVocabulary(z.record(text, count), 'Numbers by name of', [{ csv: 5 }, { budget: 17 }, { Transport: 31 }]),
      'Numbers of terms by name; others are looked up on the portal or created.',
      { tags: { budget: 17 } },
    ],
    imports: [
      z.enum(['serial', 'parallel']),
      'Whether datastore imports may run concurrently, which loses states on many portals. Default `serial`; `parallel` for an embedded portal without `races`.',
      'serial',
    ],
  },
  defaults.portal,
);

const concurrency = [count.max(256), 'Concurrent requests. Up to three times as many items are prepared.'] as const;

const rateText = (begin: string): string =>
  `Most requests per second; 0 means no limit. ${begin} while the portal answers as quickly as before, and falls when it slows down or refuses.`;

const embedded = z.strictObject({
  kind: z.literal('embedded').meta({ description: 'The portal that comes with sluice.' }),
  ...login('Password, as a reference; generated for the first user if missing.', defaults.embedded),
  ...shared,
  ...keysOf(
    {
      concurrency: [...concurrency, 8],
      requestsPerSecond: [z.number().min(0), rateText('Below it, the rate rises'), 100],
      profile: [
        z.enum(['spec', 'dkan-7.18.16', 'dkan-7.18', 'dkan-7.14']),
        'Behaviour: the specification, or a deployed release.',
        'dkan-7.18',
      ],
      races: [
        z.boolean(),
        'Whether concurrent requests lose updates and deadlock, as on deployed portals. Default `false` under `spec`, else `true`.',
        false,
      ],
      host: [text, 'Address to listen on; 0.0.0.0 means all.', '0.0.0.0'],
      port: [portNumber, 'Port to listen on; 0 picks a free one.', 8080],
      users: [text, 'Users file.', 'portal-users.yaml'],
      dataDir: [text, 'Its data folder; default `portal/<name>` in the state folder.', '/var/lib/sluice/portal'],
      publicUrl: [baseUrl, 'Its address behind a proxy; with https, cookies are secure.', 'https://data.example.org'],
      trustedProxies,
      roles: [
        z.record(roleName, z.array(z.enum(permissions))),
        `Permissions by role, new or in place of those of a built-in one: ${permissions.join(', ')}.`,
        { 'content creator': ['create content', 'edit own content'] },
      ],
      expose: [
        expose,
        'Enabled operations, by resource; all others answer 404. Without this key, all are enabled.',
        { node: ['index', 'retrieve'] },
      ],
      tokens: [z.boolean(), 'Whether access tokens are accepted; `sluice portal token` creates them.', true],
      xmlrpc: [z.boolean(), 'Whether `/api/xmlrpc` serves the API as XML-RPC.', true],
    },
    defaults.embedded,
  ),
});

const remote = z
  .strictObject({
    kind: z.literal('remote').meta({ description: 'Any other portal.' }),
    url: needed(baseUrl, 'Base address, without `/api/dataset`.', 'https://data.example.org'),
    ...login('Password, as a reference: `${NAME}` or `{file: path}`.'),
    ...shared,
    ...keysOf(
      {
        token: [secret, 'Access token instead of a password, as a reference, where supported.', '${SLUICE_TOKEN}'],
        concurrency: [...concurrency, 2],
        requestsPerSecond: [z.number().min(0), rateText('Without it, the rate begins at 10, rises'), 2],
      },
      defaults.remote,
    ),
  })
  .refine(
    ({ token, username, password }) => token !== undefined || (username === undefined) === (password === undefined),
    { error: 'needs username and password, or a token; without any of them, only what is public can be exported' },
  );

export const portalFileSchema = z.discriminatedUnion('kind', [embedded, remote]);

export type PortalFile = z.infer<typeof portalFileSchema>;
