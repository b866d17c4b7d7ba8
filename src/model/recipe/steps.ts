// The steps that transform a table, as people write them: a list of mappings with one key each.
import { z } from 'zod';
import { isPattern, keysOf, needed, scalar } from '../schema-parts.ts';
import { castSchema } from './cast.ts';
import { encodings } from './encodings.ts';
import { expressionText } from './expression.ts';

const text = z.string().min(1);
const column = needed(text, 'Name of a column in the header.', 'amount');
const columns = z.array(column).min(1);

const pattern = text.refine(isPattern, { error: 'is not a valid regular expression' });
const renames = z.record(column, text);

const headerSchema = z.strictObject(
  keysOf(
    {
      row: [z.int().positive(), 'Line of the header, from 1; lines above are skipped.', 3],
      trim: [z.boolean(), 'Trim and collapse spaces in names.', true],
      names: [columns, 'Names for all columns, instead of those in the file.', ['id', 'amount']],
      rename: [renames, 'New names by old ones, after `trim`.', { Betrag: 'amount' }],
    },
    { row: 1, trim: false },
  ),
);

const replaceSchema = z
  .strictObject({
    ...keysOf({
      in: [columns, 'Columns; all by default.', ['amount']],
      cell: [z.union([scalar, z.array(scalar).min(1)]), 'Whole cells with this value, or one of these.', 'n/a'],
      text: [text, 'This text anywhere in a cell.', ' EUR'],
      pattern: [pattern, 'A regular expression (JavaScript, Unicode).', '\\s+'],
    }),
    with: needed(scalar, 'The replacement; `$1` is a group of `pattern`.', 0),
  })
  .refine(({ cell, text: part, pattern }) => [cell, part, pattern].filter((each) => each !== undefined).length === 1, {
    error: 'needs exactly one of `cell`, `text`, `pattern`',
  });

const fillSchema = z
  .strictObject({
    in: needed(columns, 'Columns whose empty cells are filled.', ['department']),
    ...keysOf({
      with: [scalar, 'Value for empty cells.', 'unknown'],
      from: [z.literal('above'), 'Take the cell above, as in printed tables.', 'above'],
    }),
  })
  .refine((fill) => (fill.with === undefined) !== (fill.from === undefined), {
    error: 'needs either `with` or `from: above`',
  });

const sortKey = z.strictObject({
  column,
  ...keysOf(
    {
      as: [z.enum(['text', 'number']), 'How cells are compared; ISO dates sort as text.', 'number'],
      order: [z.enum(['up', 'down']), '`down`: the largest first.', 'down'],
    },
    { as: 'text', order: 'up' },
  ),
});

const splitValues = z.union([z.array(scalar).min(1), z.record(z.string(), text)], {
  error: 'must be a list of values, or titles by value',
});

const splitSchema = z.strictObject({
  by: needed(column, 'The column that distinguishes the resources.', 'region'),
  values: needed(splitValues, 'Its values, or titles by value. A row with another value is a bad row.', [
    'North',
    'South',
  ]),
  ...keysOf({ only: [scalar, 'The value of this resource; set automatically.', 'North'] }),
});

const stepShape = keysOf({
  encoding: [z.enum(encodings), 'Encoding of a text file that is not UTF-8. Must come first.', 'windows-1252'],
  delimiter: [
    z.string().regex(/^(?:tab|[^A-Za-z0-9_"'\r\n])$/, 'must be `tab` or one character'),
    'Delimiter of the cells, `tab` or one character; detected by default. Must come first.',
    ';',
  ],
  skipRows: [
    z.int().nonnegative(),
    'Number of lines to skip at the top; 0: the first line is the header. Must come first.',
    3,
  ],
  header: [headerSchema, 'Position and names of the header. Must come first.', { row: 3 }],
  select: [columns, 'Keep these columns, in this order.', ['department', 'amount']],
  drop: [columns, 'Leave out these columns.', ['internal note']],
  rename: [renames, 'New names by old ones.', { Betrag: 'amount' }],
  filter: [expressionText, 'Keep the rows for which this is true.', 'amount > 0 and department != "Test"'],
  cast: [
    z.record(column, castSchema),
    'Normalise columns. Empty cells stay empty; a cell that does not fit makes its row bad.',
    { day: { to: 'date', from: 'DD.MM.YYYY' }, amount: { to: 'number', decimal: ',' } },
  ],
  replace: [replaceSchema, 'Replace cells or text in them.', { in: ['amount'], cell: 'n/a', with: 0 }],
  fill: [fillSchema, 'Fill empty cells.', { in: ['department'], with: 'unknown' }],
  dedupe: [columns, 'Keep the first of rows that are equal in these columns.', ['id']],
  constant: [z.record(text, scalar), 'Columns with the same value in every row.', { year: 2026 }],
  computed: [z.record(text, expressionText), 'Columns computed from others.', { total: 'price * pieces' }],
  sort: [
    z.array(z.union([column, sortKey])).min(1),
    'Sort the rows, on disk. Equal rows stay in their order.',
    ['department'],
  ],
  split: [splitSchema, 'Create a resource for each value of a column.', { by: 'region', values: ['North', 'South'] }],
  transform: [text, 'Custom step: path of a module, relative to the manifest.', './clean.ts'],
});

/** Steps that say how the file is read; they come before all others, each once at most. */
export const inputSteps = ['encoding', 'delimiter', 'skipRows', 'header'] as const;

const stepKeys = Object.keys(stepShape);

const stepSchema = z
  .strictObject(stepShape)
  .refine((step) => Object.keys(step).length === 1, {
    error: `a step has exactly one key, one of ${stepKeys.join(', ')}; put a dash before each`,
  })
  .meta({ minProperties: 1, maxProperties: 1 });

export const stepsSchema = z.array(stepSchema).refine((steps) => startWithInput(steps), {
  error: `${inputSteps.join(', ')} say how the file is read: they come before all other steps, each once at most`,
});

export type Step = z.infer<typeof stepSchema>;

const startWithInput = (steps: Step[]): boolean => {
  const isInput = (key: string): boolean => inputSteps.some((name) => name === key);
  const keys = steps.map((step) => Object.keys(step)[0] ?? '');
  const inputs = keys.filter(isInput);
  return keys.slice(0, inputs.length).every(isInput) && new Set(inputs).size === inputs.length;
};
