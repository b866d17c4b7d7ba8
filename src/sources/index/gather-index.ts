// The wishes of an index: rows grouped by dataset, checked like the datasets of a manifest.
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { idOfName, slugOf, titleOfName } from '../../dataset-api/names.ts';
import {
  byPlace,
  EntryFaultError,
  type FileProblem,
  fileProblem,
  ManifestError,
  problemLine,
  reasonOf,
} from '../../model/errors.ts';
import { datasetKey, idPattern, uuidOfKey } from '../../model/key.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { type Path, PathMap, type PlacedValue, valueAt } from '../../model/yaml/document.ts';
import { datasetWish, type GatheredList, type SkippedEntry } from '../gather/dataset-wish.ts';
import { datasetProblems } from '../manifest/cross-checks.ts';
import { columnOf, type IndexColumn, indexColumns, resolveColumns } from '../manifest/index-columns.ts';
import { resolveDataset } from '../manifest/load.ts';
import { datasetSchema, type IndexManifest } from '../manifest/schema.ts';
import { type IndexCell, type IndexRow, readIndex } from './index-rows.ts';

/**
 * Gathers the index of a manifest. A fault in a row skips its dataset.
 *
 * @throws SourceMissingError where the file cannot be read, ManifestError where it is no index as a whole
 */
