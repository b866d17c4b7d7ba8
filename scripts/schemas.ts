// Writes what is made from the zod schemas: the JSON Schemas for editors, and the key tables of the reference pages.
// Run it with `node scripts/schemas.ts` after a change of a schema; a test fails while the files are behind.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type JsonSchema, schemaKeys } from '../src/commands/help-topics.ts';
import { configFileSchema } from '../src/config/schema.ts';
import { frequencies, licenses } from '../src/dataset-api/values.ts';
import { reportSchema } from '../src/model/report.ts';
import { statusSchema } from '../src/model/status.ts';
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
  { path: 'config/report.schema.json', text: json(printedSchema(reportSchema)) },
  { path: 'config/status.schema.json', text: json(printedSchema(statusSchema)) },
  await page('docs/reference/config.md', configTables()),
  await page('docs/reference/manifest.md', manifestTables()),
];

/** JSON Schema (draft 7, which editors know best) of what people write. */
const jsonSchema = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }) as JsonSchema; // same structure, own narrow type

/** JSON Schema of what commands print. */
const printedSchema = (schema: z.ZodType): unknown => z.toJSONSchema(schema, { target: 'draft-7', io: 'output' });

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Mappings that are listed in one line with their keys, and the page that explains these, if they need it. */
const folded: Record<string, string | null> = {
  schedule: '../how-to/schedule.md',
  index: '../how-to/csv-index.md',
  catalogue: '../how-to/harvest-a-catalogue.md',
  drop: '../how-to/folder-drop.md',
  'datasets[].contact': null,
  'datasets[].spatial': null,
  'datasets[].temporal': null,
  'datasets[].relatedContent': null,
  'datasets[].resources[].guard': null,
  'portals.<name>.vocabularies': null,
  'portals.<name>.terms': null,
  'portals.<name>.expose': '../embedded-portal/run.md#users-and-roles',
  'notify.webhook': '../how-to/notices.md#the-webhook',
  'notify.email': '../how-to/notices.md',
  'notify.heartbeat': '../how-to/monitor.md#heartbeats',
};

/** Types that a default shows by itself. */
const plainTypes = ['duration', 'size', 'integer', 'number', 'boolean'];

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
  const isMember = (path: string, of: string): boolean => path.startsWith(`${of}.`) || path.startsWith(`${of}[].`);
  return keys
    .filter(({ path }) => !Object.keys(folded).some((mapping) => isMember(path, mapping)))
    .map(({ path, type, required, fallback, meaning }) => {
      const guide = folded[path];
      const members = guide === undefined ? [] : keys.filter((key) => isMember(key.path, path));
      const names = members.map(
        (key) => `\`${key.path.slice(path.length).replace(/^(\[\])?\./, '')}\`${key.required ? ' (required)' : ''}`,
      );
      const more = required
        ? ', required'
        : fallback === undefined || fallback === '[]'
          ? ''
          : `, default \`${fallback}\``;
      const plain = fallback !== undefined && plainTypes.includes(type) ? 'text' : type.replaceAll(' | ', '/');
      const form = names.length === 0 ? plain : `${plain} of ${names.join(', ')}`;
      const kind = `${form === 'text' ? '' : form}${more}`.replace(/^, /, '');
      const text = meaning.replaceAll('\n', ' ').replace(/\.$/, guide ? ` ([guide](${guide})).` : '.');
      return `- \`${path.slice(parent.length)}\`${kind === '' ? '' : ` (${kind})`}: ${text}`;
    })
    .join('\n');
};

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
  const { datasets, defaults, ...top } = properties;
  const { resources, ...dataset } = datasets?.items?.properties ?? {};
  const shallow = (schema: JsonSchema | undefined): JsonSchema => ({ ...schema, properties: {}, items: {} });
  const defaultsOf = Object.entries(defaults?.properties ?? {}).map(([name, value]) => [name, shallow(value)] as const);
  const resource = resources?.items?.properties ?? {};
  const { table, schema } = resource;
  const forms = (schema?.anyOf ?? []).map(shallow);
  return {
    top: keyList({ properties: { ...top, datasets: shallow(datasets) }, required }, ''),
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
    licenses: valueList(Object.entries(licenses)),
    frequencies: valueList(frequencies.map(({ code, words }) => [code, words.map((word) => `\`${word}\``).join(', ')])),
  };
};

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
