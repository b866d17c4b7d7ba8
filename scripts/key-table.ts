// A Markdown table of the keys of a JSON Schema.

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

/** One row per key, those of nested mappings below their parent; `prefix` stands before every key. */
export const keyTable = (schema: JsonSchema, prefix: string): string =>
  ['| Key | Type | Default | Meaning | Example |', '|---|---|---|---|---|', ...rows(schema, prefix)].join('\n');

const rows = (schema: JsonSchema, prefix: string): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, key]) => {
    const path = `${prefix}${name}`;
    const fallback = schema.required?.includes(name) ? 'required' : code(key.default);
    const example = code(key.examples?.[0] ?? key.const);
    const row = `| \`${path}\` | ${typeWords(key)} | ${fallback} | ${cell(key.description ?? '')} | ${example} |`;
    const item = key.items && formOf(key.items);
    if (item?.properties) return [row, ...rows(item, `${path}[].`)];
    // Of values with several forms; members that are mappings alone are told in words.
    const members = key.additionalProperties || undefined;
    const member = members?.anyOf && formOf(members);
    return [row, ...(member ? rows(member, `${path}.<name>.`) : rows(formOf(key), `${path}.`))];
  });

/** Of a value with several forms the one with keys. */
const formOf = (schema: JsonSchema): JsonSchema =>
  schema.anyOf?.find(({ properties }) => properties && !isSecret(properties)) ?? schema;

/** The form `{file: …}` of a secret, which the page tells once for all. */
const isSecret = (properties: Record<string, JsonSchema>): boolean => Object.keys(properties).join() === 'file';

const code = (value: unknown): string =>
  value === undefined ? '–' : cell(`\`${typeof value === 'string' ? value : flow(value)}\``);

/** A value as YAML in one line. */
const flow = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (value === null || typeof value !== 'object') return String(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${key}: ${flow(item)}`)
    .join(', ')}}`;
};

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const simpleTypes: Record<string, string> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  object: 'mapping',
};

const typeWords = (schema: JsonSchema): string => {
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined)
    return schema.enum.length > 8 ? 'one of a list, see below' : schema.enum.map(code).join(', ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeWords))].join(' or ');
  if (schema.type === 'array') return schema.items ? `list: ${typeWords(schema.items)}` : 'list';
  if (schema.format === 'uri') return 'address';
  if (schema.format === 'email') return 'e-mail address';
  if (schema.pattern?.includes('ms|s|m|h|d')) return 'duration';
  if (schema.pattern?.includes('KMGT')) return 'size';
  const types = [schema.type ?? ''].flat().map((type) => simpleTypes[type] ?? 'mapping');
  return types.join(' or ');
};
