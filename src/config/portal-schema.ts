// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts show people the reference syntax itself
// The shape of one portal in a configuration file.
import { z } from 'zod';
import { permissions } from '../dataset-api/values.ts';
import { optional, text } from '../model/schema-parts.ts';
import { durationText } from '../util/quantity.ts';
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

/** Operations of one resource. */
const operations = <const T extends readonly [string, ...string[]]>(names: T, what: string, example: T[number][]) =>
  optional(z.array(z.enum(names)), {
    description: `Operations on ${what}; none if left out of \`expose\`.`,
    examples: [example],
  });

/** Of the embedded portal and of the operator's pages. */
export const trustedProxies = optional(
  z.array(
    z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
      error: 'must be an IP address or a network, such as `10.0.0.0/8`',
    }),
  ),
  {
    description: 'Addresses and networks of proxies whose X-Forwarded-For identifies clients.',
    examples: [['127.0.0.1', '10.0.0.0/8']],
  },
);

/** Keys of an embedded portal about roles, ways in, and what exists. */
const portalAccessKeys = {
  publicUrl: optional(text, {
    description: 'Public address behind a proxy; with https, cookies are secure.',
    examples: ['https://data.example.org'],
  }),
  trustedProxies,
  roles: optional(z.record(roleName, z.array(z.enum(permissions))), {
    description: `Permissions by role, new or in place of those of a built-in one: ${permissions.join(', ')}.`,
    examples: [{ 'content creator': ['create content', 'edit own content'] }],
  }),
  expose: optional(
    z.strictObject({
      node: operations(portalOperations.node, 'nodes', ['index', 'retrieve']),
      user: operations(portalOperations.user, 'users', ['login', 'logout', 'token']),
      datastore: operations(portalOperations.datastore, 'datastores', ['retrieve', 'import']),
      file: operations(portalOperations.file, 'files', ['retrieve']),
      taxonomy_term: operations(portalOperations.taxonomy_term, 'terms', ['retrieve']),
    }),
    {
      description: 'Enabled operations, by resource; all others answer 404. Without this key, all are enabled.',
      examples: [{ node: ['index', 'retrieve'] }],
    },
  ),
  tokens: optional(z.boolean(), {
    default: defaults.embedded.tokens,
    description: 'Whether access tokens are accepted; `sluice portal token` creates them.',
    examples: [true],
  }),
  xmlrpc: optional(z.boolean(), {
    default: defaults.embedded.xmlrpc,
    description: 'Whether `/api/xmlrpc` serves the API as XML-RPC.',
    examples: [true],
  }),
};

const count = z.int().min(1);

/** A TCP port; 0 picks a free one. */
export const portNumber = z.int().min(0).max(65_535);

const secretRule = 'must be a reference, `${NAME}` or `{file: path}`: secrets do not belong in this file';

/** A secret by reference: an environment variable, or a file of which one newline at the end is cut. */
export const secret = z.union(
  [
    z.string().regex(/^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/, { error: secretRule }),
    z.strictObject({ file: text.meta({ description: 'File that holds the secret.', examples: ['portal-password'] }) }),
  ],
  { error: secretRule },
);

/** Something for each vocabulary that sluice writes terms of. */
const byVocabulary = <T extends z.ZodType>(value: T, what: string, examples: [unknown, unknown, unknown]) => {
  const of = (name: string, example: unknown) =>
    optional(value, { description: `${what} ${name}.`, examples: [example] });
  return z.strictObject({
    formats: of('formats', examples[0]),
    tags: of('tags', examples[1]),
    topics: of('topics', examples[2]),
  });
};

const shared = {
  username: text.meta({ description: 'User to log in as.', examples: ['publisher'] }),
  password: secret.meta({
    description: 'Password, as a reference: `${NAME}` or `{file: path}`.',
    examples: ['${SLUICE_PASSWORD}'],
  }),
  dialect: optional(z.enum(['auto', 'entity', 'form']), {
    default: defaults.portal.dialect,
    description: 'Form in which the portal takes fields; detected by default.',
    examples: ['form'],
  }),
  importTimeout: optional(durationText, {
    default: defaults.portal.importTimeout,
    description: 'How long a datastore import may take.',
    examples: ['1h'],
  }),
  vocabularies: optional(byVocabulary(count, 'Number of the vocabulary of', [1, 2, 3]), {
    description: 'Numbers of the vocabularies on the portal; by default 1, 2 and 3.',
    examples: [{ formats: 1, tags: 2, topics: 3 }],
  }),
  terms: optional(
    byVocabulary(z.record(text, count), 'Numbers by name of', [{ csv: 5 }, { budget: 17 }, { Transport: 31 }]),
    {
      description: 'Numbers of terms by name; others are looked up on the portal or created.',
      examples: [{ tags: { budget: 17 } }],
    },
  ),
  imports: optional(z.enum(['serial', 'parallel']), {
    description:
      'Whether datastore imports may run concurrently, which loses states on many portals. Default `serial`; `parallel` for an embedded portal without `races`.',
    examples: ['serial'],
  }),
};

