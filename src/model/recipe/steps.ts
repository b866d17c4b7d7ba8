// The steps that transform a table, as people write them: a list of mappings with one key each.
import { z } from 'zod';
import { isPattern, optional, scalar } from '../schema-parts.ts';
import { castSchema } from './cast.ts';
import { encodings } from './encodings.ts';
import { expressionText } from './expression.ts';

const text = z.string().min(1);
const column = text.meta({ description: 'Name of a column in the header.', examples: ['amount'] });
const columns = z.array(column).min(1);

const renames = z.record(column, text);

const headerSchema = z.strictObject({
  row: optional(z.int().positive(), {
    default: 1,
    description: 'Line of the header, from 1; lines above are skipped.',
    examples: [3],
  }),
  trim: optional(z.boolean(), { default: false, description: 'Trim and collapse spaces in names.', examples: [true] }),
  names: optional(columns, {
    description: 'Names for all columns, instead of those in the file.',
    examples: [['id', 'amount']],
  }),
  rename: optional(renames, { description: 'New names by old ones, after `trim`.', examples: [{ Betrag: 'amount' }] }),
});

const replaceSchema = z
  .strictObject({
    in: optional(columns, { description: 'Columns; all by default.', examples: [['amount']] }),
    cell: optional(z.union([scalar, z.array(scalar).min(1)]), {
      description: 'Whole cells with this value, or one of these.',
      examples: ['n/a'],
    }),
    text: optional(text, { description: 'This text anywhere in a cell.', examples: [' EUR'] }),
    pattern: optional(text, { description: 'A regular expression (JavaScript, Unicode).', examples: ['\\s+'] }),
    with: scalar.meta({ description: 'The replacement; `$1` is a group of `pattern`.', examples: [0] }),
  })
  .refine(({ cell, text: part, pattern }) => [cell, part, pattern].filter((each) => each !== undefined).length === 1, {
    error: 'needs exactly one of `cell`, `text`, `pattern`',
  })
  .refine(({ pattern }) => pattern === undefined || isPattern(pattern), {
    error: 'is not a valid regular expression',
    path: ['pattern'],
  });

const fillSchema = z
  .strictObject({
    in: columns.meta({ description: 'Columns whose empty cells are filled.', examples: [['department']] }),
    with: optional(scalar, { description: 'Value for empty cells.', examples: ['unknown'] }),
    from: optional(z.literal('above'), {
      description: 'Take the cell above, as in printed tables.',
      examples: ['above'],
    }),
  })
  .refine((fill) => (fill.with === undefined) !== (fill.from === undefined), {
    error: 'needs either `with` or `from: above`',
  });

const sortKey = z.strictObject({
  column,
  as: optional(z.enum(['text', 'number']), {
    default: 'text',
    description: 'How cells are compared; ISO dates sort as text.',
    examples: ['number'],
  }),
  order: optional(z.enum(['up', 'down']), {
    default: 'up',
    description: '`down`: the largest first.',
    examples: ['down'],
  }),
});

const splitSchema = z.strictObject({
  by: column.meta({ description: 'The column that distinguishes the resources.', examples: ['region'] }),
  values: z
    .union([z.array(scalar).min(1), z.record(z.string(), text)], {
      error: 'must be a list of values, or titles by value',
    })
    .meta({
      description: 'Its values, or titles by value. A row with another value is a bad row.',
      examples: [['North', 'South']],
    }),
  only: optional(scalar, { description: 'The value of this resource; set automatically.', examples: ['North'] }),
});

const stepShape = {
  encoding: optional(z.enum(encodings), {
    description: 'Encoding of a text file that is not UTF-8. Must come first.',
    examples: ['windows-1252'],
  }),
  delimiter: optional(z.string().regex(/^(?:tab|[^A-Za-z0-9_"'\r\n])$/, 'must be `tab` or one character'), {
    description: 'Delimiter of the cells, `tab` or one character; detected by default. Must come first.',
    examples: [';', '^'],
  }),
  skipRows: optional(z.int().nonnegative(), {
    description: 'Number of lines to skip at the top; 0: the first line is the header. Must come first.',
    examples: [3],
  }),
  header: optional(headerSchema, {
    description: 'Position and names of the header. Must come first.',
    examples: [{ row: 3 }],
  }),
  select: optional(columns, {
    description: 'Keep these columns, in this order.',
    examples: [['department', 'amount']],
  }),
  drop: optional(columns, { description: 'Leave out these columns.', examples: [['internal note']] }),
  rename: optional(renames, { description: 'New names by old ones.', examples: [{ Betrag: 'amount' }] }),
  filter: optional(expressionText, {
    description: 'Keep the rows for which this is true.',
    examples: ['amount > 0 and department != "Test"'],
  }),
  cast: optional(z.record(column, castSchema), {
    description: 'Normalise columns. Empty cells stay empty; a cell that does not fit makes its row bad.',
    examples: [{ day: { to: 'date', from: 'DD.MM.YYYY' }, amount: { to: 'number', decimal: ',' } }],
  }),
  replace: optional(replaceSchema, {
    description: 'Replace cells or text in them.',
    examples: [{ in: ['amount'], cell: 'n/a', with: 0 }],
  }),
  fill: optional(fillSchema, { description: 'Fill empty cells.', examples: [{ in: ['department'], with: 'unknown' }] }),
  dedupe: optional(columns, {
    description: 'Keep the first of rows that are equal in these columns.',
    examples: [['id']],
  }),
  constant: optional(z.record(text, scalar), {
    description: 'Columns with the same value in every row.',
    examples: [{ year: 2026 }],
  }),
  computed: optional(z.record(text, expressionText), {
    description: 'Columns computed from others.',
    examples: [{ total: 'price * pieces' }],
  }),
  sort: optional(z.array(z.union([column, sortKey])).min(1), {
    description: 'Sort the rows, on disk. Equal rows stay in their order.',
    examples: [['department']],
  }),
  split: optional(splitSchema, {
    description: 'Create a resource for each value of a column.',
    examples: [{ by: 'region', values: ['North', 'South'] }],
  }),
  transform: optional(text, {
    description: 'Custom step: path of a module, relative to the manifest.',
    examples: ['./clean.ts'],
  }),
};

/** Steps that say how the file is read; they come before all others, each once at most. */
export const inputSteps = ['encoding', 'delimiter', 'skipRows', 'header'] as const;

const stepKeys = Object.keys(stepShape);

/** One step: a mapping with exactly one key. */
const stepSchema = z
  .strictObject(stepShape)
  .refine((step) => Object.keys(step).length === 1, {
    error: `a step has exactly one key, one of ${stepKeys.join(', ')}; put a dash before each`,
  })
  .meta({ minProperties: 1, maxProperties: 1 });

/** The steps of a table in their order. */
export const stepsSchema = z.array(stepSchema).refine((steps) => startWithInput(steps), {
  error: `${inputSteps.join(', ')} say how the file is read: they come before all other steps, each once at most`,
});

export type Step = z.infer<typeof stepSchema>;

/** True where input steps come before all others, each once at most. */
const startWithInput = (steps: Step[]): boolean => {
  const isInput = (key: string): boolean => inputSteps.some((name) => name === key);
  const keys = steps.map((step) => Object.keys(step)[0] ?? '');
  const inputs = keys.filter(isInput);
  return keys.slice(0, inputs.length).every(isInput) && new Set(inputs).size === inputs.length;
};
