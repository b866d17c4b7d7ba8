// The recipe of a resource: what its details ask to be done to its table.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sayingOf } from '../../model/errors.ts';
import { isConvertible, type TableRecipe } from '../../model/recipe/recipe.ts';
import { type TableSchema, tableSchemaSchema } from '../../model/recipe/table-schema.ts';
import type { ResourceSource } from '../../model/wish.ts';
import type { TableDetails } from '../manifest/table-schema.ts';

/** Changes whenever the same recipe gives other bytes, so that what was sent before is made anew. */
const version = 1;

/** Bad rows beyond this share are a fault of the file unless the manifest says otherwise. */
const defaultMaxBadRows = '0.5%';

/**
 * The recipe for a resource, or null when its file is sent as it is. A schema file and modules are read here, because they
 * are part of the fingerprint; one that cannot be read is the fault of that one resource, told by its job.
 */
export const recipeOf = (details: TableDetails, source: ResourceSource, mode: 'auto' | 'never'): TableRecipe | null => {
  if (!('name' in source)) return null;
  const { table: steps = [], sheet = null, member = null, badRows = 'fail', maxBadRows = defaultMaxBadRows } = details;
  const asked =
    steps.length > 0 || sheet !== null || member !== null || details.schema !== undefined || badRows !== 'fail';
  if (!asked && (mode === 'never' || !isConvertible(source.name))) return null;
  const faults: string[] = [];
  const schema = schemaOf(details.schema, faults);
  const modules = steps.flatMap(({ transform }) => (transform === undefined ? [] : [hashOf(transform, faults)]));
  const recipe = { asked, sheet, member, steps, badRows, maxBadRows: limitOf(maxBadRows), schema };
  const fingerprint = createHash('sha256')
    .update(JSON.stringify({ version, ...recipe, modules }))
    .digest('hex');
  return { fingerprint, ...recipe, fault: faults[0] ?? null };
};

const limitOf = (limit: string | number): TableRecipe['maxBadRows'] =>
  typeof limit === 'number' ? { rows: limit } : { share: Number.parseFloat(limit) / 100 };

const schemaOf = (schema: TableDetails['schema'], faults: string[]): TableSchema | null => {
  if (typeof schema !== 'string') return schema ?? null;
  try {
    const parsed = tableSchemaSchema.safeParse(JSON.parse(readFileSync(schema, 'utf8')));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    faults.push(`${schema} is no Table Schema: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  } catch (error) {
    faults.push(`${schema} cannot be read as JSON: ${sayingOf(error)}`);
  }
  return null;
};

const hashOf = (path: string, faults: string[]): string => {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch (error) {
    faults.push(`the module ${path} cannot be read: ${sayingOf(error)}`);
    return '';
  }
};
