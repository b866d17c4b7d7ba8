// The recipe of a table: how its source is read, the steps, the policy for bad rows, the schema.
import { z } from 'zod';
import { badRowPolicies } from '../policy.ts';
import { stepsSchema } from './steps.ts';
import { tableSchemaSchema } from './table-schema.ts';

export const tableRecipeSchema = z.object({
  /** sha256 (hex) over everything below, and over the bytes of the modules it names. */
  fingerprint: z.string(),
  /** False where no steps were given and the file is only converted to CSV; one that is not a table is then sent as it is. */
  asked: z.boolean(),
  /** Name or number (from 1) of a sheet of a workbook; null for the only one. */
  sheet: z.union([z.string(), z.number()]).nullable(),
  /** Path of a file in an archive; null for the only table. */
  member: z.string().nullable(),
  /** Paths of modules are absolute. */
  steps: stepsSchema,
  badRows: z.enum(badRowPolicies),
  /** A share of the rows (0 to 1) or a number of them, beyond which nothing is published. */
  maxBadRows: z.union([z.object({ share: z.number() }), z.object({ rows: z.number().int() })]),
  schema: tableSchemaSchema.nullable(),
  /** Text is fixed first, as far as evidence decides. */
  mend: z.literal('safe').exactOptional(),
  /** Why the recipe cannot be followed: a schema file or module that cannot be read. */
  fault: z.string().nullable(),
});

export type TableRecipe = z.infer<typeof tableRecipeSchema>;

/** True for files that the datastore imports. */
export const isTabular = (name: string): boolean => /\.(csv|tsv)$/i.test(name);

const convertible =
  /(?:\.(?:csv|tsv|txt|tab|ndjson|jsonl|json)\.gz|\.(?:zip|xls[xm]|txt|tab|ndjson|jsonl|json|geojson))$/i;

/** True for files that are converted to CSV even without steps, where they hold one table. */
export const isConvertible = (name: string): boolean => convertible.test(name);

/** True for names of text that may be anything, so that the text has to prove that it is a table. */
export const isAnyText = (name: string): boolean => /\.(?:txt|tab)(?:\.gz)?$/i.test(name);

/** True for files that hold tables which nothing here reads. */
export const isUnread = (name: string): boolean => /\.(?:xlsb?|f?ods|numbers|parquet)$/i.test(name);

/** Endings that `.csv` replaces once the file was converted. */
const tableEndings = /(?:\.(?:csv|tsv|txt|tab|ndjson|jsonl|json|geojson)(?:\.gz)?|\.gz|\.zip|\.xls[xm])$/i;

/** Name of the CSV that is made of a file: `budget.xlsx` and `budget.csv.gz` give `budget.csv`. */
export const preparedName = (name: string): string => `${name.replace(tableEndings, '') || 'table'}.csv`;
