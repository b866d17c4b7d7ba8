// Casts: one notation for the numbers, dates and booleans in the cells of a column.
import { z } from 'zod';
import { keysOf, needed, scalar } from '../schema-parts.ts';
import { dateFormat, dateFormatFault, isoFormats } from './date-format.ts';

const castTypes = ['text', 'integer', 'number', 'boolean', 'date', 'datetime', 'time'] as const;

type CastType = (typeof castTypes)[number];

export const decimalMark = z.enum(['.', ',']);
export const groupMark = z.enum(['.', ',', ' ', "'"]);

const format = z.string().min(1);
const formats = z.union([format, z.array(format).min(1)]);
const values = z.array(scalar).min(1);

const castObject = z
  .strictObject({
    to: needed(z.enum(castTypes), 'Type to convert to.', 'date'),
    ...keysOf(
      {
        from: [formats, 'Format of dates and times in the file, or several to try in order.', 'DD.MM.YYYY'],
        decimal: [decimalMark, 'Decimal mark of numbers in the file.', ','],
        group: [groupMark, 'Digit group separator of numbers in the file; none by default.', '.'],
        true: [values, 'Values that mean true.', ['ja']],
        false: [values, 'Values that mean false.', ['nein']],
      },
      { decimal: '.' },
    ),
  })
  .refine(({ decimal = '.', group }) => decimal !== group, { error: '`decimal` and `group` must differ' })
  .superRefine(({ to, from }, context) => {
    if (from === undefined) return;
    if (to !== 'date' && to !== 'datetime' && to !== 'time') {
      context.addIssue({ code: 'custom', path: ['from'], message: `is a notation of dates; \`${to}\` has none` });
      return;
    }
    for (const each of typeof from === 'string' ? [from] : from) {
      const fault = dateFormatFault(each, to);
      if (fault !== null) context.addIssue({ code: 'custom', path: ['from'], message: fault });
    }
  });

/** The type alone; which words are types is checked after the union, so that a wrong one is reported by name. */
const castName = z.string().meta({ enum: [...castTypes] }) as unknown as z.ZodType<CastType, string>; // ensured by the check after the union

/** One cast as people write it: the type alone, or a mapping. */
export const castSchema = z.union([castName, castObject]).superRefine((cast, context) => {
  if (typeof cast !== 'string' || castTypes.includes(cast)) return;
  context.addIssue({ code: 'custom', message: `must be one of ${castTypes.join(', ')}, or a mapping with \`to\`` });
});

/** A compiled cast: the new text of a cell that is not empty, or null when it does not fit. */
export type CastCell = (cell: string) => string | null;

/** Compiles a cast. Digits are never lost: numbers are rewritten as text, not computed. */
export const compileCast = (cast: z.infer<typeof castSchema>): CastCell => {
  const wanted: Cast = typeof cast === 'string' ? { to: cast } : cast;
  const { to } = wanted;
  switch (to) {
    case 'text':
      return (cell) => cell;
    case 'integer':
    case 'number':
      return numberCast(wanted);
    case 'boolean':
      return booleanCast(wanted.true?.map(String), wanted.false?.map(String));
    default: {
      const formats = [wanted.from ?? isoFormats[to]].flat().map((format) => dateFormat(format, to));
      return (cell) => {
        const text = cell.trim();
        for (const read of formats) {
          const iso = read(text);
          if (iso !== null) return iso;
        }
        return null;
      };
    }
  }
};

type Cast = z.infer<typeof castObject>;

const numberCast = ({ to, decimal = '.', group }: Pick<Cast, 'to' | 'decimal' | 'group'>): CastCell => {
  const mark = decimal === '.' ? '\\.' : ',';
  const space = '[ \\u00a0\\u202f]';
  const groups = group === undefined ? null : group === ' ' ? space : group === '.' ? '\\.' : group;
  const grouped = groups === null ? null : new RegExp(`^[+-]?\\d{1,3}(?:${groups}\\d{3})+(?:${mark}\\d+)?$`);
  const grouping = groups === null ? null : new RegExp(groups, 'g');
  return (cell) => {
    let text = cell.trim();
    if (grouped !== null && grouping !== null && grouped.test(text)) text = text.replaceAll(grouping, '');
    if (decimal === ',') {
      if (text.includes('.')) return null;
      text = text.replace(',', '.');
    }
    const found = /^([+-]?)(\d+)(\.\d+)?([eE][+-]?\d+)?$/.exec(text);
    if (found === null) return null;
    const [, sign = '', digits = '', fraction = '', exponent = ''] = found;
    if (to === 'integer' && (exponent !== '' || /[1-9]/.test(fraction))) return null;
    return `${sign === '-' ? '-' : ''}${digits.replace(/^0+(?=\d)/, '')}${to === 'integer' ? '' : fraction}${exponent}`;
  };
};

const booleanCast = (yes = ['true', '1', 'yes'], no = ['false', '0', 'no']): CastCell => {
  const meant = new Map([
    ...yes.map((word) => [word.toLowerCase(), 'true'] as const),
    ...no.map((word) => [word.toLowerCase(), 'false'] as const),
  ]);
  return (cell) => meant.get(cell.trim().toLowerCase()) ?? null;
};
