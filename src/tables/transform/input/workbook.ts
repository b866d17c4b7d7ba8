// Opens one sheet of a workbook (.xlsx) as a table, read as a stream; only the shared texts are held in memory.
import type { Entry } from 'yauzl';
import { TableInputError } from '../../../model/errors.ts';
import { type Limits, NotOneTable, noHeader, type Row, shown, type Table, tooLarge } from '../row.ts';
import type { Archive } from './archive.ts';
import { resumed } from './delimited.ts';
import { stylesShow } from './number-format.ts';
import { readSheet, type SheetContent, unescaped } from './workbook-sheet.ts';
import { attributes, readXml, type XmlEvents } from './xml.ts';

/** Most characters of shared texts that are held in memory; each text counts for a few more. */
const mostShared = 128 * 1024 * 1024;
const eachShared = 8;

/** Most sheets, relations and cell styles of a workbook; its usual programs stop at 64,000 styles. */
const mostParts = 100_000;

interface Sheet {
  name: string;
  path: string;
  hidden: boolean;
}

/**
 * Opens a sheet by name or number (from 1); null: the only one that is not hidden. Dates become ISO 8601, formulas their
 * last result, empty rows are left out. Formulas without a result, which programs write that do not compute, are reported
 * through `note` at the end of the sheet.
 *
 * @throws TableInputError when it is no workbook, or the sheet is not there or not named although there are several
 */
export const openWorkbook = async (
  archive: Archive,
  wanted: string | number | null,
  { skip, limits, note }: { skip: number; limits: Limits; note: (line: string) => void },
): Promise<Table> => {
  const { sheets, since1904 } = await sheetsOf(archive);
  const filled = wanted === null ? await filledSheets(archive, sheets, limits) : sheets;
  const sheet = chosenSheet(archive, filled, wanted);
  note(`sheet ${shown(sheet.name)} of a workbook`);
  const content: SheetContent = {
    sheet: sheet.name,
    shared: await sharedTexts(archive, limits),
    styles: await stylesOf(archive),
    since1904,
    limits,
    note,
  };
  const rows = readSheet(archive, part(archive, sheet.path), content);
  let first: Row[] = [];
  let header: Row | undefined;
  let last = 0;
  while (header === undefined) {
    const next = await rows.next();
    if (next.done) throw noHeader(last + 1);
    first = next.value;
    last = first.at(-1)?.line ?? last;
    first = first.filter(({ line }) => line > skip);
    header = first.shift();
  }
  const indent =
    header.cells[0] === ''
      ? await emptyColumns(readSheet(archive, part(archive, sheet.path), { ...content, note: () => undefined }), skip)
      : 0;
  if (indent > 0) note(`left out: ${indent === 1 ? 'an empty column' : `${indent} empty columns`} before the table`);
  const columns = header.cells.slice(indent);
  const batches = fitted(resumed(first, rows), { width: columns.length, indent });
  return { columns, batches, close: () => rows.return(undefined) };
};

/** How many leading columns are empty in every row below `skip`. */
const emptyColumns = async (batches: AsyncGenerator<Row[]>, skip: number): Promise<number> => {
  let count = Number.POSITIVE_INFINITY;
  for await (const batch of batches) {
    for (const { line, cells } of batch) {
      const at = line > skip ? cells.findIndex((cell) => cell !== '') : -1;
      if (at >= 0 && at < count) count = at;
    }
    if (count === 0) break;
  }
  return Number.isFinite(count) ? count : 0;
};

/** The candidates where no sheet is named: of several visible ones those with a value. */
const filledSheets = async (archive: Archive, sheets: Sheet[], limits: Limits): Promise<Sheet[]> => {
  const seen = sheets.filter(({ hidden }) => !hidden);
  if (seen.length < 2) return sheets;
  const empty = new Set<Sheet>();
  for (const sheet of seen) if (!(await hasValues(archive, sheet, limits))) empty.add(sheet);
  return empty.size === seen.length ? sheets : sheets.filter((sheet) => !empty.has(sheet));
};

const hasValues = async (archive: Archive, { path }: Sheet, limits: Limits): Promise<boolean> => {
  const entry = archive.entries.get(path);
  if (entry === undefined) return true; // reported once it is read
  let isFilled = false;
  const events: XmlEvents = {
    open: (name) => {
      if (name === 'v' || name === 't') isFilled = true;
    },
  };
  for await (const _ of readXml(archive.read(entry), { what: archive.name, events, limits })) if (isFilled) break;
  return isFilled;
};

/** Pads or cuts rows to the width of the header, because workbooks omit empty cells at the end of a row. */
async function* fitted(
  batches: AsyncIterable<Row[]>,
  { width, indent }: { width: number; indent: number },
): AsyncGenerator<Row[]> {
  for await (const batch of batches) {
    for (const { cells } of batch) {
      cells.splice(0, indent);
      while (cells.length < width) cells.push('');
      while (cells.length > width && cells.at(-1) === '') cells.pop();
    }
    yield batch;
  }
}

