// Writes what is made from the zod schemas: the JSON Schemas for editors, and the key tables of the reference pages.
// Run it with `node scripts/schemas.ts` after a change of a schema; a test fails while the files are behind.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type JsonSchema, schemaKeys } from '../src/commands/help-topics.ts';
import { configFileSchema } from '../src/config/schema.ts';
import { accessLevels, frequencies, licenses } from '../src/dataset-api/values.ts';
import { datasetRules } from '../src/sources/catalogue/dataset-rules.ts';
import { distributionRows } from '../src/sources/catalogue/distributions.ts';
import { manifestFileSchema } from '../src/sources/manifest/schema.ts';

const root = join(import.meta.dirname, '..');

/** A file that is made from the schemas. */
export interface MadeFile {
  /** Relative to the repository. */
  path: string;
  text: string;
}

/** Makes the content of every file that follows from the schemas; pages keep the prose around their tables. */
export const madeFiles = async (): Promise<MadeFile[]> => [
  { path: 'config/config.schema.json', text: json(jsonSchema(configFileSchema)) },
  { path: 'config/manifest.schema.json', text: json(jsonSchema(manifestFileSchema)) },
  await page('docs/reference/config.md', configTables()),
  await page('docs/reference/manifest.md', manifestTables()),
  await page('docs/reference/catalogue-mapping.md', catalogueTables()),
];

/** JSON Schema (draft 7, which editors know best) of what people write. */
const jsonSchema = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }) as JsonSchema; // same structure, own narrow type

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Mappings that are listed in one line with their keys. */
const isFolded = (path: string): boolean =>
  /(^|\.)(contact|spatial|temporal|relatedContent|vocabularies|terms|heartbeat)$|^datasets\[\]\.resources\[\]\.guard$/.test(
    path,
  );

/** What pages leave out before the keys of a list: the section says it once. */
export const keyParents: Record<string, string> = {
  portals: 'portals.<name>.',
  embedded: 'portals.<name>.',
  remote: 'portals.<name>.',
  datasets: 'datasets[].',
  resources: 'datasets[].resources[].',
};

/** A Markdown list of the keys of a schema; `list` is its name on the page. */
const keyList = (schema: JsonSchema, prefix: string, list?: string): string => {
  const parent = keyParents[list ?? ''] ?? '';
  const keys = schemaKeys(schema, prefix);
  const folds = keys.filter(({ path }) => isFolded(path));
  return keys
    .filter(({ path }) => !folds.some((fold) => path !== fold.path && /^(\[\])?\./.test(tailOf(path, fold.path) ?? '')))
    .map((key) => {
      const names = folds.includes(key)
        ? keys.map(({ path }) => tailOf(path, key.path)?.replace(/^(\[\])?\./, '') ?? '').filter((name) => name !== '')
        : [];
      return { ...key, path: key.path.slice(parent.length), type: [key.type, ...names.map((name) => `\`${name}\``)] };
    })
    .map(({ path, type: [words = '', ...names], required, fallback, meaning }) => {
      const type = names.length === 0 ? words : `${words} of ${names.join(', ')}`;
      const more = required
        ? ', required'
        : fallback === undefined || fallback === '[]'
          ? ''
          : `, default \`${fallback}\``;
      const kind = `${type === 'text' ? '' : type}${more}`.replace(/^, /, '');
      return `- \`${path}\`${kind === '' ? '' : ` (${kind})`}: ${meaning.replaceAll('\n', ' ')}`;
    })
    .join('\n');
};

/** What follows `start` in `path`; null when it does not begin with it. */
const tailOf = (path: string, start: string): string | null =>
  path.startsWith(start) ? path.slice(start.length) : null;

const configTables = (): Record<string, string> => {
  const { properties = {} } = jsonSchema(configFileSchema);
  const { portals, manifests, ...sections } = properties;
  const portal = portals?.additionalProperties || undefined;
  const kinds = portal?.oneOf ?? portal?.anyOf ?? [];
  const [embedded = {}, remote = {}] = kinds;
  const common = keysOf(
    embedded,
    (name) => JSON.stringify(embedded.properties?.[name]) === JSON.stringify(remote.properties?.[name]),
  );
  const only = (kind: JsonSchema): JsonSchema => keysOf(kind, (name) => common.properties?.[name] === undefined);
  return {
    top: keyList({ properties: { portals: { ...portals, additionalProperties: {} }, manifests: manifests ?? {} } }, ''),
    portals: keyList(common, 'portals.<name>.', 'portals'),
    embedded: keyList(only(embedded), 'portals.<name>.', 'embedded'),
    remote: keyList(only(remote), 'portals.<name>.', 'remote'),
    ...Object.fromEntries(Object.entries(sections).map(([name, section]) => [name, keyList(section, `${name}.`)])),
  };
};

