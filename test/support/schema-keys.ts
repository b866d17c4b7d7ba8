// Every key of a zod schema, for tests that compare it with files and pages.
import { z } from 'zod';

interface JsonNode {
  default?: unknown;
  properties?: Record<string, JsonNode>;
  items?: JsonNode;
  additionalProperties?: JsonNode | boolean;
  anyOf?: JsonNode[];
  oneOf?: JsonNode[];
}

/** A key with its default. */
export interface SchemaKey {
  /** Dotted; list entries as `[]`, members of a record as `<name>`, kinds of a union as `|0`, `|1`. */
  key: string;
  value: unknown;
}

/** All keys of `schema` that people can write, in its order. */
export const schemaKeys = (schema: z.ZodType): SchemaKey[] =>
  walk(z.toJSONSchema(schema, { io: 'input' }) as JsonNode, '');

const walk = (node: JsonNode, path: string): SchemaKey[] => {
  const own = Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const key = path === '' ? name : `${path}.${name}`;
    return [{ key, value: child.default }, ...walk(child, key)];
  });
  const members =
    typeof node.additionalProperties === 'object' ? walk(node.additionalProperties, `${path}.<name>`) : [];
  const kinds = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
  const mappings = kinds.filter((kind) => kind.properties !== undefined);
  const inner = kinds.flatMap((kind, index) => walk(kind, mappings.length > 1 ? `${path}|${index}` : path));
  return [...own, ...members, ...(node.items ? walk(node.items, `${path}[]`) : []), ...inner];
};
