// Faults of tabular files, worded for the person who made the file: what, where, what to do.
import { TableFaultError } from '../../model/errors.ts';
import { has, quoteFaults } from './byte-class.ts';
import type { CellPosition, CellScanner } from './cell-scanner.ts';
import { delimiterName, type LayoutCandidate } from './dialect.ts';

/** The hint for files in most other encodings. */
export const saveAsUtf8 = 'save the file again as UTF-8 (in Excel: "CSV UTF-8 (Comma delimited)") and publish it again';

/** A byte as `0x1F`. */
export const hex = (byte: number): string => `0x${byte.toString(16).toUpperCase().padStart(2, '0')}`;

/** What a byte would be in the most common encoding besides UTF-8. */
const inWindows1252 = (byte: number): string =>
  byte >= 0xa1 ? `; in Windows-1252 (Latin-1) it is "${String.fromCharCode(byte)}"` : '';

/** The file has bytes that are not UTF-8; `offset` counts bytes of the file from 0. */
export const notUtf8 = (place: CellPosition, byte: number, offset: number): TableFaultError =>
  new TableFaultError(
    `the file is not valid UTF-8: byte ${offset + 1} of the file is ${hex(byte)}${inWindows1252(byte)}`,
    { code: 'table-encoding', ...place },
    { hint: saveAsUtf8 },
  );

/** The file ends in the middle of a character. */
export const cutCharacter = (place: CellPosition, offset: number): TableFaultError =>
  new TableFaultError(
    `the file ends in the middle of a UTF-8 character (byte ${offset + 1}); it may have been cut off`,
    { code: 'table-encoding', ...place },
    { hint: 'copy or export the file again in full' },
  );

/** The file is UTF-16 or UTF-32. */
export const wideEncoding = (name: string): TableFaultError =>
  new TableFaultError(
    `the file is ${name} ("Unicode Text" in Excel), not UTF-8`,
    { code: 'table-encoding', line: 1 },
    { hint: saveAsUtf8 },
  );

/** The file holds a byte 0. */
const nulByte = (place: CellPosition, offset: number): TableFaultError =>
  new TableFaultError(
    `the file holds a NUL byte (byte ${offset + 1} of the file), which tables must not contain`,
    { code: 'table-encoding', ...place },
    {
      hint: 'check that this is a text file and not a spreadsheet, an archive or a damaged copy; export it again as CSV',
    },
  );

/** The file has no rows at all. */
export const emptyFile = (): TableFaultError =>
  new TableFaultError(
    'the file is empty: there is no header row',
    { code: 'table-empty', line: 1 },
    { hint: 'the first line must hold the column names; export the file again' },
  );

/** The first line is blank although rows follow. */
export const blankHeader = (): TableFaultError =>
  new TableFaultError(
    'the first line is blank; it must hold the column names',
    { code: 'table-header', line: 1 },
    { hint: 'remove the blank lines at the top of the file' },
  );

/** Titles or notes are above the header, in a file or a sheet of a workbook. */
export const titlesAbove = (line: number, header: number, sheet?: string): TableFaultError => {
  const unit = sheet === undefined ? 'line' : 'row';
  return new TableFaultError(
    `titles or notes precede the header in ${unit} ${header}`,
    { code: 'table-header', line, sheet },
    {
      hint: `remove the ${unit}s above the header, or skip them with \`skipRows: ${header - 1}\`; a title belongs in the title of the resource`,
    },
  );
};

/** The key that decides for one of several ways to read a table. */
export const keyOf = ({ skipRows, delimiter }: LayoutCandidate, others: LayoutCandidate[]): string => {
  if (others.some((other) => other.skipRows !== skipRows)) return `skipRows: ${skipRows}`;
  return `delimiter: ${delimiter === '\t' ? 'tab' : JSON.stringify(delimiter)}`;
};

/** The file does not decide how it is to be read. */
export const unclearLayout = (candidates: LayoutCandidate[]): TableFaultError => {
  const keys = candidates.map((one) => keyOf(one, candidates));
  const key = keys[0]?.replace(/:.*/, '') ?? '';
  const option = key === 'skipRows' ? '--skip-rows' : '--delimiter';
  const place = key === 'skipRows' ? 'the manifest' : 'the first step of `table`';
  return new TableFaultError(
    'the table is ambiguous: the file does not determine which row is the header, or what separates the cells',
    { code: 'table-header', line: 1 },
    { hint: `set the right one in ${place}: \`${keys.join('` or `')}\`; try it with \`sluice check ${option}\`` },
  );
};