export const gatherIndex = async (manifest: IndexManifest): Promise<GatheredList> => {
  const { file } = manifest.index;
  const { headings, rows, isCsv, isEnded } = await readIndex(file, isWhole);
  const columns = resolveColumns(headings, manifest.index, isCsv);
  const faults = [...columns.faults];
  const isAbout = (of: IndexColumn['of'], keys: string[]): boolean =>
    [...columns.byHeading.values()].some((column) => column.of === of && keys.includes(column.path.join('.')));
  if (headings.length > 0 && !isAbout('dataset', ['id'])) faults.push({ heading: '', message: noColumn('`dataset`') });
  if (headings.length > 0 && !isAbout('resource', sources))
    faults.push({ heading: '', message: noColumn(`one of ${sources.map((name) => `\`${name}\``).join(', ')}`) });
  if (faults.length > 0) {
    const problems = faults.map(({ heading, message }) => fileProblem(file, message, heading));
    throw new ManifestError(problems, { hint: 'fix the heading, or name its columns in `index.columns`' });
  }
  const gathering = new Gathering(manifest, columns.byHeading);
  for (const [index, row] of rows.entries()) {
    if (index % 1000 === 999) await breathe();
    gathering.add(row);
  }
  const last = rows.at(-1)?.cells.at(-1);
  const isFile = last?.column === headings.length && columns.byHeading.get(last.heading)?.path.join() === 'file';
  // Editors may leave out the last line end; a name that was cut off is no file.
  const isCutOff = !isEnded && !(isFile && existsSync(resolve(dirname(file), String(last.value))));
  const complete = !isCutOff || `the last line of ${file} has no line end, as if it were cut off`;
  return { ...(await gathering.end()), remarks: columns.remarks, complete };
};

/** Keys whose values are mappings of their own, such as `fields`. */
const isWhole = (name: string): boolean => columnOf(name, indexColumns())?.kind === 'other';

const sources = ['file', 'url', 'link', 'api'];

const noColumn = (what: string): string =>
  `the index has no column ${what}; its first line names the columns, or \`index.columns\` of the manifest does`;

class Gathering {
  readonly #manifest: IndexManifest;
  readonly #columns: ReadonlyMap<string, IndexColumn>;
  readonly #drafts = new Map<string, DraftDataset>();
  /** The cell text that each id was derived from, by id. */
  readonly #names = new Map<string, { name: string; line: number }>();
  /** Rows that belong to no dataset. */
  readonly #lost: FileProblem[] = [];

  constructor(manifest: IndexManifest, columns: ReadonlyMap<string, IndexColumn>) {
    this.#manifest = manifest;
    this.#columns = columns;
  }

  add(row: IndexRow): void {
    const draft = this.#draftOf(row);
    if (draft === null) return;
    if (row.fault !== null) {
      draft.problems.push(this.#problem(row, row.fault));
      draft.isUnsure = true;
      return;
    }
    const at = draft.addResource(row.line);
    for (const cell of row.cells) {
      const column = this.#columns.get(cell.heading);
      if (column === undefined || isDatasetId(column)) continue;
      const value = cellValue(cell.value, column, this.#manifest.index.separator);
      draft.put(column, at, value, { line: row.line, column: cell.column, heading: cell.heading });
    }
    complete(draft, at, row);
  }

  /** Checks the datasets, a few at a time, so that the run can renew its lock. */
  async end(): Promise<Omit<GatheredList, 'remarks' | 'complete'>> {
    const wishes: DatasetWish[] = [];
    const skipped: SkippedEntry[] = this.#lost.map((problem) => this.#skippedRow(problem));
    const problems = [...this.#lost];
    for (const [index, draft] of [...this.#drafts.values()].entries()) {
      if (index % 100 === 99) await breathe();
      const name = this.#names.get(draft.id)?.name ?? draft.id;
      draft.fill(['title'], idPattern.test(name) ? titleOfName(name) : name);
      const checked = checkDocument(draft, datasetSchema);
      const between = datasetProblems(draft, this.#manifest.defaults.dataset);
      const all = [...draft.problems, ...checked.problems, ...between];
      if (checked.value !== null && all.length === 0) {
        const spec = resolveDataset(checked.value, this.#manifest, dirname(this.#manifest.index.file));
        wishes.push(datasetWish(this.#manifest, spec));
      } else {
        problems.push(...all);
        skipped.push(this.#skipped(draft, all));
      }
    }
    return { wishes, skipped, problems: problems.sort(byPlace) };
  }

  /** The dataset of a row; null, with a problem, when it names none. */
  #draftOf(row: IndexRow): DraftDataset | null {
    const cell = row.cells.find(({ heading }) => isDatasetId(this.#columns.get(heading)));
    const name = cell === undefined ? '' : String(cell.value);
    const id = idOfName(name);
    if (id === null || cell === undefined) {
      const why =
        cell === undefined ? 'names no dataset' : `names a dataset without a usable id: \`${name.slice(0, 80)}\``;
      this.#lost.push(this.#problem(row, row.fault ?? why, cell));
      return null;
    }
    const draft = this.#drafts.get(id) ?? new DraftDataset(this.#manifest.index.file, id, row.line);
    const first = this.#names.get(id);
    if (first === undefined) this.#names.set(id, { name, line: row.line });
    else if (first.name !== name) {
      const message = `\`${name}\` and \`${first.name}\` (line ${first.line}) give the same id \`${id}\`; use the same spelling`;
      draft.problems.push(this.#problem(row, message, cell));
    }
    this.#drafts.set(id, draft);
    return draft;
  }

  #problem(row: IndexRow, message: string, cell?: IndexCell): FileProblem {
    const { file } = this.#manifest.index;
    return { file, line: row.line, column: cell?.column ?? 1, key: cell?.heading ?? '', message };
  }

  #skipped(draft: DraftDataset, problems: FileProblem[]): SkippedEntry {
    const { name, renamedFrom } = this.#manifest;
    const { title, renamedFrom: formerId } = draft.value;
    return {
      key: datasetKey(name, draft.id),
      uuid: uuidOfKey(datasetKey(renamedFrom ?? name, typeof formerId === 'string' ? formerId : draft.id)),
      title: typeof title === 'string' ? title : draft.id,
      isKnown: !draft.isUnsure,
      reason: reasonOf(faultOf(problems)),
    };
  }

  #skippedRow(problem: FileProblem): SkippedEntry {
    const key = datasetKey(this.#manifest.name, `entry#${problem.line}`);
    return { key, uuid: '', title: `line ${problem.line}`, isKnown: false, reason: reasonOf(faultOf([problem])) };
  }
}

const isDatasetId = (column: IndexColumn | undefined): boolean =>
  column?.of === 'dataset' && column.path.length === 1 && column.path[0] === 'id';

/** Fills in what the other cells of a row imply: titles, and the id of the resource. */
const complete = (draft: DraftDataset, at: number, row: IndexRow): void => {
  const resource = draft.value.resources[at] ?? {};
  const named = [resource.name, resource.file, resource.url].find((value) => typeof value === 'string');
  const base = typeof named === 'string' ? nameOf(named) : null;
  const title = typeof resource.title === 'string' ? resource.title : null;
  const id = slugOf(base ?? title ?? '');
  const hasSource = sources.some((name) => resource[name] !== undefined); // where it has none, that is its fault
  if (resource.id === undefined && id === null && hasSource) {
    const message = 'cannot derive an id from the file or title of the resource; set one in a column `resource`';
    draft.problems.push({ ...draft.problem(['resources', at], message), line: row.line });
  }
  draft.fill(['resources', at, 'id'], id ?? `line-${row.line}`);
  const known = typeof resource.id === 'string' ? resource.id : (id ?? '');
  draft.fill(['resources', at, 'title'], titleOfName(base ?? known));
};

/** The name at the end of a path or address, without its ending. */
const nameOf = (source: string): string => {
  const path = /^https?:/i.test(source) ? (source.split(/[?#]/, 1)[0] ?? source) : source;
  return basename(path).replace(/(?<=.)\.[^.]*$/, '');
};

/** The text of a cell as the value that its key takes; other values of JSON lines stay as they are. */
const cellValue = (value: unknown, { kind }: IndexColumn, separator: string): unknown => {
  if (kind === 'text' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (typeof value !== 'string') return value;
  if (kind === 'list') return value.split(separator).flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
  if (kind === 'boolean') return booleans[value.toLowerCase()] ?? value;
  if (kind === 'number') return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
  return value;
};

const booleans: Record<string, boolean> = { true: true, yes: true, '1': true, false: false, no: false, '0': false };

const faultOf = (problems: FileProblem[]): EntryFaultError =>
  new EntryFaultError(problems.map(problemLine).join('\n'), {
    hint: 'fix these rows; other datasets are not affected',
  });

interface CellPlace {
  line: number;
  column: number;
  heading: string;
}

type Mapping = Record<string, unknown>;

/** A dataset of an index under construction: a value as in `datasets:` of a manifest that knows the place of each part. */
class DraftDataset implements PlacedValue {
  readonly id: string;
  readonly value: Mapping & { resources: Mapping[] };
  readonly problems: FileProblem[] = [];
  /** True when some row may belong to another dataset. */
  isUnsure = false;
  readonly #file: string;
  readonly #places = new PathMap<CellPlace>();
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
    this.#places.set(['resources', at], { line, column: 1, heading: '' });
    return at;
  }

  /** Puts a value where its column says; a dataset's value that contradicts another row is a problem. */
  put(column: IndexColumn, resource: number, value: unknown, place: CellPlace): void {
    const path = column.of === 'dataset' ? column.path : ['resources', resource, ...column.path];
    const known = this.#places.get(path);
    if (known !== undefined && column.of === 'dataset') {
      if (JSON.stringify(valueAt(this.value, path)) !== JSON.stringify(value)) {
        const message = `contradicts line ${known.line} of the same dataset; set it once, or the same on every row`;
        this.problems.push({ file: this.#file, line: place.line, column: place.column, key: place.heading, message });
      }
      return;
    }
    this.#places.set(path, place);
    setAt(this.value, path, value);
  }

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

  /** The place of the nearest part around the path that is in the file. */
  #place(path: Path): CellPlace {
    const { value, length } = this.#places.nearest(path) ?? { value: { line: this.#line, column: 1 }, length: 0 };
    return length === path.length ? { heading: '', ...value } : { ...value, heading: '' };
  }
}

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
