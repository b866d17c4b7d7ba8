// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts show people the reference syntax itself
// The shape of one portal in a configuration file.
import { z } from 'zod';
import { permissions } from '../dataset-api/permissions.ts';
import { optional } from '../model/optional-key.ts';
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
  error: 'a role is called by 1 to 64 letters, digits, spaces, `_`, `.` or `-` and begins with a letter or digit',
});

/** Operations of one resource. */
const operations = <const T extends readonly [string, ...string[]]>(names: T, what: string, example: T[number][]) =>
  optional(z.array(z.enum(names)), {
    description: `Operations on ${what} that exist; none when left out of \`expose\`.`,
    examples: [example],
  });

/** Keys of an embedded portal about roles, ways in, and what exists. */
const portalAccessKeys = {
  publicUrl: optional(z.string().trim().min(1), {
    description: 'Address under which clients reach it when a proxy stands before it; on https cookies are secure.',
    examples: ['https://data.example.org'],
  }),
  trustedProxies: optional(
    z.array(
      z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
        error: 'must be an IP address or a network, such as `10.0.0.0/8`',
      }),
    ),
    {
      description:
        "Addresses and networks of the proxies before it. Their X-Forwarded-For tells the client's address, by which failed logins and connections are counted; nobody else's is believed.",
      examples: [['127.0.0.1', '10.0.0.0/8']],
    },
  ),
  roles: optional(z.record(roleName, z.array(z.enum(permissions))), {
    description: `Permissions by role: those of a role that exists are replaced, other names are new roles. Permissions: ${permissions.join(', ')}.`,
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
      description: 'Operations that exist, by resource; every other one answers 404. All exist when left out.',
      examples: [{ node: ['index', 'retrieve'] }],
    },
  ),
  tokens: optional(z.boolean(), {
    default: defaults.embedded.tokens,
    description: 'Whether `Authorization: Bearer TOKEN` lets in without a session; `sluice portal token` makes them.',
    examples: [true],
  }),
  xmlrpc: optional(z.boolean(), {
    default: defaults.embedded.xmlrpc,
    description: 'Whether an XML-RPC server over the same resources answers at `/api/xmlrpc`.',
    examples: [true],
  }),
};

const text = z.string().trim().min(1);
const count = z.int().min(1);

/** A TCP port; 0 takes a free one. */
export const portNumber = z.int().min(0).max(65_535);

const secretRule = 'must be a reference, so that no secret stands in this file: `${NAME}` or `{file: path}`';

/** A secret by reference: an environment variable, or a file of which one newline at the end is cut. */
export const secret = z.union(
  [
    z.string().regex(/^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/, { error: secretRule }),
    z.strictObject({ file: text.meta({ description: 'File that holds the secret.', examples: ['portal-password'] }) }),
  ],
  { error: secretRule },
);

const idNumber = z.int().min(1);

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
    description: 'Password, only by reference: `${NAME}` of the environment, or `{file: path}`.',
    examples: ['${SLUICE_PASSWORD}'],
  }),
  dialect: optional(z.enum(['auto', 'entity', 'form']), {
    default: defaults.portal.dialect,
    description: 'How the portal wants fields: found out by itself, or fixed here.',
    examples: ['form'],
  }),
  importTimeout: optional(durationText, {
    default: defaults.portal.importTimeout,
    description: 'How long a datastore import may take.',
    examples: ['1h'],
  }),
  vocabularies: optional(byVocabulary(idNumber, 'Number of the vocabulary of', [1, 2, 3]), {
    description:
      'Numbers of the vocabularies on the portal. Those of a usual installation (1, 2, 3) are taken and proved unless stated.',
    examples: [{ formats: 1, tags: 2, topics: 3 }],
  }),
  terms: optional(
    byVocabulary(z.record(text, idNumber), 'Numbers by name of', [{ csv: 5 }, { budget: 17 }, { Transport: 31 }]),
    {
      description: 'Numbers of terms by name; what is not stated is learnt from the portal, or made there once.',
      examples: [{ tags: { budget: 17 } }],
    },
  ),
  imports: optional(z.enum(['serial', 'parallel']), {
    description:
      'Whether datastore imports may run beside each other; portals that keep all states together lose some. `serial`, but `parallel` for an embedded portal without races, when left out.',
    examples: ['serial'],
  }),
};

