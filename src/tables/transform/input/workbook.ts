// Opens one sheet of a workbook (.xlsx) as a table, read as a stream; only the shared texts are held in memory.
import { posix } from 'node:path';
import type { Entry } from 'yauzl';
import { TableFaultError, TableInputError } from '../../../model/errors.ts';
import { listed } from '../../../util/plural.ts';
import { sniffBytes } from '../../scan/encodings.ts';
import { faultOf } from '../../scan/fault-kinds.ts';
import { titlesAbove } from '../../scan/faults.ts';
import { findLayout } from '../../scan/layout.ts';
import { csvLine } from '../bad-rows.ts';
import {
  type Limits,
  type MakingReport,
  NotOneTable,
  noHeader,
  type Row,
  shown,
  type Table,
  tooLarge,
} from '../row.ts';
import type { Archive } from './bytes.ts';
import { resumed } from './delimited.ts';
import { stylesShow } from './number-format.ts';
import { readSheet, readXml, type SheetContent, type SheetFacts, unescaped, type XmlEvents } from './workbook-sheet.ts';

/** Most characters of shared texts that are held in memory; each text counts for a few more. */
const mostShared = 128 * 1024 * 1024;
const eachShared = 8;

/** Most relations and cell styles of a workbook; its usual programs stop at 64,000 styles. */
const mostParts = 100_000;

interface Sheet {
  name: string;
  path: string;
  hidden: boolean;
}

/**
 * Opens a sheet by name or number (from 1); null: the only one that is not hidden and has values. Blank rows, and
 * empty columns, are left out, and titles above the header where it `fixes`. Throws a NotOneTable when no sheet has
 * values, or several have and none is named. `skip`: rows above the header, where given.
 */
export const openWorkbook = async (
  archive: Archive,
  wanted: string | number | null,
  { skip, limits, report, fixes }: { skip: number | undefined; limits: Limits; report: MakingReport; fixes: boolean },
): Promise<Table> => {
  const parts = await partsOf(archive);
  const { sheets, since1904 } = await sheetsOf(archive, parts);
  const sheet = await chosenSheet(archive, { sheets, wanted, limits });
  report.notes.push(`sheet ${shown(sheet.name)} of a workbook`);
  const body = newBody(sheet.name);
  const rows = readSheet(archive, part(archive, sheet.path), {
    sheet: sheet.name,
    shared: await sharedTexts(archive, parts.shared, limits),
    styles: await stylesOf(archive, parts.styles),
    since1904,
    limits,
    onEnd: (facts) => endSheet(facts, body, report),
  });
  const below: Row[] = [];
  while (below.length < 2) {
    const next = await rows.next();
    if (next.done) break;
    body.last = next.value.at(-1)?.line ?? 0;
    below.push(...next.value.filter(({ line }) => line > (skip ?? 0)));
    body.header = below[0]?.line ?? 1;
  }
  const titles = skip === undefined ? titlesOf(below, sheet.name, fixes) : 0;
  if (titles > 0) report.fixes.push('the rows above the header are left out');
  const header = below.splice(0, titles + 1)[titles];
  if (header === undefined) throw noHeader(body.last + 1, sheet.name);
  if (header.fault !== undefined) throw header.fault;
  body.header = header.line;
  const indent = Math.min(...[header, ...below.slice(0, 1000)].map(({ cells }) => firstFilled(cells)));
  if (indent > 0)
    report.notes.push(`left out: ${indent === 1 ? 'an empty column' : `${indent} empty columns`} before the table`);
  const columns = header.cells.slice(indent);
  Object.assign(body, { width: columns.length, indent, last: header.line });
  const places = { name: sheet.name, header: header.line, indent };
  return { columns, sheet: places, batches: fitted(resumed(below, rows), body), close: () => rows.return(undefined) };
};

const firstFilled = (cells: string[]): number => cells.findIndex((cell) => cell.trim() !== '');

