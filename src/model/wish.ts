// Wishes: the datasets and resources that should be on a portal, as gathered from a manifest or a dropped file.
import { z } from 'zod';
import { importModes, mendModes } from './policy.ts';
import { encodings } from './recipe/encodings.ts';
import { isConvertible, preparedName, tableRecipeSchema } from './recipe/recipe.ts';
import { tableGuardSchema } from './table-history.ts';

/** Field items of a node keyed by field name, in the API's own structure (`{und: [...]}`), as entity portals take them. */
export const nodeFieldsSchema = z.record(z.string(), z.unknown());

export type NodeFields = z.infer<typeof nodeFieldsSchema>;

/** Where the content of a resource comes from: a file that is sent, from here or fetched, or an address that is only linked. */
const resourceSourceSchema = z.discriminatedUnion('kind', [
  /** `path` is absolute; `name` is the file name on the portal; `claim` names the spooled drop it came from; `url` the address it was fetched from. */
  z.object({
    kind: z.literal('file'),
    path: z.string(),
    name: z.string(),
    claim: z.string().optional(),
    url: z.string().exactOptional(),
  }),
  /** Fetched and sent. `isNamed`: `name` was given; otherwise its server may give a better one. */
  z.object({ kind: z.literal('url'), url: z.string(), name: z.string(), isNamed: z.boolean().exactOptional() }),
  /** The change log of the dataset, made of the versions of its tables. */
  z.object({ kind: z.literal('changes'), name: z.string() }),
  z.object({ kind: z.literal('link'), url: z.string() }),
  z.object({ kind: z.literal('api'), url: z.string() }),
]);

export type ResourceSource = z.infer<typeof resourceSourceSchema>;

/** How the ledger names a source of bytes: the path of a file, the address of a fetched one; null for others. */
export const sourcePathOf = (source: ResourceSource): string | null => {
  if (source.kind === 'file') return source.url ?? source.path;
  return source.kind === 'url' ? source.url : null;
};

/** True for a source whose bytes are fetched from the web, before and after they are here. */
export const isOfWeb = (source: ResourceSource): boolean =>
  source.kind === 'url' || (source.kind === 'file' && source.url !== undefined);

const readingKeysSchema = z.object({
  encoding: z.enum(encodings).exactOptional(),
  skipRows: z.int().nonnegative().exactOptional(),
  mend: z.enum(mendModes).exactOptional(),
});

export const resourceWishSchema = z.object({
  /** `<manifest>/<dataset>/<resource>`: our stable name. */
  key: z.string(),
  uuid: z.uuid(),
  datasetKey: z.string(),
  title: z.string(),
  published: z.boolean(),
  fields: nodeFieldsSchema,
  source: resourceSourceSchema,
  import: z.enum(importModes),
  /** True where the key is made of the address: another address does not mean another resource. */
  byAddress: z.boolean().exactOptional(),
  recipe: tableRecipeSchema.exactOptional(),
  guard: tableGuardSchema.exactOptional(),
  /** Columns that tell the rows of the table apart. */
  rowKey: z.array(z.string()).exactOptional(),
  /** True where the change log of its dataset lists the rows that change. */
  isLogged: z.literal(true).exactOptional(),
  /** How a table of text is read, where the bytes of the file may show that it is one. */
  reading: readingKeysSchema.exactOptional(),
  /** sha256 (hex) over everything above that the portal shall hold as metadata. */
  metadataFingerprint: z.string(),
});

export type ResourceWish = z.infer<typeof resourceWishSchema>;

/** Name of the file that is sent; empty where none is. A table that was made of another file, or by steps, has the name of a CSV. */
export const sentName = ({ source, recipe }: Pick<ResourceWish, 'source' | 'recipe'>): string => {
  if (!('name' in source)) return '';
  const isMade = recipe !== undefined && (recipe.asked || isConvertible(source.name));
  return isMade ? preparedName(source.name) : source.name;
};

export const datasetWishSchema = z.object({
  key: z.string(),
  /** Name of the dataset at its source, such as the identifier in a catalogue, and another one that it has there. */
  identifier: z.string().exactOptional(),
  alias: z.string().nullable().exactOptional(),
  uuid: z.uuid(),
  title: z.string(),
  published: z.boolean(),
  fields: nodeFieldsSchema,
  /** How often something new is expected, milliseconds; absent where nothing is. */
  expectMs: z.number().exactOptional(),
  metadataFingerprint: z.string(),
  resources: z.array(resourceWishSchema),
});

export type DatasetWish = z.infer<typeof datasetWishSchema>;
