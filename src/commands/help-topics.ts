// `sluice help manifest` and `sluice help config`: the formats of the two files that people write.
import { readFileSync } from 'node:fs';
import { type JsonSchema, type SchemaKey, schemaKeys } from './schema-keys.ts';

/** Names of the topics. */
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

/** The text of a topic: an example, then every key of the file. */
export const topicText = (topic: (typeof helpTopics)[number]): string => {
  // Beside `src` and `dist` alike; our own file.
  const path = new URL(`../../config/${topic}.schema.json`, import.meta.url);
  const schema = JSON.parse(readFileSync(path, 'utf8')) as JsonSchema;
  return `${heads[topic]}\n\nKeys:\n\n${keysOf(schema).map(keyText).join('\n')}\n`;
};

/** Keys of the file; those of a portal once for each kind. */
const keysOf = (schema: JsonSchema): SchemaKey[] => {
  const portal = schema.properties?.portals?.additionalProperties || undefined;
  const kinds = (portal?.oneOf ?? portal?.anyOf ?? []).flatMap((kind) => schemaKeys(kind, 'portals.<name>.'));
  return schemaKeys(schema, '').flatMap((key) => (key.path === 'portals' ? [key, ...kinds] : [key]));
};

const keyText = ({ path, type, required, fallback, meaning, values, example }: SchemaKey): string => {
  const kind = [type, ...(required ? ['required'] : []), ...(fallback === undefined ? [] : [`default ${fallback}`])];
  const lines = [
    `  ${path}  (${kind.join(', ')})`,
    `      ${meaning}`,
    ...(values.length > 0 ? [`      one of: ${values.join(', ')}`] : []),
    ...(example === undefined || example === type ? [] : [`      e.g. ${example}`]),
  ];
  return lines.join('\n');
};