/** How many rows are titles above the header, judged as those of a text; throws for them where they are not left out. */
const titlesOf = (rows: Row[], sheet: string, fixes: boolean): number => {
  const [first] = rows;
  const width = Math.max(...rows.map(({ cells }) => cells.length));
  const filled = first?.cells.filter((cell) => cell !== '').length ?? 0;
  if (first === undefined || filled > Math.max(1, width / 2)) return 0;
  const { line } = first;
  const { titleRows, candidates = [], division } = findLayout(exported(rows, width), true, { delimiter: ',' });
  if (division) throw faultOf('undivided', { line, sheet }, division);
  const keys = candidates.map(({ key }) => key.replace(/\d+/, (skip) => String(Number(skip) + line - 1)));
  if (keys.length > 0) throw faultOf('layout-unclear', { line, sheet }, { keys });
  if (titleRows > 0 && fixes) return rows.findIndex((row) => row.line === line + titleRows);
  if (titleRows > 0) throw titlesAbove(line, line + titleRows, sheet);
  const column = [...first.cells, ''].indexOf('', firstFilled(first.cells)) + 1;
  if (column > width) return 0;
  throw faultOf('header-empty', { line, column, sheet }, { delimiter: ',', isTail: false, isMostly: true });
};

/** As spreadsheet programs export rows: in lines of the same width, also blank ones, each of one line; here all in quotes. */
const exported = (rows: Row[], width: number): Buffer => {
  let text = '';
  let last = rows[0]?.line ?? 1;
  for (const { cells, line } of rows) {
    if (line - last > 100 || text.length > sniffBytes) break;
    const blank = csvLine(Array.from({ length: width }, () => ''));
    const padded = Array.from({ length: width }, (_, at) => cells[at]?.replaceAll(/[\s"]+/g, ' ') ?? '');
    text += `${blank.repeat(Math.max(0, line - last - 1))}${padded.map((cell) => cell && `"${cell}"`).join()}\n`;
    last = line;
  }
  return Buffer.from(text);
};

/** What is known of the table while its rows are read. */
const newBody = (sheet: string) => ({ sheet, header: 1, width: 0, indent: 0, rows: 0, last: 0, blank: 0 });
type Body = ReturnType<typeof newBody>;

/** Takes rows from behind the indent, and pads them to the width of the header, as sheets hold no empty cells. */
async function* fitted(batches: AsyncIterable<Row[]>, body: Body): AsyncGenerator<Row[]> {
  const { width, indent, header, sheet } = body;
  for await (const batch of batches) {
    for (const { cells, line } of batch) {
      const at = firstFilled(cells);
      if (at < indent) {
        throw new TableFaultError(
          `the header cell is empty, although row ${line} has a value below it`,
          { code: 'table-header', line: header, column: at + 1, sheet },
          { hint: 'give the column a name, or clear it' },
        );
      }
      cells.splice(0, indent);
      while (cells.length < width) cells.push('');
      body.blank += Math.max(0, line - body.last - 1);
      body.last = line;
    }
    body.rows += batch.length;
    yield batch;
  }
}

const endSheet = ({ unresolved, merged }: SheetFacts, body: Body, report: MakingReport): void => {
  const { sheet, header, width, indent, rows, last, blank } = body;
  const { count, first } = unresolved;
  const what = `${count === 1 ? '1 formula has' : `${count} formulas have`} no result in the file, the first of them ${first}`;
  const hint = 'open the workbook in a spreadsheet program and save it, which stores the results';
  if (count > 0 && rows === 0) {
    throw new TableFaultError(`no row has a value: ${what}`, { code: 'table-formula', line: header, sheet }, { hint });
  }
  if (count > 0) report.warnings.push(`${what}: rows without any other value are left out; ${hint}`);
  const inTable = merged.find(({ column, top }) => top > header && top <= last && column <= indent + width);
  if (inTable !== undefined) {
    const { column, top, bottom } = inTable;
    throw new TableFaultError(
      `rows ${top} to ${bottom} share one merged cell, so only the first of them has its value`,
      { code: 'table-ragged', line: top, column, sheet },
      { hint: 'unmerge the cells, and fill in the value in each row' },
    );
  }
  if (blank > 0)
    report.fixes.push(`blank rows are left out${blank === 1 ? '' : ` (${blank.toLocaleString('en')} of them)`}`);
};

/** The candidates where no sheet is named: of several visible ones those with a value, the first two of them. */
const filledSheets = async (archive: Archive, sheets: Sheet[], limits: Limits): Promise<Sheet[]> => {
  const seen = sheets.filter(({ hidden }) => !hidden);
  if (seen.length < 2) return seen;
  const filled: Sheet[] = [];
  const known = new Map<string, boolean>(); // each part is read once, however many sheets refer to it
  for (const sheet of seen) {
    const isFilled = known.get(sheet.path) ?? (await hasValues(archive, sheet, limits));
    known.set(sheet.path, isFilled);
    if (isFilled) filled.push(sheet);
    if (filled.length === 2) break;
  }
  return filled;
};

const hasValues = async (archive: Archive, { path }: Sheet, limits: Limits): Promise<boolean> => {
  const entry = archive.entry(path);
  if (entry === undefined) return true; // reported once it is read
  let isFilled = false;
  const open = (name: string): void => {
    isFilled ||= name === 'v' || name === 't';
  };
  for await (const _ of readXml(archive.read(entry), { what: archive.name, events: { open }, limits }))
    if (isFilled) break;
  return isFilled;
};

const chosenSheet = async (
  archive: Archive,
  { sheets, wanted, limits }: { sheets: Sheet[]; wanted: string | number | null; limits: Limits },
): Promise<Sheet> => {
  const names = listed(sheets.map(({ name, hidden }) => `${shown(name)}${hidden ? ' (hidden)' : ''}`));
  if (wanted === null) {
    const [first, second] = await filledSheets(archive, sheets, limits);
    if (first === undefined) throw new NotOneTable(`${archive.name} has no sheet with values: ${names}`, 'nothing', {});
    if (second === undefined) return first;
    throw new NotOneTable(`${archive.name} has several sheets with values: ${names}`, 'several', {
      hint: `save each as a file of its own, or name one: \`sheet: ${JSON.stringify(first.name)}\`, or publish the file as it is: \`import: never\``,
    });
  }
  const found = typeof wanted === 'number' ? sheets[wanted - 1] : sheets.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  throw new TableInputError(`${archive.name} has no sheet ${JSON.stringify(wanted)}; it has ${names}`, {
    hint: 'correct `sheet`',
  });
};

const part = (archive: Archive, path: string): Entry => {
  const entry = archive.entry(path);
  if (entry !== undefined) return entry;
  throw new TableInputError(`${archive.name} is not a workbook: it has no ${shown(path)}`, {
    hint: 'save it again as .xlsx; old .xls files and other formats are not supported',
  });
};

/** The parts of a workbook, found by its relationships; names are compared without case, as its programs do. */
const partsOf = async (archive: Archive) => {
  const roots = await relationships(archive, '/');
  const book = roots.find(({ type }) => type === 'officedocument')?.path ?? '/xl/workbook.xml';
  part(archive, book);
  const related = await relationships(archive, book);
  const one = (type: string, usual: string): Entry | undefined => {
    const named = related.find((relation) => relation.type === type);
    return named === undefined ? archive.entry(posix.join(posix.dirname(book), usual)) : part(archive, named.path);
  };
  return {
    book,
    targets: new Map(related.map(({ id, path }) => [id, path])),
    shared: one('sharedstrings', 'sharedStrings.xml'),
    styles: one('styles', 'styles.xml'),
  };
};

/** What a part refers to: `type` is the last word of the type in lower case, such as `worksheet`, `path` from the root. */
const relationships = async (archive: Archive, path: string) => {
  const folder = posix.dirname(path);
  const entry = archive.entry(posix.join(folder, '_rels', `${posix.basename(path)}.rels`));
  const found: { id: string; type: string; path: string }[] = [];
  await eachTag(archive, entry, (name, { Id: id = '', Type: type = '', Target: target = '', TargetMode: mode }) => {
    if (name !== 'Relationship' || mode === 'External') return;
    const to = posix.resolve(folder, target.replaceAll('\\', '/'));
    found.push({ id, type: posix.basename(type).toLowerCase(), path: to });
    refuseMore(archive, found.length, mostParts);
  });
  return found;
};

const sheetsOf = async (archive: Archive, { book, targets }: Awaited<ReturnType<typeof partsOf>>) => {
  const sheets: Sheet[] = [];
  let since1904 = false;
  await eachTag(archive, part(archive, book), (name, found) => {
    if (name === 'workbookPr') since1904 = found.date1904 === '1' || found.date1904 === 'true';
    if (name !== 'sheet') return;
    const [, id = ''] = Object.entries(found).find(([key]) => /(?:^|:)id$/.test(key)) ?? [];
    const hidden = found.state !== undefined && found.state !== 'visible';
    sheets.push({ name: found.name ?? '', path: targets.get(id) ?? `the sheet ${id}`, hidden });
    refuseMore(archive, sheets.length, 1000);
  });
  return { sheets, since1904 };
};

const refuseMore = (archive: Archive, count: number, most: number): void => {
  if (count <= most) return;
  throw new TableInputError(`${archive.name} lists more than ${most.toLocaleString('en')} sheets or styles`, {
    hint: 'save it again with the program that made it, or export the sheet as CSV',
  });
};

/** Texts that cells refer to by index, without phonetic hints. */
const sharedTexts = async (archive: Archive, entry: Entry | undefined, limits: Limits): Promise<string[]> => {
  const texts: string[] = [];
  let text = '';
  let held = 0;
  const depth = { t: 0, rPh: 0 };
  await read(archive, entry, {
    open: (name) => {
      if (name === 'si') text = '';
      if (name === 't' || name === 'rPh') depth[name]++;
    },
    text: (piece) => {
      if (depth.t > 0 && depth.rPh === 0) text += piece;
    },
    close: (name) => {
      if (name === 't' || name === 'rPh') depth[name]--;
      if (name !== 'si') return;
      held += text.length + eachShared;
      if (held > mostShared) throw tooLarge(`the texts of ${archive.name}`, { ...limits, tableBytes: mostShared });
      texts.push(unescaped(text));
    },
  });
  return texts;
};

const stylesOf = async (archive: Archive, entry: Entry | undefined): Promise<SheetContent['styles']> => {
  const formats = new Map<number, string>();
  const cells: number[] = [];
  await eachTag(archive, entry, (name, found, parent) => {
    if (name === 'numFmt') formats.set(Number(found.numFmtId), found.formatCode ?? '');
    if (name === 'xf' && parent === 'cellXfs') cells.push(Number(found.numFmtId ?? 0));
    refuseMore(archive, cells.length + formats.size, mostParts);
  });
  return stylesShow(cells, formats);
};

const read = async (archive: Archive, entry: Entry | undefined, events: XmlEvents): Promise<void> => {
  if (entry === undefined) return;
  const limits = { rowBytes: 16 * 1024 * 1024 };
  for await (const _ of readXml(archive.read(entry), { what: archive.name, events, limits }));
};

type OnTag = (name: string, found: Record<string, string | undefined>, parent: string | undefined) => void;

const eachTag = async (archive: Archive, entry: Entry | undefined, onTag: OnTag): Promise<void> => {
  const parents: string[] = [];
  await read(archive, entry, {
    open: (name, found) => {
      onTag(name, found, parents.at(-1));
      parents.push(name);
    },
    close: () => void parents.pop(),
  });
};
