// Who may do what on an embedded portal, and by which ways in: the keys of a configuration file.
import { z } from 'zod';
import { permissions } from '../dataset-api/permissions.ts';
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
  z
    .array(z.enum(names))
    .exactOptional()
    .meta({ description: `Operations on ${what} that exist; none when left out of \`expose\`.`, examples: [example] });

/** Keys of an embedded portal about roles, ways in, and what exists. */
export const portalAccessKeys = {
  publicUrl: z
    .string()
    .trim()
    .min(1)
    .exactOptional()
    .meta({
      description: 'Address under which clients reach it when a proxy stands before it; on https cookies are secure.',
      examples: ['https://data.example.org'],
    }),
  trustedProxies: z
    .array(
      z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
        error: 'must be an IP address or a network, such as `10.0.0.0/8`',
      }),
    )
    .exactOptional()
    .meta({
      description:
        "Addresses and networks of the proxies before it. Their X-Forwarded-For tells the client's address, by which failed logins and connections are counted; nobody else's is believed.",
      examples: [['127.0.0.1', '10.0.0.0/8']],
    }),
  roles: z
    .record(roleName, z.array(z.enum(permissions)))
    .exactOptional()
    .meta({
      description: `Permissions by role: those of a role that exists are replaced, other names are new roles. Permissions: ${permissions.join(', ')}.`,
      examples: [{ 'content creator': ['create content', 'edit own content'] }],
    }),
  expose: z
    .strictObject({
      node: operations(portalOperations.node, 'nodes', ['index', 'retrieve']),
      user: operations(portalOperations.user, 'users', ['login', 'logout', 'token']),
      datastore: operations(portalOperations.datastore, 'datastores', ['retrieve', 'import']),
      file: operations(portalOperations.file, 'files', ['retrieve']),
      taxonomy_term: operations(portalOperations.taxonomy_term, 'terms', ['retrieve']),
    })
    .exactOptional()
    .meta({
      description: 'Operations that exist, by resource; every other one answers 404. All exist when left out.',
      examples: [{ node: ['index', 'retrieve'] }],
    }),
  tokens: z
    .boolean()
    .exactOptional()
    .meta({
      default: defaults.embedded.tokens,
      description: 'Whether `Authorization: Bearer TOKEN` lets in without a session; `sluice portal token` makes them.',
      examples: [true],
    }),
  xmlrpc: z
    .boolean()
    .exactOptional()
    .meta({
      default: defaults.embedded.xmlrpc,
      description: 'Whether an XML-RPC server over the same resources answers at `/api/xmlrpc`.',
      examples: [true],
    }),
};
