// Opens a source as a table by its name: delimited text, JSON, a workbook, or one of these in an archive or gzip.
import { writeFile } from 'node:fs/promises';
import { kindOfBytes, namedByBytes } from '../../../dataset-api/file-types.ts';
import { TableInputError } from '../../../model/errors.ts';
import { isAnyText, isConvertible, isUnread, type TableRecipe } from '../../../model/recipe/recipe.ts';
import { inputSteps, type Step } from '../../../model/recipe/steps.ts';
import { listed } from '../../../util/plural.ts';
import type { Cancellable } from '../../../util/worker-pool.ts';
import { fixSafely, isSafely } from '../../fix/fix-worker.ts';
import { firstFault } from '../../inspect/finding.ts';
import { type CheckTask, inspectFile } from '../../inspect/inspect-file.ts';
import { portalDelimiter } from '../../scan/dialect.ts';
import { fileChunks, signatureOf } from '../../scan/open-table.ts';
import { columnLimit, type Limits, type MakingReport, NotOneTable, shown, type Table, tooManyColumns } from '../row.ts';
import { headerOf } from '../step/cells.ts';
import { type Archive, type Bytes, fileBytes, openArchive } from './bytes.ts';
import { openDelimited } from './delimited.ts';
import { jsonFormat, openJson } from './json-rows.ts';
import { openWorkbook } from './workbook.ts';

export interface SourceTask {
  /** The source, and the name that determines its kind. */
  path: string;
  name: string;
  recipe: TableRecipe;
  limits: Limits;
  /** File for the table; temporary files beside it have names that begin with its own, and are removed by the caller. */
  into: string;
}

type OpenOptions = Cancellable<SourceTask> & { report: MakingReport };

/** Opens a source; throws a {@link NotOneTable} when it is sound but holds no table, or several. */
export const openSource = async (options: OpenOptions): Promise<Table> => {
  const { recipe, report } = options;
  const table = await openedBy(options);
  try {
    if (table.columns.length > columnLimit) throw tooManyColumns(table.columns.length);
    const { columns, note } = headerOf(table.columns, readingOf(recipe.steps).header ?? {});
    if (note !== null) report.notes.push(note);
    return { ...table, columns };
  } catch (error) {
    await table.close?.();
    throw error;
  }
};

const openedBy = async (options: OpenOptions): Promise<Table> => {
  const { path, name, recipe } = options;
  if (/\.(?:xls[xm]|zip)$/i.test(name)) return archivedTable(options);
  if (isUnread(name))
    throw new TableInputError(`the format of ${name} is not read`, { hint: 'save it as .xlsx or .csv' });
  if (recipe.member !== null) throw misplaced('member', name, '.zip');
  if (recipe.sheet !== null) throw misplaced('sheet', name, '.xlsx');
  return textTable(fileBytes(path, name, options), name, options);
};

const misplaced = (key: string, name: string, ending: string): TableInputError =>
  new TableInputError(`\`${key}\` is for ${ending} files; ${name} is not one`, { hint: `leave out \`${key}\`` });

const archivedTable = async (options: OpenOptions): Promise<Table> => {
  const { path, name, cancelled } = options;
  const [head = Buffer.alloc(0)] = fileChunks(path, cancelled);
  const is = signatureOf(head);
  if (is !== null && !is.startsWith('a ZIP'))
    throw new TableInputError(`${name} is ${is}`, {
      hint: 'save it as .xlsx without a password, or as CSV, and check what the address or program actually returned',
    });
  const kind = kindOfBytes(head);
  if (kind === 'csv' || kind === 'tsv')
    throw new TableInputError(`${name} is a table of text, not a ZIP archive or a workbook`, {
      hint: `rename it to ${namedByBytes(name, kind)}, or export it again in the format of its name`,
    });
  const archive = await openArchive(path, options);
  try {
    const table = await (isWorkbook(archive, name) ? workbookOf : memberOf)(archive, options);
    const close = async (): Promise<void> => {
      await table.close?.();
      archive.close();
    };
    return { ...table, close };
  } catch (error) {
    archive.close();
    throw error;
  }
};