interface Load {
  concurrency: number;
  requestsPerSecond: number;
}

/** How much is asked of a portal at once; the kinds of portal differ in what they stand. */
const limits = (usual: Load, example: Load) => ({
  concurrency: optional(count.max(256), {
    default: usual.concurrency,
    description: 'Requests sent at once. Up to three times as many datasets and resources are in work.',
    examples: [example.concurrency],
  }),
  requestsPerSecond: optional(z.number().min(0), {
    default: usual.requestsPerSecond,
    description: 'Upper limit of requests per second; 0 is none.',
    examples: [example.requestsPerSecond],
  }),
});

const embedded = z.strictObject({
  kind: z.literal('embedded').meta({ description: 'The portal that sluice brings along.' }),
  ...shared,
  username: optional(shared.username, {
    default: defaults.embedded.username,
    description: 'User to log in as.',
    examples: ['publisher'],
  }),
  password: optional(shared.password, {
    description: 'Password, only by reference; when left out the portal makes one of its own for its first user.',
    examples: ['${SLUICE_PASSWORD}'],
  }),
  ...limits(defaults.embedded, { concurrency: 8, requestsPerSecond: 100 }),
  profile: optional(z.enum(['spec', 'dkan-7.18.16', 'dkan-7.18', 'dkan-7.14']), {
    default: defaults.embedded.profile,
    description: 'Which portal it behaves like: the specification, or a deployed release.',
    examples: ['dkan-7.18'],
  }),
  races: optional(z.boolean(), {
    description:
      "Whether requests that overlap get in each other's way as on deployed portals: lost references and datastore states, deadlocks. When left out, `true` under the `dkan-` profiles and `false` under `spec`.",
    examples: [false],
  }),
  host: optional(text, {
    default: defaults.embedded.host,
    description: 'Address to listen on; 0.0.0.0 opens it to the network.',
    examples: ['0.0.0.0'],
  }),
  port: optional(portNumber, {
    default: defaults.embedded.port,
    description: 'Port to listen on; 0 takes a free one.',
    examples: [8080],
  }),
  users: optional(text, { description: 'Users file.', examples: ['portal-users.yaml'] }),
  dataDir: optional(text, {
    description: 'Where its store lives; `portal/<name>` in the state folder when left out.',
    examples: ['/var/lib/sluice/portal'],
  }),
  attachWait: optional(durationText, {
    default: defaults.embedded.attachWait,
    description: 'How long the answer to an upload waits for its import.',
    examples: ['5s'],
  }),
  ...portalAccessKeys,
});

const remote = z
  .strictObject({
    kind: z.literal('remote').meta({ description: 'A portal elsewhere.' }),
    url: text.meta({
      description: 'Base address, without `/api/dataset`.',
      examples: ['https://data.example.org'],
    }),
    ...shared,
    token: optional(secret, {
      description:
        'Token of an account instead of its password, only by reference, where the portal takes one (an embedded portal does).',
      examples: ['${SLUICE_TOKEN}'],
    }),
    username: shared.username.exactOptional(),
    password: shared.password.exactOptional(),
    ...limits(defaults.remote, { concurrency: 2, requestsPerSecond: 2 }),
  })
  .refine(
    ({ token, username, password }) => token !== undefined || (username !== undefined && password !== undefined),
    {
      error: 'needs username and password, or a token',
    },
  );

/** A portal as the file describes it. */
export const portalFileSchema = z.discriminatedUnion('kind', [embedded, remote]);

/** See {@link portalFileSchema}. */
export type PortalFile = z.infer<typeof portalFileSchema>;
