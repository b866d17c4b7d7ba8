// What the properties of one resource of a data package are in a manifest.
import { basename, isAbsolute } from 'node:path';
import { slugOf } from '../../dataset-api/slug.ts';
import type { FileProblem } from '../../model/errors.ts';
import { idPattern } from '../../model/key.ts';
import { encodings } from '../../model/recipe/encodings.ts';
import type { Step } from '../../model/recipe/steps.ts';
import { type TableSchema, tableSchemaSchema } from '../../model/recipe/table-schema.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import type { Path } from '../../model/yaml/document.ts';
import { isObject } from '../../util/json.ts';
import { isAddress } from '../manifest/list-schemas.ts';
import type { PackageDraft } from './package-draft.ts';
import type { PackageResource } from './read-package.ts';

/** Adds a resource of the package to the draft; one without a file of its own is a fault. */
export const mapResource = (draft: PackageDraft, resource: PackageResource, origin: Path): void => {
  const path = pathOf(draft, resource, origin);
  if (path === null) return;
  const set = draft.addResource(origin);
  const base = basename(path.split(/[?#]/, 1)[0] ?? path);
  const name = resource.name ?? base.replace(/(?<=.)\.[^.]*$/, '');
  const id = idPattern.test(name) ? name : slugOf(name);
  if (id === null) draft.fault([...origin, 'name'], `cannot derive an id from \`${name}\``);
  set('id', id ?? 'resource', [...origin, 'name']);
  set('title', resource.title?.replaceAll(/\s+/g, ' ').trim() || undefined, [...origin, 'title']);
  set('description', resource.description, [...origin, 'description']);
  set('format', resource.format, [...origin, 'format']);
  set(isAddress(path) ? 'url' : 'file', path, [...origin, 'path']);
  if (!tabular.test(base)) return;
  const schema = tableSchemaOf(draft, resource.schema, [...origin, 'schema']);
  if (schema !== null) set('schema', schema, [...origin, 'schema']);
  const steps = [...encodingSteps(draft, resource, origin), ...delimiterSteps(draft, resource, origin)];
  const isAsked = schema !== null || steps.some((step) => 'encoding' in step);
  // A delimiter alone is found by itself, and the file goes as it is.
  if (isAsked && steps.length > 0) set('table', steps, [...origin, 'dialect']);
};

/** Files that are tables; a schema of other files (GeoJSON, say) is about something else. */
const tabular = /\.(?:csv|tsv|txt|tab)(?:\.gz)?$/i;

/** The one file of a resource. The specification keeps paths below the folder of the package, and so do we. */
const pathOf = (draft: PackageDraft, { path, data }: PackageResource, origin: Path): string | null => {
  const paths = path === undefined ? [] : [path].flat();
  const [first] = paths;
  const fault = (key: string, message: string): null => {
    draft.fault([...origin, key], message);
    return null;
  };
  if (first === undefined) {
    return data === undefined
      ? fault('path', 'the resource has no `path`')
      : fault('data', 'data inside the package cannot be published: put it into a file and name that in `path`');
  }
  if (paths.length > 1) return fault('path', 'a resource of several files cannot be published: make each a resource');
  if (isAddress(first)) return first;
  const isOutside = isAbsolute(first) || /^[A-Za-z]:|\\/.test(first) || first.split('/').includes('..');
  return isOutside ? fault('path', `\`${first}\` leads out of the folder of the package`) : first;
};

const encodingSteps = (draft: PackageDraft, { encoding }: PackageResource, origin: Path): Step[] => {
  if (encoding === undefined || /^(?:utf-?8|us-ascii|ascii)$/i.test(encoding)) return [];
  const known = encodings.find((name) => name === encoding.toLowerCase());
  if (known !== undefined) return [{ encoding: known }];
  draft.remark([...origin, 'encoding'], `\`${encoding}\` is unknown; the file is read as UTF-8`);
  return [];
};

const delimiters = { ',': ',', ';': ';', '|': '|', '\t': 'tab' } as const;

const delimiterSteps = (draft: PackageDraft, { dialect }: PackageResource, origin: Path): Step[] => {
  if (!isObject(dialect)) {
    if (dialect !== undefined) draft.remark([...origin, 'dialect'], 'is ignored: write it into the package');
    return [];
  }
  for (const [key, value] of Object.entries(dialect)) {
    const isPlain = key === 'delimiter' ? String(value) in delimiters : usual[key] === value;
    if (isPlain || key.startsWith('$') || key === 'csvddfVersion') continue;
    draft.remark([...origin, 'dialect', key], 'is ignored; tables that need it are reported as faulty');
  }
  const delimiter = delimiters[dialect.delimiter as keyof typeof delimiters]; // undefined for all others
  return delimiter === undefined ? [] : [{ delimiter }];
};

/** What a dialect says of every ordinary table. */
const usual: Record<string, unknown> = {
  lineTerminator: '\r\n',
  quoteChar: '"',
  doubleQuote: true,
  header: true,
  caseSensitiveHeader: false,
  skipInitialSpace: false,
  headerJoin: ' ',
};

/** The schema as tables are held against it: what it asks beyond that is reported, and those cells are not looked at. */
const tableSchemaOf = (draft: PackageDraft, schema: unknown, origin: Path): TableSchema | null => {
  if (schema === undefined) return null;
  if (!isObject(schema) || !Array.isArray(schema.fields) || schema.fields.length === 0) {
    const what = typeof schema === 'string' ? 'a schema in a file of its own' : 'it has no `fields`';
    draft.remark(origin, `the table is not checked against it: ${what}`);
    return null;
  }
  const fields = schema.fields.map((field: unknown, index) => fieldOf(draft, field, [...origin, 'fields', index]));
  const { missingValues, ...rest } = schema;
  const missing = Array.isArray(missingValues) ? { missingValues: missingValues.map(plainValue) } : {};
  const { value, fault } = checked({ ...rest, ...missing, fields });
  if (fault !== null) draft.remark(origin, `the table is not checked against it: ${fault}`);
  return value;
};

const fieldOf = (draft: PackageDraft, field: unknown, origin: Path): unknown => {
  const { fault } = checked({ fields: [field] });
  if (fault === null || !isObject(field)) return field;
  draft.remark(origin, `cells of this field are not checked: ${fault}`);
  return { name: field.name, type: 'any' };
};

/** Version 2 may write a missing value with a label. */
const plainValue = (missing: unknown): unknown => (isObject(missing) ? missing.value : missing);

/** A schema, or the first of its faults in words. */
const checked = (schema: unknown): { value: TableSchema; fault: null } | { value: null; fault: string } => {
  const problem = (path: Path, message: string): FileProblem => ({
    file: '',
    line: 1,
    column: 1,
    key: path.slice(-1).map(String).join(''),
    message,
  });
  const { value, problems } = checkDocument(
    { value: schema, problem, position: () => ({ line: 1, column: 1 }) },
    tableSchemaSchema,
  );
  const [first] = problems;
  return value === null ? { value, fault: `${first?.key ?? ''}: ${first?.message ?? ''}` } : { value, fault: null };
};
