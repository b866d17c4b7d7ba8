// The part of the Frictionless Table Schema that tables are checked against.
import { z } from 'zod';
import { isPattern, optional } from '../schema-parts.ts';
import { decimalMark, groupMark } from './cast.ts';
import { dateFormatFault } from './date-format.ts';

const fieldTypes = [
  'string',
  'number',
  'integer',
  'boolean',
  'date',
  'datetime',
  'time',
  'year',
  'yearmonth',
  'any',
] as const;

const bound = z.union([z.number(), z.string()], { error: 'must be a number, or a date in quotes' });

const constraintsSchema = z.looseObject({
  required: optional(z.boolean(), { description: 'No cell may be empty.', examples: [true] }),
  unique: optional(z.boolean(), { description: 'Values must be unique.', examples: [true] }),
  enum: optional(z.array(z.union([z.string(), z.number(), z.boolean()])).min(1), {
    description: 'The values that are allowed.',
    examples: [['open', 'closed']],
  }),
  pattern: optional(z.string().refine(isPattern, { error: 'is not a valid regular expression' }), {
    description: 'Regular expression that the whole cell matches.',
    examples: ['[A-Z]{2}-\\d+'],
  }),
  minimum: optional(bound, { description: 'Least number, date or time.', examples: [0] }),
  maximum: optional(bound, { description: 'Largest number, date or time.', examples: ['2026-12-31'] }),
  minLength: optional(z.int().nonnegative(), { description: 'Least number of characters.', examples: [2] }),
  maxLength: optional(z.int().nonnegative(), { description: 'Most characters.', examples: [200] }),
});

const fieldSchema = z
  .looseObject({
    name: z
      .string()
      .min(1)
      .meta({ description: 'Name of a column after all steps.', examples: ['amount'] }),
    type: optional(z.enum(fieldTypes), { default: 'any', description: 'Type of the cells.', examples: ['number'] }),
    format: optional(z.string().min(1), {
      description: 'Format of dates and times; `email`, `uri` or `uuid` for text.',
      examples: ['%d.%m.%Y'],
    }),
    constraints: optional(constraintsSchema, {
      description: 'Constraints on the cells.',
      examples: [{ required: true }],
    }),
    trueValues: optional(z.array(z.string()).min(1), { description: 'Values that mean true.', examples: [['yes']] }),
    falseValues: optional(z.array(z.string()).min(1), { description: 'Values that mean false.', examples: [['no']] }),
    decimalChar: decimalMark('Decimal mark of numbers.'),
    groupChar: groupMark('Digit group separator of numbers.'),
  })
  .superRefine(({ type, format }, context) => {
    if (format === undefined || (type !== 'date' && type !== 'datetime' && type !== 'time')) return;
    if (format === 'default') return;
    const fault =
      format === 'any' ? '`any` would be a guess; name the notation, such as `%d.%m.%Y`' : formatFault(format, type);
    if (fault !== null) context.addIssue({ code: 'custom', path: ['format'], message: fault });
  });

/** A Table Schema: the fields of a table, what may be missing, and what identifies a row. */
export const tableSchemaSchema = z.looseObject({
  fields: z
    .array(fieldSchema)
    .min(1)
    .meta({ description: 'The columns that are checked.', examples: [[{ name: 'id', type: 'integer' }]] }),
  missingValues: optional(z.array(z.string()), {
    description: 'Values that count as missing; the empty cell by default.',
    examples: [['', 'n/a']],
  }),
  primaryKey: optional(z.union([z.string(), z.array(z.string()).min(1)]), {
    description: 'Columns that are unique together and never empty.',
    examples: [['id']],
  }),
});

export type TableSchema = z.infer<typeof tableSchemaSchema>;

export type FieldSchema = TableSchema['fields'][number];

const directives: Record<string, string> = {
  Y: 'YYYY',
  y: 'YY',
  m: 'MM',
  d: 'DD',
  b: 'MMM',
  B: 'MMMM',
  H: 'HH',
  I: 'hh',
  M: 'mm',
  S: 'ss',
  f: 'S',
  p: 'A',
  z: 'Z',
};

const directivePattern = /%([A-Za-z%])/g;

const formatFault = (format: string, type: 'date' | 'datetime' | 'time'): string | null => {
  const unknown = [...format.matchAll(directivePattern)].find(
    ([, letter = '']) => letter !== '%' && !(letter in directives),
  );
  if (unknown !== undefined) return `\`${unknown[0]}\` is not supported`;
  return dateFormatFault(notationOf(format), type);
};

/** A format of the Table Schema (`%d.%m.%Y`) as a notation of ours (`DD.MM.YYYY`). */
export const notationOf = (format: string): string =>
  format
    .split(directivePattern)
    .map((part, index) => {
      if (index % 2 === 0) return part === '' || !/[A-Za-z]/.test(part) ? part : `[${part}]`;
      return part === '%' ? '%' : (directives[part] ?? '');
    })
    .join('');
