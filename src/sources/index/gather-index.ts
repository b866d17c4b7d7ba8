// The wishes of an index: rows grouped by dataset, checked like the datasets of a manifest.
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { idOfName, slugOf, titleOfName } from '../../dataset-api/names.ts';
import { type FileProblem, fileProblem, ManifestError } from '../../model/errors.ts';
import { idPattern } from '../../model/key.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { valueAt } from '../../model/yaml/document.ts';
import { datasetWish, type GatheredList, type SkippedEntry, skippedDataset } from '../gather/dataset-wish.ts';
import { DatasetDraft, datasetOfDraft, type Origin } from '../manifest/dataset-draft.ts';
import { columnOf, type IndexColumn, resolveColumns } from '../manifest/index-columns.ts';
import { contentKeys, type IndexManifest } from '../manifest/schema.ts';
import { type IndexCell, type IndexRow, readIndex } from './index-rows.ts';

/** A fault in a row skips its dataset. @throws SourceMissingError, ManifestError where it is no index as a whole */
export const gatherIndex = async (manifest: IndexManifest): Promise<GatheredList> => {
  const { file } = manifest.index;
  const { headings, rows, isCsv, isEnded } = await readIndex(file, (name) => columnOf(name)?.kind === 'other');
  const columns = resolveColumns(headings, manifest.index, isCsv);
  const faults = [...columns.faults];
  const isAbout = (of: IndexColumn['of'], keys: string[]): boolean =>
    [...columns.byHeading.values()].some((column) => column.of === of && keys.includes(column.path.join('.')));
  if (headings.length > 0 && !isAbout('dataset', ['id'])) faults.push({ heading: '', message: noColumn('`dataset`') });
  if (headings.length > 0 && !isAbout('resource', contentKeys))
    faults.push({ heading: '', message: noColumn(`one of ${contentKeys.map((name) => `\`${name}\``).join(', ')}`) });
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

const noColumn = (what: string): string =>
  `the index has no column ${what}; its first line names the columns, or \`index.columns\` of the manifest does`;

interface Entry {
  name: string;
  line: number;
  draft: DatasetDraft;
  /** True when some row may belong to another dataset. */
  isUnsure: boolean;
}

class Gathering {
  readonly #manifest: IndexManifest;
  readonly #columns: ReadonlyMap<string, IndexColumn>;
  readonly #entries = new Map<string, Entry>();
  readonly #lost: FileProblem[] = [];

  constructor(manifest: IndexManifest, columns: ReadonlyMap<string, IndexColumn>) {
    this.#manifest = manifest;
    this.#columns = columns;
  }

  add(row: IndexRow): void {
    const entry = this.#entryOf(row);
    if (entry === null) return;
    const { draft } = entry;
    if (row.fault !== null) {
      draft.problems.push(this.#at(row)([], row.fault));
      entry.isUnsure = true;
      return;
    }
    const at = draft.addResource(this.#at(row));
    for (const cell of row.cells) {
      const column = this.#columns.get(cell.heading);
      if (column === undefined || isDatasetId(column)) continue;
      const value = cellValue(cell.value, column, this.#manifest.index.separator);
      const path = column.of === 'dataset' ? column.path : ['resources', at, ...column.path];
      const known = column.of === 'dataset' ? valueAt(draft.value, path) : undefined;
      if (known === undefined) draft.set(path, value, this.#at(row, cell));
      else if (JSON.stringify(known) !== JSON.stringify(value)) {
        const { line } = draft.position(path);
        const message = `contradicts line ${line} of the same dataset; set it once, or the same on every row`;
        draft.problems.push(this.#at(row, cell)([], message));
      }
    }
    complete(draft, at, row);
  }

  /** Checks the datasets, a few at a time, so that the run can renew its lock. */
  async end(): Promise<Pick<GatheredList, 'wishes' | 'skipped'>> {
    const { file } = this.#manifest.index;
    const hint = 'fix these rows; other datasets are not affected';
    const wishes: DatasetWish[] = [];
    const skipped: SkippedEntry[] = this.#lost.map((problem) => {
      const said = { id: null, entry: problem.line, title: `line ${problem.line}`, isKnown: false };
      return skippedDataset(this.#manifest, said, { problems: [problem], hint });
    });
    for (const [index, [id, { draft, name, isUnsure }]] of [...this.#entries].entries()) {
      if (index % 100 === 99) await breathe();
      draft.fill(['title'], idPattern.test(name) ? titleOfName(name) : name);
      const { spec, problems } = datasetOfDraft(draft, this.#manifest.defaults, dirname(file));
      if (spec !== null) {
        wishes.push(datasetWish(this.#manifest, spec));
        continue;
      }
      const { title, renamedFrom } = draft.value;
      const formerId = typeof renamedFrom === 'string' ? renamedFrom : id;
      const said = { id, formerId, entry: '', title: typeof title === 'string' ? title : id, isKnown: !isUnsure };
      skipped.push(skippedDataset(this.#manifest, said, { problems, hint }));
    }
    return { wishes, skipped };
  }

  /** The dataset of a row; null, with a problem, when it names none. */
  #entryOf(row: IndexRow): Entry | null {
    const cell = row.cells.find(({ heading }) => isDatasetId(this.#columns.get(heading)));
    const name = cell === undefined ? '' : String(cell.value);
    const id = idOfName(name);
    if (id === null || cell === undefined) {
      const why =
        cell === undefined ? 'names no dataset' : `names a dataset without a usable id: \`${name.slice(0, 80)}\``;
      this.#lost.push(this.#at(row, cell)([], row.fault ?? why));
      return null;
    }
    const known = this.#entries.get(id);
    if (known !== undefined && known.name !== name) {
      const message = `\`${name}\` and \`${known.name}\` (line ${known.line}) give the same id \`${id}\`; use the same spelling`;
      known.draft.problems.push(this.#at(row, cell)([], message));
    }
    if (known !== undefined) return known;
    const draft = new DatasetDraft(this.#at(row));
    draft.set(['id'], id);
    const entry = { name, line: row.line, draft, isUnsure: false };
    this.#entries.set(id, entry);
    return entry;
  }

  #at({ line }: IndexRow, cell?: IndexCell): Origin {
    const { column, heading } = cell ?? { column: 1, heading: '' };
    const { file } = this.#manifest.index;
    return (inner, message) => ({ file, line, column, key: inner.length === 0 ? heading : '', message });
  }
}

const isDatasetId = (column: IndexColumn | undefined): boolean =>
  column?.of === 'dataset' && column.path.length === 1 && column.path[0] === 'id';

/** Fills in what the other cells of a row imply: titles, and the id of the resource. */
const complete = (draft: DatasetDraft, at: number, row: IndexRow): void => {
  const resource = draft.value.resources[at] ?? {};
  const named = [resource.name, resource.file, resource.url].find((value) => typeof value === 'string');
  const base = typeof named === 'string' ? nameOf(named) : null;
  const title = typeof resource.title === 'string' ? resource.title : null;
  const id = slugOf(base ?? title ?? '');
  const hasSource = contentKeys.some((name) => resource[name] !== undefined); // where it has none, that is its fault
  if (resource.id === undefined && id === null && hasSource) {
    const message = 'cannot derive an id from the file or title of the resource; set one in a column `resource`';
    draft.problems.push(draft.problem(['resources', at], message));
  }
  draft.fill(['resources', at, 'id'], id ?? `line-${row.line}`);
  const known = typeof resource.id === 'string' ? resource.id : (id ?? '');
  draft.fill(['resources', at, 'title'], titleOfName(base ?? known));
};

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
