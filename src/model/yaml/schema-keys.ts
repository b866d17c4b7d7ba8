// The keys that a zod schema knows at a place of a document.
import type { z } from 'zod';
import type { Path } from './document.ts';

type AnySchema = z.core.$ZodTypes;

/** Names of the keys that `schema` allows in the mapping at `path`; `root` tells which kind of a union is meant. */
export const knownKeys = (schema: z.ZodType, path: Path, root: unknown): string[] => {
  let here: AnySchema | undefined = plain(schema, root);
  let value = root;
  for (const step of path) {
    value = value !== null && typeof value === 'object' ? Reflect.get(value, step) : undefined;
    here = stepInto(here, step, value);
  }
  return here?._zod.def.type === 'object' ? Object.keys(here._zod.def.shape) : [];
};

const stepInto = (schema: AnySchema | undefined, step: PropertyKey, value: unknown): AnySchema | undefined => {
  const def = schema?._zod.def;
  if (def?.type === 'object') {
    const inner = def.shape[String(step)];
    return inner && plain(inner, value);
  }
  if (def?.type === 'array') return plain(def.element, value);
  if (def?.type === 'record') return plain(def.valueType, value);
  return undefined;
};

/** Takes off `optional`, `default` and the like, and picks the member of a union that fits `value`. */
const plain = (schema: z.core.$ZodType, value: unknown): AnySchema | undefined => {
  // Every class of zod's own is in $ZodTypes; the base type does not say so.
  const typed = schema as AnySchema;
  const def = typed._zod.def;
  if ('innerType' in def) return plain(def.innerType, value);
  if (def.type === 'pipe') return plain(def.in, value);
  if (def.type !== 'union') return typed;
  const members = def.options.map((option) => plain(option, value)).filter((member) => member !== undefined);
  return (
    members.find((member) => accepts(member, value)) ?? members.find((member) => member._zod.def.type === 'object')
  );
};

/** True for the member of a discriminated union whose fixed values `value` holds. */
const accepts = (member: AnySchema, value: unknown): boolean => {
  if (member._zod.def.type !== 'object' || value === null || typeof value !== 'object') return false;
  return Object.entries(member._zod.propValues ?? {}).every(([key, values]) => values.has(Reflect.get(value, key)));
};