/** A header cell is empty; `trailing` when only empty cells follow it. */
export const emptyHeaderCell = (place: CellPosition, trailing: boolean, delimiter: string): TableFaultError =>
  new TableFaultError(
    `the header cell is empty`,
    { code: 'table-header', ...place },
    {
      hint: trailing
        ? `give the column a name, or remove the ${delimiterName(delimiter)} at the end of every line`
        : 'give the column a name',
    },
  );

const shortName = (name: string): string => JSON.stringify(name.length > 40 ? `${name.slice(0, 39)}…` : name);

/** A header cell has no character that a portal keeps in a column name. */
export const unusableHeaderCell = (place: CellPosition, name: string): TableFaultError =>
  new TableFaultError(
    `the header cell ${shortName(name)} has none of the characters that portals keep in column names`,
    { code: 'table-header', ...place },
    { hint: 'use letters A to Z, digits, spaces or underscores in the name' },
  );

/** Two header cells give the same column. */
export const duplicateHeaderCell = (
  first: { column: number; name: string },
  second: CellPosition & { name: string },
  portalName: string,
): TableFaultError =>
  new TableFaultError(
    `the header cells of columns ${first.column} (${shortName(first.name)}) and ` +
      `${second.column} (${shortName(second.name)}) give the same column name on a portal: ${portalName}`,
    { code: 'table-header', line: second.line, column: second.column },
    {
      hint: 'rename one of them; portals ignore capitals and every character but A to Z, digits, spaces and underscores, and cut names to 64',
    },
  );

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** A row has another number of cells than the header. */
export const raggedRow = (row: {
  line: number;
  lastLine: number;
  found: number;
  expected: number;
}): TableFaultError => {
  const spans = row.lastLine > row.line ? ` (the row continues to line ${row.lastLine})` : '';
  const unclosed = row.lastLine > row.line ? 'a closing quote that is missing, ' : '';
  const cause = row.found > row.expected ? 'an unquoted cell with a delimiter' : 'a missing delimiter';
  return new TableFaultError(
    `the row has ${count(row.found, 'cell')}${spans}, the header has ${row.expected}`,
    { code: 'table-ragged', line: row.line },
    {
      hint: `look in that line for ${unclosed}${cause}, or a line break inside a cell; \`badRows: quarantine\` publishes the other rows`,
    },
  );
};

/** A row has text after the last delimiter although every row should end with a delimiter. */
export const noTrailingDelimiter = (place: CellPosition, delimiter: string): TableFaultError =>
  new TableFaultError(
    `the row does not end with a ${delimiterName(delimiter)} although the table is configured that way`,
    { code: 'table-ragged', ...place },
    { hint: 'correct the row, or set trailing_delimiter to false' },
  );

/** A quote is never closed before the file ends. */
const unclosedQuote = (open: CellPosition): TableFaultError =>
  new TableFaultError(
    `a quote opens here and is never closed`,
    { code: 'table-quote', ...open },
    { hint: 'add the closing quote to that cell; a quote inside a quoted cell is written twice' },
  );

/** Text follows a closing quote; the quote that opened is at `open`. */
const textAfterQuote = (open: CellPosition, close: CellPosition): TableFaultError =>
  open.line === close.line
    ? new TableFaultError(
        `text follows the closing quote of this cell`,
        { code: 'table-quote', ...open },
        {
          hint: 'double a quote inside a quoted cell; nothing may follow a closing quote but the delimiter',
        },
      )
    : new TableFaultError(
        `a quote opens here and is not closed properly: it runs on to line ${close.line}, where text follows the next quote`,
        { code: 'table-quote', ...open },
        { hint: 'add the closing quote to that cell; a quote inside a quoted cell is written twice' },
      );

/** A quote stands inside a cell that does not begin with one. */
const strayQuote = (place: CellPosition): TableFaultError =>
  new TableFaultError(
    `the cell contains a quote but does not begin with one`,
    { code: 'table-quote', ...place },
    { hint: 'quote the whole cell and double the inner quote' },
  );

/** Spaces are between the quotes of a cell and its delimiters. */
const spacedQuote = (place: CellPosition): TableFaultError =>
  new TableFaultError(
    `spaces stand around the quotes of this cell`,
    { code: 'table-quote', ...place },
    {
      hint: 'a quote stands right beside the delimiter; with a space between, portals read the quotes as part of the cell',
    },
  );

