// Keys of a resource beyond its description: `url`, the name of its file, how its table is processed and guarded.
import { resolve } from 'node:path';
import { z } from 'zod';
import { showsType } from '../../dataset-api/file-types.ts';
import { badRowPolicies, columnPolicies, mendModes } from '../../model/policy.ts';
import { encodings } from '../../model/recipe/encodings.ts';
import { stepsSchema } from '../../model/recipe/steps.ts';
import { tableSchemaSchema } from '../../model/recipe/table-schema.ts';
import { fetchedAddress, keysOf, text } from '../../model/schema-parts.ts';
import type { TableGuard } from '../../model/table-history.ts';
import type { ResourceSource } from '../../model/wish.ts';
import { decodedPart } from '../../util/http.ts';
import { defined } from '../../util/json.ts';
import { durationMs, durationText } from '../../util/quantity.ts';

const sharePattern = /^(?:100|\d{1,2})(?:\.\d+)?%$/;

export const share = z
  .string({ error: 'must be a share such as `10%`' })
  .regex(sharePattern, { error: 'must be a share such as `10%`, from 0% to 100%' });

export const shareOf = (text: string): number => Number.parseFloat(text) / 100;

/** What is read of a value; undefined where it is not given. */
export const ifGiven = <T, R>(value: T | undefined, read: (value: T) => R): R | undefined =>
  value === undefined ? undefined : read(value);

const shareOrCountRule = 'must be a share such as `0.5%`, from 0% to 100%, or a number of rows';
const shareOrCount = z.union([z.string().regex(sharePattern, { error: shareOrCountRule }), z.int().nonnegative()], {
  error: shareOrCountRule,
});

const shape = keysOf(
  {
    encoding: [
      z.enum(encodings),
      'Encoding of a text table that is not UTF-8, as the step of that name.',
      'windows-1250',
    ],
    skipRows: [z.int().nonnegative(), 'Lines to skip above the header, as the step of that name.', 2],
    mend: [
      z.enum(mendModes),
      '`safe` fixes faults of a text table that have only one possible fix; nothing is guessed.',
      'safe',
    ],
    key: [
      z.array(text).min(1),
      'Columns that tell rows apart, to know which of them changed; by default the first that can.',
      ['id'],
    ],
    table: [
      stepsSchema,
      'Steps that transform the table, in order; the result is sent as CSV.',
      [{ skipRows: 2 }, { select: ['department', 'amount'] }],
    ],
    sheet: [
      z.union([text, z.int().positive()], { error: 'must be the name of a sheet, or its number from 1' }),
      'Sheet of an `.xlsx` file that has several.',
      'Spending',
    ],
    member: [text, 'File in a `.zip` archive that holds several tables.', 'data/spending.csv'],
    badRows: [
      z.enum(badRowPolicies),
      'What to do with bad rows: `quarantine` writes them to a file and publishes the rest, `skip` drops them.',
      'quarantine',
    ],
    maxBadRows: [shareOrCount, 'Share or number of bad rows beyond which nothing is published.', '2%'],
  },
  { mend: 'off', badRows: 'fail', maxBadRows: '0.5%' },
);

export const tableShape = {
  ...shape,
  ...keysOf({
    schema: [
      z.union([text, tableSchemaSchema]),
      'Frictionless Table Schema to validate against: a mapping, or a JSON file.',
      'budget.schema.json',
    ],
  }),
};

/** As {@link tableShape}, for a file that lies beside dropped data: it may not name files, which could hold code. */
export const droppedTableShape = {
  ...shape,
  table: stepsSchema
    .refine((steps) => steps.every((step) => step.transform === undefined), {
      error: '`transform` runs code: it is only allowed in the manifest',
    })
    .refine((steps) => steps.every((step) => step.split === undefined), {
      error: '`split` creates several resources: it is only allowed in a manifest with `datasets`',
    })
    .exactOptional(),
  schema: tableSchemaSchema.exactOptional(),
};

export type TableDetails = z.infer<z.ZodObject<typeof tableShape>>;

export const resolveTable = <Details extends TableDetails>(details: Details, dir: string): Details => {
  const { schema, table } = details;
  const steps = table?.map((step) => (step.transform ? { transform: resolve(dir, step.transform) } : step));
  const path = typeof schema === 'string' ? resolve(dir, schema) : undefined;
  return { ...details, ...defined({ table: steps, schema: path }) };
};

export const tableGuardShape = keysOf(
  {
    rows: [share, 'Holds a table with this share fewer or more rows than the live version.', '20%'],
    columns: [
      z.enum(columnPolicies),
      'Holds a table with a lost, renamed or retyped column; `keep` also one with a new column.',
      'grow',
    ],
    nulls: [share, 'Holds a table in which a column lost this share of its values.', '50%'],
    maxChangedRows: [
      share,
      'Holds a table of which a larger share of the rows of the live version was added, removed or changed.',
      '20%',
    ],
    same: [durationText, 'Reports a table without new data for this long.', '30d'],
  },
  { columns: 'any' },
);

export const tableGuardFileSchema = z.strictObject(tableGuardShape);

type TableGuardFile = z.infer<typeof tableGuardFileSchema>;

export const mergedGuard = <Details extends { guard?: TableGuardFile }>(defaults: Details, own: Details): Details =>
  defaults.guard === undefined || own.guard === undefined
    ? own
    : { ...own, guard: { ...defaults.guard, ...own.guard } };

/** A guard as it is wanted; null for one without limits. */
export const guardOf = ({ rows, columns, nulls, maxChangedRows, same }: TableGuardFile = {}): TableGuard | null => {
  const guard = defined({
    rows: ifGiven(rows, shareOf),
    columns: columns === 'any' ? undefined : columns,
    nulls: ifGiven(nulls, shareOf),
    maxChangedRows: ifGiven(maxChangedRows, shareOf),
    sameMs: ifGiven(same, durationMs),
  });
  return Object.keys(guard).length === 0 ? null : guard;
};

export const urlShape = keysOf({
  url: [
    fetchedAddress,
    'Address of a file to fetch instead of a local one; fetched again when it changes.',
    'https://example.org/spending.csv',
  ],
  name: [
    z.string().regex(/^(?!\.{1,2}$)[^/\\\p{Cc}]{1,200}$/u, {
      error: 'must be a file name without folders, such as `spending.csv`',
    }),
    'File name on the portal, for a `url`; by default from the address or the server.',
    'spending.csv',
  ],
});

export const urlSource = (url: string, name: string | undefined): ResourceSource => {
  if (name !== undefined) return { kind: 'url', url, name, isNamed: true };
  const part = decodedPart(URL.parse(url)?.pathname.split('/').at(-1) ?? '');
  const last = part.replace(/[/\\\p{Cc}]/gu, '_') || 'file';
  return { kind: 'url', url, name: last, isNamed: showsType(last) };
};