const chosenSheet = (archive: Archive, sheets: Sheet[], wanted: string | number | null): Sheet => {
  const names = sheets.map(({ name, hidden }) => `${shown(name)}${hidden ? ' (hidden)' : ''}`).join(', ');
  if (wanted === null) {
    const seen = sheets.filter(({ hidden }) => !hidden);
    const [only] = seen;
    if (only !== undefined && seen.length === 1) return only;
    throw new NotOneTable(`${archive.name} has ${seen.length} sheets: ${names}`, {
      hint: `name one: \`sheet: ${JSON.stringify(seen[0]?.name ?? 'Sheet1')}\``,
    });
  }
  const found = typeof wanted === 'number' ? sheets[wanted - 1] : sheets.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  throw new TableInputError(`${archive.name} has no sheet ${JSON.stringify(wanted)}; it has ${names}`, {
    hint: 'correct `sheet`',
  });
};

const part = (archive: Archive, path: string): Entry => {
  const entry = archive.entries.get(path);
  if (entry !== undefined) return entry;
  throw new TableInputError(`${archive.name} is not a workbook: it has no ${path}`, {
    hint: 'save it again as .xlsx; old .xls files and other formats are not supported',
  });
};

const sheetsOf = async (archive: Archive): Promise<{ sheets: Sheet[]; since1904: boolean }> => {
  const targets = new Map<string, string>();
  await read(archive, part(archive, 'xl/_rels/workbook.xml.rels'), {
    open: (name, tag) => {
      if (name !== 'Relationship') return;
      targets.set(attributes(tag).Id ?? '', attributes(tag).Target ?? '');
      refuseMore(archive, targets.size);
    },
  });
  const sheets: Sheet[] = [];
  let since1904 = false;
  await read(archive, part(archive, 'xl/workbook.xml'), {
    open: (name, tag) => {
      const found = attributes(tag);
      if (name === 'workbookPr') since1904 = found.date1904 === '1' || found.date1904 === 'true';
      if (name !== 'sheet') return;
      const target = targets.get(found['r:id'] ?? found.id ?? '') ?? '';
      const path = target.startsWith('/') ? target.slice(1) : `xl/${target}`;
      sheets.push({ name: found.name ?? '', path, hidden: found.state !== undefined && found.state !== 'visible' });
      refuseMore(archive, sheets.length);
    },
  });
  return { sheets, since1904 };
};

const refuseMore = (archive: Archive, count: number): void => {
  if (count <= mostParts) return;
  throw new TableInputError(`${archive.name} lists more than ${mostParts.toLocaleString('en')} sheets or styles`, {
    hint: 'save it again with the program that made it, or export the sheet as CSV',
  });
};

/** Texts that cells refer to by index, without phonetic hints. */
const sharedTexts = async (archive: Archive, limits: Limits): Promise<string[]> => {
  const entry = archive.entries.get('xl/sharedStrings.xml');
  const texts: string[] = [];
  if (entry === undefined) return texts;
  let text = '';
  let held = 0;
  const depth = { text: 0, phonetic: 0 };
  await read(archive, entry, {
    open: (name) => {
      if (name === 'si') text = '';
      if (name === 't') depth.text++;
      if (name === 'rPh') depth.phonetic++;
    },
    text: (piece) => {
      if (depth.text > 0 && depth.phonetic === 0) text += piece;
    },
    close: (name) => {
      if (name === 't') depth.text--;
      if (name === 'rPh') depth.phonetic--;
      if (name !== 'si') return;
      held += text.length + eachShared;
      if (held > mostShared) throw tooLarge(`the texts of ${archive.name}`, { ...limits, bytes: mostShared });
      texts.push(unescaped(text));
    },
  });
  return texts;
};

/** Which cell styles show dates, and how. */
const stylesOf = async (archive: Archive): Promise<SheetContent['styles']> => {
  const entry = archive.entries.get('xl/styles.xml');
  const formats = new Map<number, string>();
  const cells: number[] = [];
  let inCells = false;
  if (entry !== undefined) {
    await read(archive, entry, {
      open: (name, tag) => {
        const found = attributes(tag);
        if (name === 'numFmt') formats.set(Number(found.numFmtId), found.formatCode ?? '');
        if (name === 'cellXfs') inCells = true;
        if (name === 'xf' && inCells) cells.push(Number(found.numFmtId ?? 0));
        refuseMore(archive, cells.length + formats.size);
      },
      close: (name) => {
        if (name === 'cellXfs') inCells = false;
      },
    });
  }
  return stylesShow(cells, formats);
};

/** Limits for parts that only describe the workbook. */
const describing: Limits = {
  bytes: Number.MAX_SAFE_INTEGER,
  rowBytes: 16 * 1024 * 1024,
  columns: 0,
  ratio: 0,
  freeBytes: 0,
};

const read = async (archive: Archive, entry: Entry, events: XmlEvents): Promise<void> => {
  for await (const _ of readXml(archive.read(entry), { what: archive.name, events, limits: describing }));
};
