// The columns of an index: the names they may have, which are the keys of datasets and resources, and those of a file.
import type { z } from 'zod';
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
export const indexColumns = (): ReadonlyMap<string, IndexColumn> => {
  known ??= makeColumns();
  return known;
};

let known: ReadonlyMap<string, IndexColumn> | null = null;

const makeColumns = (): ReadonlyMap<string, IndexColumn> => {
  const names = new Map<string, IndexColumn>();
  const ofResource = keysOf(resourceSchema);
  for (const { path, kind } of ofResource) {
    const column = { of: 'resource', path, kind } as const;
    // What people call `name` is a title, or anything; the file name of a `url` is `resource.name`.
    if (path.join('.') !== 'name') names.set(path.join('.'), column);
    names.set(`resource.${path.join('.')}`, column);
  }
  for (const { path, kind } of keysOf(datasetSchema)) {
    const column = { of: 'dataset', path, kind } as const;
    names.set(`dataset.${path.join('.')}`, column);
    if (!names.has(path.join('.'))) names.set(path.join('.'), column);
  }
  names.set('dataset', { of: 'dataset', path: ['id'], kind: 'text' });
  names.set('resource', { of: 'resource', path: ['id'], kind: 'text' });
  return names;
};

interface Key {
  path: string[];
  kind: CellKind;
}

type AnySchema = z.core.$ZodTypes;

const keysOf = (schema: z.core.$ZodType): Key[] => {
  const { def } = plain(schema)._zod;
  if (def.type !== 'object') return [];
  return Object.entries(def.shape).flatMap(([name, value]): Key[] => {
    if (name === 'resources') return []; // the rows themselves
    const inner = plain(value);
    const { type } = inner._zod.def;
    if (type === 'object') return keysOf(inner).map(({ path, kind }) => ({ path: [name, ...path], kind }));
    if (type === 'record' && name === 'additionalInfo') return [{ path: [name, '*'], kind: 'text' }];
    return [{ path: [name], kind: kindOf(inner) }];
  });
};

const kindOf = (schema: AnySchema): CellKind => {
  const { def } = schema._zod;
  if (def.type === 'array') return kindOf(plain(def.element)) === 'text' ? 'list' : 'other';
  if (def.type === 'boolean') return 'boolean';
  if (def.type === 'number') return 'number';
  if (def.type === 'union') return def.options.some((option) => kindOf(plain(option)) === 'text') ? 'text' : 'other';
  return def.type === 'string' || def.type === 'enum' || def.type === 'pipe' ? 'text' : 'other';
};

/** Takes off `optional` and the like. */
const plain = (schema: z.core.$ZodType): AnySchema => {
  const typed = schema as AnySchema; // every class of zod's own is in $ZodTypes; the base type does not say so
  const { def } = typed._zod;
  return 'innerType' in def ? plain(def.innerType) : typed;
};

/** A heading without what people write differently: `Dataset Title`, `dataset_title` and `dataset.title` are one. */
const plainHeading = (heading: string): string =>
  heading
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s._-]+/g, '');

/** The column of a name as {@link indexColumns} lists it, also for `additionalInfo.<any name>`. */
export const columnOf = (name: string, known: ReadonlyMap<string, IndexColumn>): IndexColumn | undefined => {
  const exact = known.get(name);
  if (exact !== undefined && exact.path.at(-1) !== '*') return exact;
  const cut = name.lastIndexOf('.');
  const family = cut === -1 ? undefined : known.get(`${name.slice(0, cut)}.*`);
  return family && { ...family, path: [...family.path.slice(0, -1), name.slice(cut + 1)] };
};

/** The columns of an index by heading, and what is wrong with the headings. */
interface ResolvedColumns {
  byHeading: Map<string, IndexColumn>;
  /** Faults for which the index as a whole cannot be read. */
  faults: { heading: string; message: string }[];
  remarks: string[];
}

/** Resolves headings: those that the manifest names first, the others by the names of the keys. In CSV each key has one column. */
export const resolveColumns = (
  headings: string[],
  { columns }: Pick<IndexSpec, 'columns'>,
  isCsv: boolean,
): ResolvedColumns => {
  const known = indexColumns();
  const resolved: ResolvedColumns = { byHeading: new Map(), faults: [], remarks: [] };
  const headingOf = new Map<string, string>();
  const take = (heading: string, column: IndexColumn): void => {
    const other = headingOf.get(targetOf(column));
    if (other !== undefined && other !== heading && isCsv) {
      resolved.faults.push({ heading, message: `the columns \`${other}\` and \`${heading}\` mean the same` });
      return;
    }
    headingOf.set(targetOf(column), heading);
    resolved.byHeading.set(heading, column);
  };
  for (const [name, heading] of Object.entries(columns)) {
    const column = columnOf(name, known);
    if (column === undefined) continue; // the check of the manifest has reported it
    if (headings.includes(heading)) take(heading, column);
    else resolved.faults.push({ heading, message: missingHeading(heading, headings) });
  }
  // Where the manifest names the column of a key, the usual name of that key is a column like any other.
  const mapped = new Set(headingOf.keys());
  const plain = new Map([...known].map(([name, column]) => [plainHeading(name), column]));
  for (const heading of headings) {
    if (heading === '' || resolved.byHeading.has(heading)) continue;
    const column = columnOf(heading, known) ?? plain.get(plainHeading(heading));
    const fits = column && column.path.at(-1) !== '*' && !(isCsv && column.kind === 'other'); // no cell holds a mapping
    if (fits && !mapped.has(targetOf(column))) take(heading, column);
    else resolved.remarks.push(`the column \`${heading}\` is not used${advice(heading, [...known.keys()])}`);
  }
  return resolved;
};

const targetOf = ({ of, path }: IndexColumn): string => `${of}.${path.join('.')}`;

const missingHeading = (heading: string, headings: string[]): string => {
  const meant = nearest(heading, headings);
  const there = meant === undefined ? `there are ${headings.slice(0, 20).join(', ')}` : `did you mean \`${meant}\`?`;
  return `there is no column \`${heading}\`, which \`index.columns\` names; ${there}`;
};

const advice = (heading: string, known: string[]): string => {
  const meant = nearest(heading, known);
  return meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
};