interface Load {
  concurrency: number;
  requestsPerSecond: number | null;
}

/** How much is asked of a portal at once; the kinds of portal differ in what they stand. */
const limits = (usual: Load, example: Load) => ({
  concurrency: optional(count.max(256), {
    default: usual.concurrency,
    description: 'Concurrent requests. Up to three times as many items are prepared.',
    examples: [example.concurrency],
  }),
  requestsPerSecond: optional(z.number().min(0), {
    ...(usual.requestsPerSecond === null ? {} : { default: usual.requestsPerSecond }),
    description: `Most requests per second; 0 means no limit. ${usual.requestsPerSecond === null ? 'Without it, the rate begins at 10, rises' : 'Below it, the rate rises'} while the portal answers as quickly as before, and falls when it slows down or refuses.`,
    examples: [example.requestsPerSecond],
  }),
});

const embedded = z.strictObject({
  kind: z.literal('embedded').meta({ description: 'The portal that comes with sluice.' }),
  ...shared,
  username: optional(shared.username, {
    default: defaults.embedded.username,
    description: 'User to log in as.',
    examples: ['publisher'],
  }),
  password: optional(shared.password, {
    description: 'Password, as a reference; generated for the first user if missing.',
    examples: ['${SLUICE_PASSWORD}'],
  }),
  ...limits(defaults.embedded, { concurrency: 8, requestsPerSecond: 100 }),
  profile: optional(z.enum(['spec', 'dkan-7.18.16', 'dkan-7.18', 'dkan-7.14']), {
    default: defaults.embedded.profile,
    description: 'Behaviour: the specification, or a deployed release.',
    examples: ['dkan-7.18'],
  }),
  races: optional(z.boolean(), {
    description:
      'Whether concurrent requests lose updates and deadlock, as on deployed portals. Default `false` under `spec`, else `true`.',
    examples: [false],
  }),
  host: optional(text, {
    default: defaults.embedded.host,
    description: 'Address to listen on; 0.0.0.0 means all.',
    examples: ['0.0.0.0'],
  }),
  port: optional(portNumber, {
    default: defaults.embedded.port,
    description: 'Port to listen on; 0 picks a free one.',
    examples: [8080],
  }),
  users: optional(text, { description: 'Users file.', examples: ['portal-users.yaml'] }),
  dataDir: optional(text, {
    description: 'Its data folder; default `portal/<name>` in the state folder.',
    examples: ['/var/lib/sluice/portal'],
  }),
  attachWait: optional(durationText, {
    default: defaults.embedded.attachWait,
    description: 'How long the reply to an upload waits for its import.',
    examples: ['5s'],
  }),
  ...portalAccessKeys,
});

const remote = z
  .strictObject({
    kind: z.literal('remote').meta({ description: 'Any other portal.' }),
    url: text.meta({
      description: 'Base address, without `/api/dataset`.',
      examples: ['https://data.example.org'],
    }),
    ...shared,
    token: optional(secret, {
      description: 'Access token instead of a password, as a reference, if the portal supports it.',
      examples: ['${SLUICE_TOKEN}'],
    }),
    username: shared.username.exactOptional(),
    password: shared.password.exactOptional(),
    ...limits(defaults.remote, { concurrency: 2, requestsPerSecond: 2 }),
  })
  .refine(
    ({ token, username, password }) => token !== undefined || (username === undefined) === (password === undefined),
    {
      error: 'needs username and password, or a token; without any of them, only what is public can be exported',
    },
  );

/** A portal as the file describes it. */
export const portalFileSchema = z.discriminatedUnion('kind', [embedded, remote]);

export type PortalFile = z.infer<typeof portalFileSchema>;
