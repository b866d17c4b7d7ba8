// Writes what is made from the zod schemas: the JSON Schemas for editors, and the key tables of the reference pages.
// Run it with `node scripts/schemas.ts` after a change of a schema; a test fails while the files are behind.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { configFileSchema } from '../src/config/schema.ts';
import { accessLevels, frequencies, licenses } from '../src/dataset-api/values.ts';
import { datasetRules } from '../src/sources/catalogue/dataset-rules.ts';
import { distributionRows } from '../src/sources/catalogue/distributions.ts';
import { manifestFileSchema } from '../src/sources/manifest/schema.ts';
import { type JsonSchema, keyTable } from './key-table.ts';

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

const configTables = (): Record<string, string> => {
  const { properties = {} } = jsonSchema(configFileSchema);
  const { portals, manifests, ...sections } = properties;
  const portal = portals?.additionalProperties || undefined;
  const kinds = portal?.oneOf ?? portal?.anyOf ?? [];
  const [embedded = {}, remote = {}] = kinds;
  return {
    top: keyTable(
      { properties: { portals: { ...portals, additionalProperties: {} }, manifests: manifests ?? {} } },
      '',
    ),
    embedded: keyTable(embedded, 'portals.<name>.'),
    remote: keyTable(remote, 'portals.<name>.'),
    ...Object.fromEntries(Object.entries(sections).map(([name, section]) => [name, keyTable(section, `${name}.`)])),
  };
};

const manifestTables = (): Record<string, string> => {
  const { properties = {}, required = [] } = jsonSchema(manifestFileSchema);
  const { datasets, drop, defaults, ...top } = properties;
  const { resources, ...dataset } = datasets?.items?.properties ?? {};
  const shallow = (schema: JsonSchema | undefined): JsonSchema => ({ ...schema, properties: {}, items: {} });
  const defaultsOf = Object.entries(defaults?.properties ?? {}).map(([name, value]) => [name, shallow(value)] as const);
  return {
    top: keyTable({ properties: { ...top, datasets: shallow(datasets), drop: shallow(drop) }, required }, ''),
    defaults: keyTable({ properties: Object.fromEntries(defaultsOf) }, 'defaults.'),
    datasets: keyTable(
      { ...datasets?.items, properties: { ...dataset, resources: shallow(resources) } },
      'datasets[].',
    ),
    resources: keyTable(resources?.items ?? {}, 'datasets[].resources[].'),
    drop: keyTable(drop ?? {}, 'drop.'),
    licenses: valueTable(['Code', 'License'], Object.entries(licenses)),
    frequencies: valueTable(
      ['Code', 'Words'],
      frequencies.map(({ code, words }) => [code, words.map((word) => `\`${word}\``).join(', ')]),
    ),
    access: accessLevels.map((level) => `\`${level}\``).join(', '),
  };
};

const catalogueTables = (): Record<string, string> => ({
  dataset: mappingTable(datasetRules),
  distribution: mappingTable(distributionRows),
});

const mappingTable = (rows: readonly { from: string; to: string; how: string }[]): string =>
  [
    '| Key | Field | How |',
    '|---|---|---|',
    ...rows.map(({ from, to, how }) => `| ${coded(from)} | ${coded(to)} | ${how} |`),
  ].join('\n');

/** The names in a text such as `a, b` as code. */
const coded = (text: string): string =>
  text.replaceAll('`', '').replaceAll(/@?\w+/g, (name) => (name === 'or' ? name : `\`${name}\``));

const valueTable = (head: [string, string], rows: (readonly [string, string])[]): string =>
  [`| ${head.join(' | ')} |`, '|---|---|', ...rows.map(([code, words]) => `| \`${code}\` | ${words} |`)].join('\n');

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
