// Makes tables in tests as jobs do: in a worker thread, from a file on disk.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tableRecipeSchema } from '../../../../src/model/recipe/recipe.ts';
import { stepsSchema } from '../../../../src/model/recipe/steps.ts';
import { recipeOf } from '../../../../src/sources/gather/dataset-wish.ts';
import type { TableDetails } from '../../../../src/sources/manifest/resource-keys.ts';
import { type Prepared, type PrepareOptions, prepareTable } from '../../../../src/tables/transform/prepare.ts';
import { tempDir } from '../../../support/temp-dir.ts';

/** Details as a manifest states them; steps may be as people write them. */
export type Details = Omit<TableDetails, 'table'> & { table?: unknown[]; import?: 'auto' | 'never' };

/** What came of a source, with the text of the table and of its rejects. */
export type MadeText =
  | { kind: 'as-is'; why: string }
  | {
      kind: 'table';
      text: string;
      notes: string[];
      fixes: string[];
      warnings: string[];
      rowsIn: number;
      rowsOut: number;
      rejects: string | null;
      sha256: string;
    };

type Limits = Partial<Pick<PrepareOptions, 'tableBytes' | 'rowBytes' | 'signal' | 'silenceMs' | 'mostMs' | 'manifest'>>;

/** Makes the table of a file with this content, by the recipe that these details give. */
export const prepared = async (
  name: string,
  content: string | Buffer,
  { table, import: mode = 'auto', ...details }: Details = {},
  limits: Limits = {},
): Promise<Prepared> => {
  const dir = tempDir();
  const path = join(dir, name);
  writeFileSync(path, content);
  const steps = table === undefined ? {} : { table: stepsSchema.parse(table) };
  const found = recipeOf({ ...details, ...steps }, { kind: 'file', path, name }, mode);
  if (found === null) throw new Error(`${name} has no recipe`);
  const recipe = tableRecipeSchema.parse(JSON.parse(JSON.stringify(found))); // as it comes out of a queue
  return prepareTable({
    path,
    name,
    recipe,
    folder: join(dir, 'prepared'),
    label: 'job',
    manifest: 'city',
    rejects: join(dir, 'rejects', 'table.rejects.csv'),
    tableBytes: 1e9,
    rowBytes: 1024 * 1024,
    ...limits,
  });
};

/** As {@link prepared}, with the text. */
export const made = async (...args: Parameters<typeof prepared>): Promise<MadeText> => {
  const result = await prepared(...args);
  if (result.kind === 'as-is') return result;
  const { notes, fixes, warnings, rowsIn, rowsOut, rejects, sha256 } = result;
  const text = readFileSync(result.path, 'utf8');
  return {
    kind: 'table',
    text,
    notes,
    fixes,
    warnings,
    rowsIn,
    rowsOut,
    rejects: rejects && readFileSync(rejects, 'utf8'),
    sha256,
  };
};

/** Only the text of the table; throws when there is none. */
export const textOf = async (...args: Parameters<typeof made>): Promise<string> => {
  const result = await made(...args);
  if (result.kind !== 'table') throw new Error(result.why);
  return result.text;
};