/** The schema with those of its keys that `isTaken` takes. */
const keysOf = (schema: JsonSchema, isTaken: (name: string) => boolean): JsonSchema => ({
  ...schema,
  properties: Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name]) => isTaken(name))),
});

const manifestTables = (): Record<string, string> => {
  const { properties = {}, required = [] } = jsonSchema(manifestFileSchema);
  const { datasets, drop, defaults, ...top } = properties;
  const { resources, ...dataset } = datasets?.items?.properties ?? {};
  const shallow = (schema: JsonSchema | undefined): JsonSchema => ({ ...schema, properties: {}, items: {} });
  const defaultsOf = Object.entries(defaults?.properties ?? {}).map(([name, value]) => [name, shallow(value)] as const);
  const resource = resources?.items?.properties ?? {};
  const { table, schema } = resource;
  const forms = (schema?.anyOf ?? []).map(shallow);
  return {
    top: keyList({ properties: { ...top, datasets: shallow(datasets), drop: shallow(drop) }, required }, ''),
    defaults: keyList({ properties: Object.fromEntries(defaultsOf) }, 'defaults.'),
    datasets: keyList(
      { ...datasets?.items, properties: { ...dataset, resources: shallow(resources) } },
      'datasets[].',
      'datasets',
    ),
    // Steps and schemas are explained on the page about tables; `sluice help manifest` lists their keys.
    resources: keyList(
      { ...resources?.items, properties: { ...resource, table: shallow(table), schema: { ...schema, anyOf: forms } } },
      'datasets[].resources[].',
      'resources',
    ),
    drop: keyList(drop ?? {}, 'drop.'),
    licenses: valueList(Object.entries(licenses)),
    frequencies: valueList(frequencies.map(({ code, words }) => [code, words.map((word) => `\`${word}\``).join(', ')])),
    access: accessLevels.map((level) => `\`${level}\``).join(', '),
  };
};

const catalogueTables = (): Record<string, string> => ({
  dataset: mappingList(datasetRules),
  distribution: mappingList(distributionRows),
});

/** Neighbours that are treated alike share a line. */
const mappingList = (rows: readonly { from: string; to: string; how: string }[]): string =>
  [...Map.groupBy(rows, ({ to, how }) => `${coded(to)}: ${how}`)]
    .map(([what, alike]) => `- ${alike.map(({ from }) => coded(from)).join(', ')} → ${what}`)
    .join('\n');

/** The names in a text such as `a, b` as code. */
const coded = (text: string): string =>
  text.replaceAll('`', '').replaceAll(/@?\w+/g, (name) => (name === 'or' ? name : `\`${name}\``));

const valueList = (rows: (readonly [string, string])[]): string =>
  rows.map(([code, words]) => `- \`${code}\`${words === '' ? '' : ` ${words}`}`).join('\n');

/** The page with the text between `<!-- made: NAME -->` and `<!-- /made -->` replaced by the table of that name. */
export const page = async (path: string, tables: Record<string, string>): Promise<MadeFile> => {
  const before = await readFile(join(root, path), 'utf8');
  const used = new Set<string>();
  const text = before.replaceAll(/(<!-- made: ([\w-]+) -->\n)[\s\S]*?(<!-- \/made -->)/g, (_, open, name, close) => {
    const table = tables[name];
    if (table === undefined) throw new Error(`${path}: nothing is made under the name ${name}`);
    used.add(name);
    return `${open}${table}\n${close}`;
  });
  const unused = Object.keys(tables).filter((name) => !used.has(name));
  if (unused.length > 0) throw new Error(`${path}: no place for the tables ${unused.join(', ')}`);
  return { path, text };
};

if (import.meta.main) for (const { path, text } of await madeFiles()) await writeFile(join(root, path), text);
