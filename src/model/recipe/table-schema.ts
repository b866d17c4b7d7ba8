// The part of the Frictionless Table Schema that tables are checked against.
import { z } from 'zod';
import { isPattern, keysOf, needed, scalar } from '../schema-parts.ts';
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

const texts = z.array(z.string()).min(1);
const length = z.int().nonnegative();
const pattern = z.string().refine(isPattern, { error: 'is not a valid regular expression' });

const constraintsSchema = z.looseObject(
  keysOf({
    required: [z.boolean(), 'No cell may be empty.', true],
    unique: [z.boolean(), 'Values must be unique.', true],
    enum: [z.array(scalar).min(1), 'The values that are allowed.', ['open', 'closed']],
    pattern: [pattern, 'Regular expression that the whole cell matches.', '[A-Z]{2}-\\d+'],
    minimum: [bound, 'Least number, date or time.', 0],
    maximum: [bound, 'Largest number, date or time.', '2026-12-31'],
    minLength: [length, 'Least number of characters.', 2],
    maxLength: [length, 'Most characters.', 200],
  }),
);

const fieldSchema = z
  .looseObject({
    name: needed(z.string().min(1), 'Name of a column after all steps.', 'amount'),
    ...keysOf(
      {
        type: [z.enum(fieldTypes), 'Type of the cells.', 'number'],
        format: [z.string().min(1), 'Format of dates and times; `email`, `uri` or `uuid` for text.', '%d.%m.%Y'],
        constraints: [constraintsSchema, 'Constraints on the cells.', { required: true }],
        trueValues: [texts, 'Values that mean true.', ['yes']],
        falseValues: [texts, 'Values that mean false.', ['no']],
        decimalChar: [decimalMark, 'Decimal mark of numbers.', ','],
        groupChar: [groupMark, 'Digit group separator of numbers.', '.'],
      },
      { type: 'any', decimalChar: '.' },
    ),
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
  fields: needed(z.array(fieldSchema).min(1), 'The columns that are checked.', [{ name: 'id', type: 'integer' }]),
  ...keysOf({
    missingValues: [z.array(z.string()), 'Values that count as missing; the empty cell by default.', ['', 'n/a']],
    primaryKey: [z.union([z.string(), texts]), 'Columns that are unique together and never empty.', ['id']],
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
