// The record of an exported dataset, `sluice` in its `datapackage.json`: the portal's own values and paths of files.
import { z } from 'zod';
import { isObject } from '../../util/json.ts';

/** Codes of what is odd on a portal, or could not be exported as it is. */
export const findingCodes = [
  'catalogue-lacks',
  'draft',
  'duplicate-uuid',
  'empty-resource',
  'file-faulty',
  'file-gone',
  'file-is-page',
  'file-name',
  'file-refused',
  'file-size',
  'file-unreachable',
  'group-unknown',
  'hidden-nodes',
  'list-incomplete',
  'in-several-datasets',
  'manifest-lacks',
  'no-dataset',
  'no-title',
  'not-in-list',
  'remote-file',
  'resource-unreadable',
  'rows-instead-of-file',
  'several-contents',
  'term-unknown',
  'title-changed',
] as const;

const findingSchema = z.object({ code: z.enum(findingCodes), message: z.string() });

/** What is odd about a dataset or resource, in a sentence. */
export type Finding = z.infer<typeof findingSchema>;

const nodeSchema = z.looseObject({ nid: z.string(), vid: z.string(), changed: z.string(), title: z.string() });

/** A node as the portal has it, without what is private or only computed for the reply. */
export type ExportedNode = z.infer<typeof nodeSchema>;

const fileSchema = z.object({
  /** Below the folder of the package. */
  path: z.string().regex(/^data\/(?!.*(?:^|\/)\.)[^\\]+$/),
  name: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
  /** What it was on the portal, so that another one is noticed. */
  version: z.string(),
  from: z.enum(['portal', 'datastore']),
});

export type StoredFile = z.infer<typeof fileSchema>;

export const resourceSchema = z.object({
  name: z.string(),
  node: nodeSchema,
  file: fileSchema.nullable(),
  /** Its table in the datastore: null where there is none, absent where that is not known. */
  table: z
    .object({ rows: z.int().nonnegative(), columns: z.array(z.string()) })
    .nullable()
    .exactOptional(),
  findings: z.array(findingSchema),
});

export type ExportedResource = z.infer<typeof resourceSchema>;

export const recordSchema = z.object({
  version: z.literal(1),
  /** Null for the package of a resource that is in no dataset. */
  node: nodeSchema.nullable(),
  resources: z.array(resourceSchema),
  /** Day on which it was found to be gone from the portal. */
  removed: z.string().nullable(),
  removedResources: z.array(resourceSchema),
  /** Names of terms by id; null for one without a name. */
  terms: z.record(z.string(), z.string().nullable()),
  groups: z.record(z.string(), z.string().nullable()),
  findings: z.array(findingSchema),
});

export type DatasetRecord = z.infer<typeof recordSchema>;

/** Of a person or session, or the portal's own way to read the reply: nothing of it belongs into a folder. */
const dropped = new Set(['data', 'picture', 'rdf_mapping', 'init', 'signature', 'signature_format']);
const secret =
  /^(?:pass|password|mail|init|sess_?id|session(?:_name)?|token|csrf_?token|hostname|access_token|api_?key)$/i;

/** A node without what is private: what the portal tells its author beyond the name, anything of a session. */
export const cleanNode = (node: Readonly<Record<string, unknown>>): ExportedNode => {
  const kept = Object.fromEntries(Object.entries(node).filter(([key]) => !dropped.has(key)));
  return nodeSchema.parse(withoutSecrets(kept));
};

const withoutSecrets = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (secret.test(key) ? [] : [[key, withoutSecrets(inner)]])),
  );
};