/** Workbooks are archives too: what is inside decides, and the name only where neither a workbook nor a table is. */
const isWorkbook = ({ entries, entry }: Archive, name: string): boolean => {
  const names = [...entries.keys()];
  if (/\.zip$/i.test(name))
    return entry('/[Content_Types].xml') !== undefined && names.some((path) => /^xl\//i.test(path));
  return entry('/[Content_Types].xml') !== undefined || tablesIn(names).length === 0;
};

const workbookOf = async (archive: Archive, { recipe, limits, report }: OpenOptions): Promise<Table> => {
  if (recipe.member !== null) throw misplaced('member', archive.name, '.zip');
  const { encoding, delimiter } = readingOf(recipe.steps);
  refuseSteps({ encoding, delimiter }, archive.name);
  const fixes = recipe.mend !== undefined;
  return openWorkbook(archive, recipe.sheet, { skip: skippedBy(recipe.steps), limits, report, fixes });
};

/** Lines above the header, where a step says so. */
const skippedBy = (steps: readonly Step[]): number | undefined => {
  const { skipRows, header: { row } = {} } = readingOf(steps);
  return skipRows === undefined && row === undefined ? undefined : (skipRows ?? 0) + (row ?? 1) - 1;
};

/** Extensions of tables, the first match counts: a text or JSON file beside a CSV only describes it. */
const tableMembers = [/\.(?:csv|tsv)$/i, /\.(?:ndjson|jsonl)$/i, /\.(?:json|txt|tab)$/i];

const tablesIn = (names: string[]): string[] => {
  const seen = names.filter((name) => !/(?:^|\/)(?:\.|__MACOSX\/)/.test(name));
  return tableMembers.map((ending) => seen.filter((name) => ending.test(name))).find(({ length }) => length > 0) ?? [];
};

const memberOf = async (archive: Archive, options: OpenOptions): Promise<Table> => {
  const { recipe, report } = options;
  if (recipe.sheet !== null) throw misplaced('sheet', archive.name, '.xlsx');
  const names = [...archive.entries.keys()];
  const tables = tablesIn(names);
  const name = recipe.member ?? tables[0];
  const way =
    tables[0] === undefined ? 'publish its tables as .csv or .xlsx files' : `name one: \`member: ${tables[0]}\``;
  const hint = `${way}, or publish the archive as it is: \`import: never\``;
  if (name === undefined) {
    const holds = names.some(isConvertible) ? 'rows' : names.some(isUnread) ? 'unread' : 'nothing';
    throw new NotOneTable(`${archive.name} holds no table (.csv, .tsv, .ndjson, .json)`, holds, { hint });
  }
  if (recipe.member === null && tables.length > 1) {
    const message = `${archive.name} holds ${tables.length} tables: ${listed(tables.map(shown))}`;
    throw new NotOneTable(message, 'several', { hint });
  }
  const entry = archive.entries.get(name);
  if (entry === undefined) {
    throw new TableInputError(`${archive.name} holds no ${shown(name)}; it holds ${listed(names.map(shown))}`, {
      hint: 'correct `member`',
    });
  }
  const others = names.filter((other) => other !== name);
  report.notes.push(
    `${shown(name)} of the archive${others.length > 0 ? `; left out: ${listed(others.map(shown))}` : ''}`,
  );
  return textTable(archive.read(entry), name, options);
};

const textTable = (bytes: Bytes, name: string, options: OpenOptions): Promise<Table> =>
  /\.(?:ndjson|jsonl|json|geojson)(?:\.gz)?$/i.test(name)
    ? jsonTable(bytes, name, options)
    : delimitedTable(bytes, name, options);

const jsonTable = async (bytes: Bytes, name: string, { recipe, limits, report }: OpenOptions): Promise<Table> => {
  const { encoding, delimiter, skipRows, header = {} } = readingOf(recipe.steps);
  if (recipe.asked) refuseSteps({ encoding, delimiter, skipRows, 'header.row': header.row }, name);
  const format = /\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(name) ? 'lines' : await jsonFormat(bytes, name);
  report.notes.push(format === 'lines' ? 'one JSON object a line' : 'a JSON array');
  return openJson(bytes, format, limits);
};

/** Packed text is unpacked to a file, to be read as any other. */
const delimitedTable = async (bytes: Bytes, name: string, options: OpenOptions): Promise<Table> => {
  const { recipe, limits, cancelled, into, report } = options;
  const { encoding, delimiter } = readingOf(recipe.steps);
  const isPacked = /\.(?:gz|zip|xls[xm])$/i.test(options.name);
  const [unpackedPath, fixedPath] = textPaths(into);
  const path = isPacked ? unpackedPath : options.path;
  if (isPacked) await writeFile(path, bytes());
  const task = {
    path,
    rowBytes: limits.rowBytes,
    cancelled,
    encoding: encoding === 'utf-8' ? undefined : encoding,
    delimiter: delimiter === 'tab' ? '\t' : delimiter,
    skipRows: skippedBy(recipe.steps),
  };
  if (isAnyText(name) && !recipe.asked) refuseUnproven(task, name, recipe);
  const fixed = recipe.mend === undefined ? null : fixSafely(task, fixedPath);
  if (fixed === null) return openDelimited(task, report.notes);
  report.fixes.push(...fixed.fixes);
  const separator = portalDelimiter(fixed.inspection.delimiter);
  const fixedTask = { ...task, path: fixedPath, encoding: undefined, delimiter: separator, skipRows: 0 };
  return openDelimited(fixedTask, report.notes);
};

/** Throws for text that is not certainly a table: with a fault, a single column, or nothing but commas between words as in prose. */
const refuseUnproven = (task: Cancellable<CheckTask>, name: string, { mend }: TableRecipe): void => {
  const { findings, columns, delimiter, rows } = inspectFile(task);
  const fault = firstFault(findings.filter((it) => mend === undefined || !isSafely(it)));
  const types = columns.map(({ type }) => type).filter((type) => type !== 'empty');
  const isSpaced = findings.some(({ kind }) => kind === 'spaces' || kind === 'header-spaces');
  const mayBeProse = delimiter === ',' && isSpaced && types.every((type) => type === 'text');
  if (fault === null && types.length > 1 && rows > 0 && !mayBeProse) return;
  const why = fault?.message ?? 'nothing shows that its lines are rows of cells';
  throw new NotOneTable(`${name} is not certainly a table (${why})`, 'unread', {
    hint: `if it is one, ${fault ? 'correct that and ' : ''}save it as .csv; if it is none, set \`import: never\``,
  });
};

/** Temporary files of text: unpacked, and fixed. */
export const textPaths = (into: string) => [`${into}.raw`, `${into}.fixed`] as const;

const readingOf = (steps: readonly Step[]): Pick<Step, (typeof inputSteps)[number]> =>
  Object.assign({}, ...steps.filter((step) => inputSteps.some((name) => name in step)));

/** Throws for a step that is about text. */
const refuseSteps = (given: Record<string, unknown>, name: string): void => {
  const key = Object.keys(given).find((each) => given[each] !== undefined);
  if (key !== undefined) throw misplaced(key, name, 'text');
};
