// The columns of an index: the names they may have, which are the keys of datasets and resources, and those of a file.
import { z } from 'zod';
import { nearest } from '../../model/yaml/nearest.ts';
import type { IndexSpec } from './list-schemas.ts';
import { datasetSchema, resourceSchema } from './schema.ts';

type CellKind = 'text' | 'list' | 'boolean' | 'number' | 'other';

export interface IndexColumn {
  of: 'dataset' | 'resource';
  /** Path of the key in the dataset or resource, such as `contact`, `name`. */
  path: string[];
  kind: CellKind;
}

/**
 * Every name of a column with what it is about. A key of the dataset has `dataset.` before it, which may be left out where
 * a resource has no such key; `dataset` and `resource` are the ids. A last part `*` stands for any name.
 */
export const indexColumns = (): ReadonlyMap<string, IndexColumn> => (known ??= makeColumns());

let known: ReadonlyMap<string, IndexColumn> | null = null;

const makeColumns = (): ReadonlyMap<string, IndexColumn> => {
  const names = new Map<string, IndexColumn>();
  const shapeOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' }) as Shape; // a part of it
  for (const about of ['resource', 'dataset'] as const)
    for (const { path, kind } of keysOf(shapeOf(about === 'resource' ? resourceSchema : datasetSchema))) {
      const column = { of: about, path, kind };
      const name = path.join('.');
      // What people call `name` is a title, or anything; the file name of a `url` is `resource.name`.
      if (name !== 'name' && !names.has(name)) names.set(name, column);
      names.set(`${about}.${name}`, column);
    }
  names.set('dataset', { of: 'dataset', path: ['id'], kind: 'text' });
  names.set('resource', { of: 'resource', path: ['id'], kind: 'text' });
  return names;
};

interface Shape {
  type?: string;
  properties?: Record<string, Shape>;
  items?: Shape;
  anyOf?: Shape[];
}

const keysOf = ({ properties = {} }: Shape): Pick<IndexColumn, 'path' | 'kind'>[] =>
  Object.entries(properties).flatMap(([name, value]) => {
    if (name === 'resources') return []; // the rows themselves
    if (name === 'additionalInfo') return [{ path: [name, '*'], kind: 'text' }];
    if (value.properties) return keysOf(value).map(({ path, kind }) => ({ path: [name, ...path], kind }));
    return [{ path: [name], kind: kindOf(value) }];
  });

const kinds: Record<string, CellKind> = { string: 'text', boolean: 'boolean', number: 'number', integer: 'number' };

const kindOf = ({ type = '', items, anyOf = [] }: Shape): CellKind => {
  if (items && kindOf(items) === 'text') return 'list';
  return anyOf.some((form) => kindOf(form) === 'text') ? 'text' : (kinds[type] ?? 'other');
};

/** A heading without what people write differently: `Dataset Title`, `dataset_title` and `dataset.title` are one. */
const plainHeading = (heading: string): string =>
  heading
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s._-]+/g, '');

/** The column of a name as {@link indexColumns} lists it, also for `additionalInfo.<any name>`. */
export const columnOf = (name: string): IndexColumn | undefined => {
  const known = indexColumns();
  const exact = known.get(name);
  if (exact !== undefined && exact.path.at(-1) !== '*') return exact;
  const cut = name.lastIndexOf('.');
  const family = cut === -1 ? undefined : known.get(`${name.slice(0, cut)}.*`);
  return family && { ...family, path: [...family.path.slice(0, -1), name.slice(cut + 1)] };
};

/** Resolves headings: those that the manifest names first, the others by the names of the keys. In CSV each key has one column. */
export const resolveColumns = (headings: string[], { columns }: Pick<IndexSpec, 'columns'>, isCsv: boolean) => {
  const known = indexColumns();
  const byHeading = new Map<string, IndexColumn>();
  const faults: { heading: string; message: string }[] = [];
  const remarks: string[] = [];
  const headingOf = new Map<string, string>();
  const take = (heading: string, column: IndexColumn): void => {
    const other = headingOf.get(targetOf(column));
    if (other !== undefined && other !== heading && isCsv) {
      faults.push({ heading, message: `the columns \`${other}\` and \`${heading}\` mean the same` });
      return;
    }
    headingOf.set(targetOf(column), heading);
    byHeading.set(heading, column);
  };
  for (const [name, heading] of Object.entries(columns)) {
    const column = columnOf(name);
    if (column === undefined) continue; // the check of the manifest has reported it
    if (headings.includes(heading)) take(heading, column);
    else faults.push({ heading, message: missingHeading(heading, headings) });
  }
  // Where the manifest names the column of a key, the usual name of that key is a column like any other.
  const mapped = new Set(headingOf.keys());
  const plain = new Map([...known].map(([name, column]) => [plainHeading(name), column]));
  for (const heading of headings) {
    if (heading === '' || byHeading.has(heading)) continue;
    const column = columnOf(heading) ?? plain.get(plainHeading(heading));
    const fits = column && column.path.at(-1) !== '*' && !(isCsv && column.kind === 'other'); // no cell holds a mapping
    if (fits && !mapped.has(targetOf(column))) take(heading, column);
    else {
      const meant = nearest(heading, [...known.keys()]);
      const advice = meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
      remarks.push(`the column \`${heading}\` is not used${advice}`);
    }
  }
  return { byHeading, faults, remarks };
};

const targetOf = ({ of, path }: IndexColumn): string => `${of}.${path.join('.')}`;

const missingHeading = (heading: string, headings: string[]): string => {
  const meant = nearest(heading, headings);
  const there = meant === undefined ? `there are ${headings.slice(0, 20).join(', ')}` : `did you mean \`${meant}\`?`;
  return `there is no column \`${heading}\`, which \`index.columns\` names; ${there}`;
};
