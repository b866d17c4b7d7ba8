// Lists of datasets that a manifest names: `index:`, `datapackage:` and `catalogue:`.
import { resolve } from 'node:path';
import { z } from 'zod';
import { fetchedAddress, needed, optional, scalar, text } from '../../model/schema-parts.ts';

const longForm = z.strictObject({
  file: needed(text, 'The list: CSV, or JSON lines (`.jsonl`, `.ndjson`).', 'resources.csv'),
  columns: optional(z.record(text, text), {
    description: 'Headings of columns, where they differ from the key.',
    examples: [{ dataset: 'Data set no.', 'dataset.title': 'Name' }],
  }),
  separator: optional(z.string().min(1).max(3), {
    default: ';',
    description: 'Separator in cells with lists, such as tags.',
    examples: [','],
  }),
});

export const indexFileSchema = z.union([text, longForm]);

export const resolveIndex = (file: z.infer<typeof indexFileSchema>, dir: string) => {
  const { file: path, columns = {}, separator = ';' } = typeof file === 'string' ? { file } : file;
  return { file: resolve(dir, path), columns, separator };
};

export type IndexSpec = ReturnType<typeof resolveIndex>;

export const datapackageFileSchema = z.union([text, z.array(text).min(1)], {
  error: 'must be the path of a `datapackage.json`, a pattern, or a list of them',
});

/** A dotted path into an entry, such as `publisher.name`; an index or a name between the dots. */
const entryPath = z.string().regex(/^(?!.*(?:__proto__|constructor|prototype))[^.\s][^.]*(?:\.[^.]+)*$/, {
  error: 'must be a path into an entry such as `publisher.name`',
});

const plainValues = z.union([scalar, z.array(scalar).min(1)], {
  error: 'must be a value such as `City of Springfield`, or a list of values',
});

const catalogueFrom = text.refine((from) => !from.includes('://') || fetchedAddress.safeParse(from).success, {
  error: 'must be a path, or an http(s) address without user and password: these belong into `sources.credentials`',
});

const catalogueObjectSchema = z.strictObject({
  from: needed(catalogueFrom, 'The catalogue: an address or a path.', 'https://example.org/data.json'),
  files: optional(z.enum(['link', 'fetch']), {
    default: 'link',
    description: '`link` points to the files where they are; `fetch` publishes them.',
    examples: ['link'],
  }),
  filters: optional(z.record(entryPath, plainValues), {
    description: 'Include only entries with one of the values at each path.',
    examples: [{ 'publisher.name': ['Parks Department', 'Water Works'] }],
  }),
  excludes: optional(z.record(entryPath, plainValues), {
    description: 'Skip entries with one of the values at any path.',
    examples: [{ accessLevel: 'non-public' }],
  }),
  overrides: optional(z.record(entryPath, z.json()), {
    description: 'Values that replace those of every entry at these paths.',
    examples: [{ 'contactPoint.fn': 'Open data office' }],
  }),
  defaults: optional(z.record(entryPath, z.json()), {
    description: 'Values for entries that have none at these paths.',
    examples: [{ license: 'https://creativecommons.org/licenses/by/4.0/' }],
  }),
});

export const catalogueSchema = z.union([catalogueFrom, catalogueObjectSchema]);

export const resolveCatalogue = (file: z.infer<typeof catalogueSchema>, dir: string) => {
  const given = typeof file === 'string' ? { from: file } : file;
  const { from, files = 'link', filters = {}, excludes = {}, overrides = {}, defaults = {} } = given;
  const values = { filters: lists(filters), excludes: lists(excludes), overrides, defaults };
  /** `from`: an http(s) address, or an absolute path. */
  return { from: isAddress(from) ? from : resolve(dir, from), files, ...values };
};

export type CatalogueSpec = ReturnType<typeof resolveCatalogue>;

/** True for an http(s) address, which is fetched; anything else is a path. */
export const isAddress = (from: string): boolean => /^https?:\/\//i.test(from);

const lists = <Value>(byPath: Record<string, Value | Value[]>): Record<string, Value[]> =>
  Object.fromEntries(Object.entries(byPath).map(([path, value]) => [path, [value].flat() as Value[]])); // plain values
