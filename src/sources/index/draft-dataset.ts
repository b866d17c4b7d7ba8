// One dataset of an index, built row by row from the known columns.

import type { FileProblem } from '../../model/errors.ts';
import type { Path, PlacedValue } from '../../model/yaml/document.ts';
import { nearest } from '../../model/yaml/nearest.ts';
import { columnOf, type IndexColumn, indexColumns, plainHeading } from '../manifest/index-columns.ts';
import type { IndexSpec } from '../manifest/list-schemas.ts';

/** The columns of an index by heading, and what is wrong with the headings. */
interface ResolvedColumns {
  byHeading: Map<string, IndexColumn>;
  /** Faults for which the index as a whole cannot be read. */
  faults: { heading: string; message: string }[];
  /** Columns that are not known. */
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
    const target = `${column.of}.${column.path.join('.')}`;
    const other = headingOf.get(target);
    if (other !== undefined && other !== heading && isCsv) {
      resolved.faults.push({ heading, message: `the columns \`${other}\` and \`${heading}\` mean the same` });
      return;
    }
    headingOf.set(target, heading);
    resolved.byHeading.set(heading, column);
  };
  for (const [name, heading] of Object.entries(columns)) {
    const column = columnOf(name, known);
    if (column === undefined) continue; // the check of the manifest has reported it
    if (headings.includes(heading)) take(heading, column);
    else resolved.faults.push({ heading, message: missingHeading(heading, headings) });
  }
  const plain = new Map([...known].map(([name, column]) => [plainHeading(name), column]));
  for (const heading of headings) {
    if (heading === '' || resolved.byHeading.has(heading)) continue;
    const column = columnOf(heading, known) ?? plain.get(plainHeading(heading));
    const mapped = column && headingOf.has(`${column.of}.${column.path.join('.')}`) && isMapped(columns, column, known);
    const fits = column && column.path.at(-1) !== '*' && !(isCsv && column.kind === 'other'); // no cell holds a mapping
    if (fits && !mapped) take(heading, column);
    else resolved.remarks.push(`the column \`${heading}\` is not used${advice(heading, [...known.keys()])}`);
  }
  return resolved;
};

/** True when the manifest names the column of a key: then the usual name of that key is a column like any other. */
const isMapped = (
  columns: Record<string, string>,
  column: IndexColumn,
  known: ReadonlyMap<string, IndexColumn>,
): boolean =>
  Object.keys(columns).some((name) => {
    const mapped = columnOf(name, known);
    return mapped?.of === column.of && mapped.path.join('.') === column.path.join('.');
  });

const missingHeading = (heading: string, headings: string[]): string => {
  const meant = nearest(heading, headings);
  const there = meant === undefined ? `there are ${headings.slice(0, 20).join(', ')}` : `did you mean \`${meant}\`?`;
  return `there is no column \`${heading}\`, which \`index.columns\` names; ${there}`;
};

const advice = (heading: string, known: string[]): string => {
  const meant = nearest(heading, known);
  return meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
};

interface CellPlace {
  line: number;
  column: number;
  heading: string;
}

type Mapping = Record<string, unknown>;

/** A dataset of an index as it is put together: a value as in `datasets:` of a manifest that knows the place of every part. */
export class DraftDataset implements PlacedValue {
  readonly id: string;
  readonly value: Mapping & { resources: Mapping[] };
  /** Faults that were found while it was put together. */
  readonly problems: FileProblem[] = [];
  /** True when some row may belong to another dataset. */
  isUnsure = false;
  readonly #file: string;
  readonly #places = new Map<string, CellPlace>();
  readonly #line: number;

  constructor(file: string, id: string, line: number) {
    this.#file = file;
    this.#line = line;
    this.id = id;
    this.value = { id, resources: [] };
  }

  /** Adds a resource, for a row that begins on `line`; returns its position. */
  addResource(line: number): number {
    const at = this.value.resources.push({}) - 1;
    this.#places.set(pathName(['resources', at]), { line, column: 1, heading: '' });
    return at;
  }

  /** Puts a value where its column says; a dataset's value that contradicts another row is a problem. */
  put(column: IndexColumn, resource: number, value: unknown, place: CellPlace): void {
    const path = column.of === 'dataset' ? column.path : ['resources', resource, ...column.path];
    const name = pathName(path);
    const known = this.#places.get(name);
    if (known !== undefined && column.of === 'dataset') {
      if (JSON.stringify(valueAt(this.value, path)) !== JSON.stringify(value)) {
        const message = `contradicts line ${known.line} of the same dataset; set it once, or the same on every row`;
        this.problems.push({ file: this.#file, line: place.line, column: place.column, key: place.heading, message });
      }
      return;
    }
    this.#places.set(name, place);
    setAt(this.value, path, value);
  }

  /** Says a value that no cell gives. */
  fill(path: Path, value: unknown): void {
    if (valueAt(this.value, path) === undefined) setAt(this.value, path, value);
  }

  position(path: Path): { line: number; column: number } {
    const { line, column } = this.#place(path);
    return { line, column };
  }

  problem(path: Path, message: string): FileProblem {
    const { line, column, heading } = this.#place(path);
    const key =
      heading === '' ? path.filter((step) => step !== 'resources' && typeof step !== 'number').join('.') : heading;
    return { file: this.#file, line, column, key, message };
  }

  /** The nearest part around the path that is in the file. */
  #place(path: Path): CellPlace {
    for (let length = path.length; length > 0; length -= 1) {
      const place = this.#places.get(pathName(path.slice(0, length)));
      if (place) return length === path.length ? place : { ...place, heading: '' };
    }
    return { line: this.#line, column: 1, heading: '' };
  }
}

const pathName = (path: Path): string => path.map(String).join('\u0000');

const valueAt = (root: unknown, path: Path): unknown => {
  let value = root;
  for (const step of path) value = value !== null && typeof value === 'object' ? Reflect.get(value, step) : undefined;
  return value;
};

const setAt = (root: object, path: Path, value: unknown): void => {
  let here = root;
  for (const step of path.slice(0, -1)) {
    const next: unknown = Reflect.get(here, step);
    const inner = next !== null && typeof next === 'object' ? next : {};
    Object.defineProperty(here, step, { value: inner, enumerable: true, writable: true, configurable: true });
    here = inner;
  }
  const last = path.at(-1);
  if (last !== undefined)
    Object.defineProperty(here, last, { value, enumerable: true, writable: true, configurable: true });
};
