// Opens a source as a table by its name: delimited text, JSON, a workbook, or one of these in an archive or gzip.
import { writeFile } from 'node:fs/promises';
import { kindOfBytes, namedByBytes } from '../../../dataset-api/file-types.ts';
import { TableInputError } from '../../../model/errors.ts';
import { isConvertible, type TableRecipe } from '../../../model/recipe/recipe.ts';
import { inputSteps, type Step } from '../../../model/recipe/steps.ts';
import type { CancelFlag } from '../../../util/worker-pool.ts';
import { fixSafely } from '../../fix/fix-worker.ts';
import { portalDelimiter } from '../../scan/dialect.ts';
import { fileChunks, signatureOf } from '../../scan/open-table.ts';
import { type Limits, type MakingReport, NotOneTable, shown, type Table, tooManyColumns } from '../row.ts';
import { headerOf } from '../step/cells.ts';
import { type Archive, listed, openArchive } from './archive.ts';
import { type Bytes, fileBytes } from './bytes.ts';
import { openDelimited, type ReadingOptions } from './delimited.ts';
import { jsonFormat, openJson } from './json-rows.ts';
import { openWorkbook } from './workbook.ts';

interface Opened {
  table: Table;
  close: () => void;
}

interface OpenOptions {
  path: string;
  name: string;
  recipe: Pick<TableRecipe, 'asked' | 'sheet' | 'member' | 'steps' | 'mend'>;
  limits: Limits;
  cancelled: CancelFlag;
  /** Prefix of the names of temporary files, which the caller removes. */
  into: string;
  report: MakingReport;
}

/** Opens a source; throws a {@link NotOneTable} when it is sound but holds no table, or several. */
export const openSource = async (options: OpenOptions): Promise<Opened> => {
  const { recipe, limits, report } = options;
  const { table, close } = await openedBy(options);
  try {
    if (table.columns.length > limits.columns) throw tooManyColumns(table.columns.length, limits);
    const { columns, note } = headerOf(table.columns, readingOf(recipe.steps).header ?? {});
    if (note !== null) report.notes.push(note);
    return { table: { ...table, columns }, close };
  } catch (error) {
    await table.close?.();
    close();
    throw error;
  }
};

const openedBy = async (options: OpenOptions): Promise<Opened> => {
  const { path, name, recipe } = options;
  if (/\.(?:xls[xm]|zip)$/i.test(name))
    return openedArchive(options, (archive) =>
      isWorkbook(archive, name) ? workbookOf(archive, options) : memberOf(archive, options),
    );
  if (recipe.member !== null) throw misplaced('member', name, '.zip');
  if (recipe.sheet !== null) throw misplaced('sheet', name, '.xlsx');
  return { table: await textTable(fileBytes(path, name, options), name, options), close: () => undefined };
};

const misplaced = (key: string, name: string, ending: string): TableInputError =>
  new TableInputError(`\`${key}\` is for ${ending} files; ${name} is not one`, { hint: `leave out \`${key}\`` });

const otherThan = (name: string, is: string): TableInputError =>
  new TableInputError(`${name} is ${is}`, {
    hint: 'save it as .xlsx without a password, or as CSV, and check what the address or program actually returned',
  });

const textInstead = (name: string, kind: string): TableInputError =>
  new TableInputError(`${name} is a table of text, not a ZIP archive or a workbook`, {
    hint: `rename it to ${namedByBytes(name, kind)}, or export it again in the format of its name`,
  });

