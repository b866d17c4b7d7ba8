// Checks every cell of a table against a Table Schema.
import { TableStepError } from '../../../model/errors.ts';
import { type CastCell, compileCast } from '../../../model/recipe/cast.ts';
import { type FieldSchema, notationOf, type TableSchema } from '../../../model/recipe/table-schema.ts';
import { plural } from '../../../util/plural.ts';
import { inColumn, inRow, placeOf, type RowStep, type StepTools, shown, type Violation } from '../row.ts';
import { type SeenKeys, seenKeysAt } from './rows.ts';

/** A check of one column: what is wrong with a cell, or null. */
type CellCheck = (cell: string) => string | null;

/** The step that rejects rows that violate a schema. Cells stay as they are. */
export const schemaStep = (columns: string[], schema: TableSchema, { scratch }: StepTools): RowStep => {
  const missing = new Set(schema.missingValues ?? ['']);
  const absent = schema.fields.filter(({ name }) => !columns.includes(name));
  if (absent.length > 0) {
    throw new TableStepError(
      `the schema has fields that are no columns: ${absent.map(({ name }) => shown(name)).join(', ')}; the table has ${columns.map(shown).join(', ')}`,
      { hint: 'fix the schema, or rename the columns with the step `rename`' },
    );
  }
  const keys = [schema.primaryKey ?? []].flat();
  const fields = schema.fields.map((field) => ({
    at: placeOf('schema', columns, field.name),
    required: field.constraints?.required === true || keys.includes(field.name),
    check: cellCheck(field),
    seen: field.constraints?.unique === true ? seenKeysAt(scratch(`unique-${columns.indexOf(field.name)}`)) : null,
  }));
  const keyPlaces = keys.map((name) => placeOf('schema', columns, name));
  const seenKeys = keys.length > 0 ? seenKeysAt(scratch('key')) : null;
  const extra = columns.filter((column) => schema.fields.every(({ name }) => name !== column)).map(shown);
  return {
    columns,
    apply: ({ cells }) => {
      const wrong: Violation[] = [];
      for (const field of fields) {
        const cell = cells[field.at] ?? '';
        const message = missing.has(cell) ? (field.required ? 'is empty, but required' : null) : faultOf(field, cell);
        if (message !== null) wrong.push(inColumn(columns, field.at, message));
      }
      if (wrong.length === 0 && seenKeys?.add(keyPlaces.map((at) => cells[at] ?? '')) === false)
        wrong.push(inRow(`another row has the same key (${keys.join(', ')})`));
      return wrong.length === 0 || wrong;
    },
    summary: ({ rejected }) => {
      const checked = `schema: ${plural(schema.fields.length, 'field')} checked, ${plural(rejected, 'bad row')}`;
      const unchecked = extra.length > 0 ? [`without a field: ${extra.join(', ')}`] : [];
      return [checked, ...unchecked, ...(schema.foreignKeys ? ['foreignKeys are not checked'] : [])].join('; ');
    },
    close: () => {
      seenKeys?.close();
      for (const { seen } of fields) seen?.close();
    },
  };
};

const faultOf = ({ check, seen }: { check: CellCheck; seen: SeenKeys | null }, cell: string): string | null =>
  check(cell) ?? (seen?.add([cell]) === false ? 'is not unique' : null);

const cellCheck = (field: FieldSchema): CellCheck => {
  const { type = 'any', constraints = {} } = field;
  const cast = castOf(field);
  const allowed = constraints.enum === undefined ? null : new Set(constraints.enum.map(String));
  const pattern = constraints.pattern === undefined ? null : new RegExp(`^(?:${constraints.pattern})$`, 'u');
  const { minLength: shortest = 0, maxLength: longest = Number.POSITIVE_INFINITY } = constraints;
  const bounds = boundsOf(field, cast);
  return (cell) => {
    const value = cast(cell);
    if (value === null) return `is not a valid ${type}`;
    if (allowed !== null && !allowed.has(cell) && !allowed.has(value)) return 'is none of the allowed values';
    if (pattern !== null && !pattern.test(cell)) return `does not match ${constraints.pattern}`;
    const length = [...cell].length;
    if (length < shortest) return `is shorter than ${shortest}`;
    if (length > longest) return `is longer than ${longest}`;
    return bounds(value);
  };
};

const castOf = (field: FieldSchema): CastCell => {
  const { type = 'any', format = 'default' } = field;
  switch (type) {
    case 'integer':
    case 'number': {
      const { decimalChar: decimal = '.', groupChar: group } = field;
      return compileCast({ to: type, decimal, ...(group && { group }) });
    }
    case 'boolean':
      return compileCast({
        to: 'boolean',
        true: field.trueValues ?? ['true', 'True', 'TRUE', '1'],
        false: field.falseValues ?? ['false', 'False', 'FALSE', '0'],
      });
    case 'date':
    case 'datetime':
    case 'time':
      return compileCast(format === 'default' ? type : { to: type, from: notationOf(format) });
    default: {
      const pattern = texts[type === 'string' ? `string ${format}` : type];
      return (cell) => (pattern === undefined || pattern.test(cell) ? cell : null);
    }
  }
};

/** What the text of some types, and of some formats of the type `string`, looks like. */
const texts: Record<string, RegExp> = {
  year: /^\d{4}$/,
  yearmonth: /^\d{4}-(?:0[1-9]|1[0-2])$/,
  'string email': /^[^@\s]+@[^@\s]+\.[^@\s]+$/,
  'string uri': /^[a-z][a-z0-9+.-]*:\S+$/i,
  'string uuid': /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
};

/** Numbers are compared as such, dates and times by their ISO text. */
const boundsOf = (
  { type = 'any', constraints = {} }: FieldSchema,
  cast: CastCell,
): ((value: string) => string | null) => {
  const { minimum, maximum } = constraints;
  if (minimum === undefined && maximum === undefined) return () => null;
  const isNumber = type === 'integer' || type === 'number';
  const low = minimum === undefined ? null : (cast(String(minimum)) ?? String(minimum));
  const high = maximum === undefined ? null : (cast(String(maximum)) ?? String(maximum));
  const less = (a: string, b: string): boolean => (isNumber ? Number(a) < Number(b) : a < b);
  return (value) => {
    if (low !== null && less(value, low)) return `is less than ${low}`;
    if (high !== null && less(high, value)) return `is more than ${high}`;
    return null;
  };
};
