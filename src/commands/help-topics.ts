// `sluice help`: the formats of the two files that people write, and error codes.
import { readFileSync } from 'node:fs';
import { type ErrorCode, errorCodes, isErrorCode, retriedCodes, UsageError } from '../model/errors.ts';
import { outcomeOf } from '../model/ledger-entry.ts';
import { didYouMean } from '../model/yaml/nearest.ts';
import { exitCodeOfCode, exitCodes } from './io.ts';
import { lines } from './text.ts';

export const helpTopics = ['manifest', 'config'] as const;

const heads: Record<(typeof helpTopics)[number], string> = {
  manifest: `A manifest says what to publish. It is a YAML file, usually in jobs/:

  name: city-finance
  portal: local
  datasets:
    - id: city-budget-2026
      title: City budget 2026
      license: cc-by
      resources:
        - { id: spending, title: Spending by department, file: ../data/spending.csv }

Instead of \`datasets\`, one of \`drop\`, \`index\`, \`datapackage\` and \`catalogue\` says where datasets come from.
Paths are relative to the manifest. \`sluice check FILE\` validates a manifest.`,
  config: `The configuration says where and how sluice runs. It is config/sluice.yaml, or the file of --config:

  portals:
    city:
      kind: remote
      url: https://data.example.org
      username: publisher
      password: { file: city.password }
  manifests: ["../jobs/*.yaml"]

Paths are relative to this file. \`sluice check FILE\` validates a configuration.`,
};

/** What `sluice help` says about a topic or an error code. @throws UsageError for another word, such as one of `synonyms` */
export const helpText = (word: string, commands: readonly string[], synonyms: Record<string, string>): string => {
  const topic = helpTopics.find((name) => name === word);
  if (topic) return topicText(topic);
  if (isErrorCode(word)) return codeText(word);
  const files = helpTopics.filter((name) =>
    topicText(name)
      .match(/\w+(?= {2}\()/g)
      ?.includes(word),
  );
  const keyOf = files.map((name) => `\`sluice help ${name}\` explains this key; `).join('');
  throw new UsageError(`there is no help about "${word}"`, {
    hint: `${keyOf || didYouMean(word, [...commands, ...helpTopics, ...Object.keys(errorCodes)], synonyms)}\`sluice --help\` lists the commands and topics, docs/reference/errors.md the codes`,
  });
};

/** What an item with a code is, and what to do, by how a failure with it is reported. */
const adviceOf: Record<ReturnType<typeof outcomeOf>, string> = {
  quarantined:
    'The fault is in the file, and the portal keeps the previous version: correct it, then publish, retry or drop it again.',
  held: 'Nothing is changed until you decide.',
  cancelled: 'The next run does the rest; so does `sluice retry`.',
  failed: 'What was live before stays.',
};

const codeText = (code: ErrorCode): string => {
  const exitCode = exitCodeOfCode(code);
  const isOfItems = exitCode === exitCodes.someFailed || exitCode === exitCodes.held;
  return lines(
    `${code}: ${errorCodes[code]}`,
    '',
    isOfItems ? adviceOf[outcomeOf({ code })] : 'The message says what to change.',
    retriedCodes.has(code) && 'It may pass by itself: it is retried as often as `retry.attempts` says.',
    `A command that ends with it has exit code ${exitCode}.`,
    isOfItems && [
      '',
      '`sluice status` shows what has it, where, and what to do about it.',
      `\`sluice retry --code ${code} --manifest NAME\` retries all items that failed with it.`,
    ],
    code.startsWith('table-') && 'What `sluice check` finds: docs/reference/table-faults.md',
  ).join('\n');
};

/** The text of a topic: an example, then every key of the file. */
const topicText = (topic: (typeof helpTopics)[number]): string => {
  // Beside `src` and `dist` alike; our own file.
  const path = new URL(`../../config/${topic}.schema.json`, import.meta.url);
  const schema = JSON.parse(readFileSync(path, 'utf8')) as JsonSchema;
  return `${heads[topic]}\n\nKeys:\n\n${keysOf(schema).map(keyText).join('\n')}`;
};

/** Keys of the file; those of a portal once for each kind. */
const keysOf = (schema: JsonSchema): SchemaKey[] => {
  const portal = schema.properties?.portals?.additionalProperties || undefined;
  const kinds = (portal?.oneOf ?? portal?.anyOf ?? []).flatMap((kind) => schemaKeys(kind, 'portals.<name>.'));
  return schemaKeys(schema, '').flatMap((key) => (key.path === 'portals' ? [key, ...kinds] : [key]));
};

const keyText = ({ path, type, required, fallback, meaning, values, example }: SchemaKey): string => {
  const kind = lines(type, required && 'required', fallback !== undefined && `default ${fallback}`);
  return lines(
    `  ${path}  (${kind.join(', ')})`,
    `      ${meaning}`,
    values.length > 0 && `      one of: ${values.join(', ')}`,
    example !== undefined && example !== type && `      e.g. ${example}`,
  ).join('\n');
};

/** The part of JSON Schema that our schemas use. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | false;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

type SchemaKey = ReturnType<typeof describedKey>;

/** `path` is dotted, with list entries as `[]`, members of a mapping as `<name>`. */
const describedKey = (key: JsonSchema, path: string, required: boolean) => ({
  path,
  type: typeWords(key),
  required,
  /** As YAML in one line, as is the example; undefined without one. */
  fallback: text(key.default),
  meaning: key.description ?? '',
  /** The allowed values, where `type` does not name them. */
  values: isLong(key) ? (key.enum ?? []) : [],
  example: text(key.examples?.[0] ?? key.const),
});

/** Every key below a schema, those of nested mappings behind their parent; `prefix` stands before every path. */
export const schemaKeys = (schema: JsonSchema, prefix: string): SchemaKey[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, key]) => {
    const path = `${prefix}${name}`;
    const own = describedKey(key, path, schema.required?.includes(name) === true);
    const item = key.items && formOf(key.items);
    if (item?.properties) return [own, ...schemaKeys(item, `${path}[].`)];
    // Of values with several forms; members that are mappings alone are described in words.
    const members = key.additionalProperties || undefined;
    const member = members?.anyOf && formOf(members);
    return [own, ...(member ? schemaKeys(member, `${path}.<name>.`) : schemaKeys(formOf(key), `${path}.`))];
  });

