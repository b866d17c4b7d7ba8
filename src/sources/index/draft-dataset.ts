// One dataset of an index as it is put together, row by row: a value as in a manifest that knows the place of every part.
import type { FileProblem } from '../../model/errors.ts';
import type { Path, PlacedValue } from '../../model/yaml/document.ts';
import type { IndexColumn } from '../manifest/index-columns.ts';

interface CellPlace {
  line: number;
  column: number;
  heading: string;
}

type Mapping = Record<string, unknown>;

/** See the head of this file. The value is that of a dataset in `datasets:` of a manifest. */
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
        const message = `contradicts line ${known.line}, which is about the same dataset; write it once, or the same on every row`;
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

  /** The nearest part around the path that stands in the file. */
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