/** A row is larger than the limit; `open` where a quoted cell was still open. */
const oversizeRow = (line: number, open: CellPosition | null, limit: number): TableFaultError => {
  const size = limit >= 1e6 ? `${Math.round(limit / 1e6)} MB` : `${limit} bytes`;
  return open === null
    ? new TableFaultError(
        `the row is larger than ${size}`,
        { code: 'table-oversize', line },
        {
          hint: 'check that the rows of the file are separated by line breaks; else shorten the row, or raise `limits.row` in the configuration',
        },
      )
    : new TableFaultError(
        `a quote opens here and is not closed within ${size}`,
        { code: 'table-oversize', ...open },
        { hint: 'add the closing quote to that cell; if it is that long, raise `limits.row` in the configuration' },
      );
};

/** Marks of cells that a strict reading refuses. */
const refusedMarks = quoteFaults | has.nul;

/** Line breaks (LF, CRLF, CR) in `bytes` from `start` to before `end`. */
export const lineBreaksIn = (bytes: Uint8Array, start: number, end: number): number => {
  let breaks = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === 13 || (byte === 10 && (at === start || bytes[at - 1] !== 13))) breaks += 1;
  }
  return breaks;
};

/** The place of the byte at offset `at` of `scanner.bytes`, which is in the cell of number `cell`. */
export const placeInRow = (scanner: CellScanner, row: number, cell: number, at: number): CellPosition => ({
  line: (scanner.rowLines[row] ?? 1) + lineBreaksIn(scanner.bytes, scanner.rowStarts[row] ?? 0, at),
  column: cell - (scanner.rowCells[row] ?? 0) + 1,
});

/** Offset of the first byte of a cell, its quote included. */
export const cellOffset = (scanner: CellScanner, cell: number): number =>
  (scanner.starts[cell] ?? 0) - (((scanner.marks[cell] ?? 0) & has.quotes) !== 0 ? 1 : 0);

/** Offset after the last byte of a cell, its quote included. */
export const cellEnd = (scanner: CellScanner, cell: number): number =>
  (scanner.ends[cell] ?? 0) + (((scanner.marks[cell] ?? 0) & has.quotes) !== 0 ? 1 : 0);

/** The fault of a row that is larger than the limit; also of the one that is not complete yet, `scanner.rows`. */
export const oversizeFault = (scanner: CellScanner, row: number, rowBytes: number): TableFaultError => {
  const line = scanner.rowLines[row] ?? 1;
  const open = scanner.openInLimit;
  if (open === null || open.rowLine !== line) return oversizeRow(line, null, rowBytes);
  return oversizeRow(line, { line: open.line, column: open.column }, rowBytes);
};

/** The fault that the marks of a cell stand for. */
export const faultOfCell = (scanner: CellScanner, row: number, cell: number, rowBytes: number): TableFaultError => {
  const mark = scanner.marks[cell] ?? 0;
  const start = cellOffset(scanner, cell);
  const place = placeInRow(scanner, row, cell, start);
  if ((mark & has.unclosedInLimit) !== 0) return oversizeRow(place.line, place, rowBytes);
  if ((mark & has.unclosed) !== 0) {
    const line = scanner.wrongCloses.get(scanner.base + start);
    return line === undefined ? unclosedQuote(place) : textAfterQuote(place, { line, column: 1 });
  }
  if ((mark & has.textAfterQuote) !== 0) return textAfterQuote(place, place);
  if ((mark & has.strayQuote) !== 0) return strayQuote(place);
  if ((mark & has.quoteSpaces) !== 0) return spacedQuote(place);
  const nul = scanner.bytes.indexOf(0, start);
  return nulByte(placeInRow(scanner, row, cell, nul), scanner.base + nul);
};

/** The first fault of a row that should have `expected` cells (0: any number); null when it is sound. */
export const faultOfRow = (
  scanner: CellScanner,
  row: number,
  { expected, rowBytes }: { expected: number; rowBytes: number },
): TableFaultError | null => {
  const line = scanner.rowLines[row] ?? 1;
  if (scanner.rowOver[row] === 1) return oversizeFault(scanner, row, rowBytes);
  const [first, end] = [scanner.rowCells[row] ?? 0, scanner.rowCells[row + 1] ?? 0];
  for (let cell = first; cell < end; cell++) {
    if (((scanner.marks[cell] ?? 0) & refusedMarks) !== 0) return faultOfCell(scanner, row, cell, rowBytes);
  }
  if (expected === 0 || end - first === expected) return null;
  const lastLine = line + lineBreaksIn(scanner.bytes, scanner.rowStarts[row] ?? 0, scanner.ends[end - 1] ?? 0);
  return raggedRow({ line, lastLine, found: end - first, expected });
};