/** Of a value with several forms the one with keys, but for the form `{file: …}` of a secret, described once for all. */
const formOf = (schema: JsonSchema): JsonSchema =>
  schema.anyOf?.find(({ properties }) => properties && Object.keys(properties).join() !== 'file') ?? schema;

const text = (value: unknown): string | undefined => (value === undefined ? undefined : flow(value));

/** A value as YAML in one line. */
const flow = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (value === null || typeof value !== 'object') return String(value);
  const items = Object.entries(value).map(([key, item]) => `${key}: ${flow(item)}`);
  return `{${items.join(', ')}}`;
};

const typeNames: Record<string, string> = { string: 'text', integer: 'integer', number: 'number', boolean: 'boolean' };

/** True when the values of a key are too many to be its type. */
const isLong = (schema: JsonSchema): boolean => (schema.enum?.length ?? 0) > 8;

const typeWords = (schema: JsonSchema): string => {
  if (schema.const !== undefined) return text(schema.const) ?? '';
  if (schema.enum !== undefined) return isLong(schema) ? 'one of a list' : schema.enum.map(String).join(' | ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeWords))].join(' or ');
  if (schema.type === 'array') return schema.items ? `list of ${typeWords(schema.items)}` : 'list';
  if (schema.format === 'uri') return 'URL';
  if (schema.format === 'email') return 'e-mail address';
  if (schema.pattern?.includes('ms|s|m|h|d')) return 'duration';
  if (schema.pattern?.includes('KMGT')) return 'size';
  const types = [schema.type ?? ''].flat().map((type) => typeNames[type] ?? 'mapping');
  return types.join(' or ');
};