const openedArchive = async (options: OpenOptions, open: (archive: Archive) => Promise<Table>): Promise<Opened> => {
  const [head = Buffer.alloc(0)] = fileChunks(options.path, options.cancelled);
  const is = signatureOf(head);
  if (is !== null && !is.startsWith('a ZIP')) throw otherThan(options.name, is);
  const kind = kindOfBytes(head);
  if (kind === 'csv' || kind === 'tsv') throw textInstead(options.name, kind);
  const archive = await openArchive(options.path, options);
  try {
    return { table: await open(archive), close: () => archive.close() };
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

/** Lines above the header; null where no step says so. */
const skippedBy = (steps: readonly Step[]): number | null => {
  const { skipRows, header: { row } = {} } = readingOf(steps);
  return skipRows === undefined && row === undefined ? null : (skipRows ?? 0) + (row ?? 1) - 1;
};

/** Extensions of tables, the first match counts: a text or JSON file beside a CSV only describes it. */
const tableMembers = [/\.(?:csv|tsv)$/i, /\.(?:ndjson|jsonl)$/i, /\.(?:json|txt|tab)$/i];

const tablesIn = (names: string[]): string[] => {
  const seen = names.filter((name) => !/(?:^|\/)(?:\.|__MACOSX\/)/.test(name));
  for (const ending of tableMembers) {
    const tables = seen.filter((name) => ending.test(name));
    if (tables.length > 0) return tables;
  }
  return [];
};

const memberOf = async (archive: Archive, options: OpenOptions): Promise<Table> => {
  const { recipe, report } = options;
  if (recipe.sheet !== null) throw misplaced('sheet', archive.name, '.xlsx');
  const names = [...archive.entries.keys()];
  const tables = tablesIn(names);
  const name = recipe.member ?? tables[0];
  if (name === undefined || (recipe.member === null && tables.length > 1)) {
    throw new NotOneTable(
      tables.length === 0
        ? `${archive.name} holds no table (.csv, .tsv, .ndjson, .json)`
        : `${archive.name} holds ${tables.length} tables: ${listed(tables.map(shown))}`,
      {
        hint: `name one: \`member: ${tables[0] ?? 'data.csv'}\`, or publish the archive as it is: \`import: never\``,
        hasRows: tables.length > 0 || names.some((inside) => isConvertible(inside)),
        isSeveral: tables.length > 1,
      },
    );
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
    : delimitedTable(bytes, options);

const jsonTable = async (bytes: Bytes, name: string, { recipe, limits, report }: OpenOptions): Promise<Table> => {
  const { encoding, delimiter, skipRows, header = {} } = readingOf(recipe.steps);
  if (recipe.asked) refuseSteps({ encoding, delimiter, skipRows, 'header.row': header.row }, name);
  const format = /\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(name) ? 'lines' : await jsonFormat(bytes, name);
  report.notes.push(format === 'lines' ? 'one JSON object a line' : 'a JSON array');
  return openJson(bytes, format, limits);
};

/** Packed text is unpacked to a file, to be read as any other. */
const delimitedTable = async (bytes: Bytes, options: OpenOptions): Promise<Table> => {
  const { recipe, limits, cancelled, into, report } = options;
  const { encoding = null, delimiter = null } = readingOf(recipe.steps);
  const skip = skippedBy(recipe.steps);
  const isPacked = /\.(?:gz|zip|xls[xm])$/i.test(options.name);
  const path = isPacked ? unpackedPath(into) : options.path;
  if (isPacked) await writeFile(path, bytes());
  const given = { encoding, delimiter: delimiter === 'tab' ? '\t' : delimiter, skip, limits, cancelled };
  const fixed = recipe.mend === undefined ? null : fixedText(path, given, options);
  return openDelimited(fixed === null ? path : fixedPath(into), { ...given, ...fixed }, report);
};

const unpackedPath = (into: string): string => `${into}.raw`;
const fixedPath = (into: string): string => `${into}.fixed`;

export const textPaths = (into: string): string[] => [unpackedPath(into), fixedPath(into)];

/** Writes the text with safe fixes; tells how to read it, null when there is nothing to fix. */
const fixedText = (
  path: string,
  { encoding, delimiter, skip, limits, cancelled }: ReadingOptions,
  { into, report }: OpenOptions,
): Pick<ReadingOptions, 'encoding' | 'delimiter' | 'skip'> | null => {
  const given = {
    encoding: encoding === 'utf-8' ? undefined : (encoding ?? undefined),
    delimiter: delimiter ?? undefined,
    skipRows: skip ?? undefined,
  };
  const fixed = fixSafely({ path, rowBytes: limits.rowBytes, cancelled, ...given }, fixedPath(into));
  if (fixed === null) return null;
  report.mended.push(...fixed.fixes);
  return { encoding: null, delimiter: portalDelimiter(fixed.inspection.delimiter), skip: 0 };
};

const readingOf = (steps: readonly Step[]): Pick<Step, (typeof inputSteps)[number]> =>
  Object.assign({}, ...steps.filter((step) => inputSteps.some((name) => name in step)));

/** Throws for a step that is about text. */
const refuseSteps = (given: Record<string, unknown>, name: string): void => {
  const key = Object.keys(given).find((each) => given[each] !== undefined);
  if (key !== undefined) throw misplaced(key, name, 'text');
};
