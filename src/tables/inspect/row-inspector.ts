// Inspects every row below the header: cells, quotes, stray bytes, kinds of values. The state of a table of any size is bounded.
import { has, quoteFaults } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { oversizeOf, quoteFaultOf } from '../scan/faults.ts';
import { kindNumber, kindOf } from '../scan/value-kind.ts';
import { type ColumnFacts, columnKinds } from './columns.ts';
import { type Findings, type FoundAt, foundAt, foundIn, foundRow } from './finding.ts';
import { mostColumns } from './header.ts';
import { fewestValues, isNoteStart, paddedNotes, raggedRows, secondHeaders } from './stray-rows.ts';
import { swallowedRows } from './swallowed-rows.ts';

const empty = kindNumber('empty');
const text = kindNumber('text');
const [sharp, space] = [0x23, 0x20];
const mostMarked = 50;

/** What begins a text that is looked at (1), ends one (2), or does so (4, 8) where it has both, by bytes. */
const ends = [' =#[', " ]}>'", 'ACDGHINOSTUbdnp%', ')"'].map((signs) => Buffer.from(signs));
const oddEnds = Uint8Array.from({ length: 256 }, (_, byte) =>
  ends.reduce((sum, signs, at) => sum + (signs.includes(byte) ? 2 ** at : 0), 0),
);

const badMarks = quoteFaults | has.nul | has.control;

const sheetErrors = /^(?:#(?:REF!|NAME\?|VALUE!|DIV\/0!|N\/A|NUM!|NULL!|SPILL!|CALC!|FIELD!|ERROR!)|Err:\d{3})$/;

/** Values as JavaScript and Python name them; Java, .NET, PHP, R and others; databases, spreadsheets; and places in templates. */
const programValues = [
  /\[(?:object \w+|Function|Array|Object|Circular)\b.*\]|<[^<>]* at 0x[\da-f]+>|<class '.*'>|b'.*'|b".*"|(?:Decimal|Timestamp|Timedelta|UUID)\(["'].*\)|datetime\.(?:date|time)\w*\(.*\)|(?:np|numpy)\.(?:float|u?int|str_|bool|datetime64)\w*\(.*\)|OrderedDict\(.*\)|array\(\[.*\]\)|<(?:QuerySet \[|[A-Z]\w*: ).*>|[A-Z]\w* object \(\d+\)|\w+\.[A-Z]\w*\.None/,
  /\[(?:L[\w.$]+;|[BCDFIJSZ])@[\da-f]+|[a-z]\w*(?:\.[\w$]+)+@[\da-f]{5,8}|Optional(?:\[.*\]|\(.*\)|\.empty)|System\.(?:\w+\[\]|Collections\..*)|@\{.*=.*\}|[aO]:\d+:(?:\{.*\}|".*)|c\(["\d].*\)|#<[A-Za-z].*>|(?:[\w:]+=)?[A-Z]{4,}\(0x[\da-f]+\)|<\w+: 0x[\da-f]+>|%!\w?\(.*\)|map\[\w+:.*\]/,
  /(?:ObjectId|ISODate|Number(?:Int|Long|Decimal))\(.+\)|\{"+\$(?:oid|date|number\w+)"+:.*\}|\[BLOB\b.*\]|<Binary data>|="+[^"]*"+|#{5,}|Loading\.\.\.|\{\{.*\}\}|\$\{.*\}|<%.*%>|%\(\w+\)s/,
];
const programValue = new RegExp(`^(?:${programValues.map(({ source }) => source).join('|')})$`);
const totals = /^(?:grand )?(?:total|sum|subtotal|summe|gesamt)\b/i;

interface RowSettings {
  delimiter: string;
  width: number;
  /** The bytes of the header row without its line end. */
  header: Buffer;
  rowBytes: number;
  /** Lines of rows that are known to be below blank ones. */
  apart: ReadonlySet<number>;
}

export type RowInspector = ReturnType<typeof rowInspector>;

export const rowInspector = (scanner: CellScanner, findings: Findings, settings: RowSettings) => {
  const { delimiter, width, header, rowBytes, apart } = settings;
  const kinds = columnKinds(Math.min(width, mostColumns + 1));
  const ragged = raggedRows(scanner, findings, width);
  const padded = paddedNotes(scanner, (row) => isApart(row));
  const names = secondHeaders(scanner, header, delimiter);
  const swallowed = swallowedRows(scanner, delimiter);
  let rows = 0;
  /** The last row: how many of its cells hold something, its line, how it begins, and whether it reads like a note, one cut by delimiters, or a sum. */
  const last = { line: 0, filled: 0, begin: '', note: false, cutNote: false, total: false };
  let lastRow = -1;
  /** Columns that have their first text in the row at hand. */
  let firstTexts: number[] = [];
  /** Rows that begin with `#`, where the header does not; where more do, these are names. */
  const comments: FoundAt[] = [];
  const numbers = Buffer.from(Array.from({ length: Math.min(width, mostColumns) }, (_, at) => at + 1).join(delimiter));

  /** True when a blank line is above a row, or one of delimiters only. */
  const isApart = (row: number): boolean => {
    if (apart.has(scanner.lineOf(row))) return true;
    const start = scanner.startOf(row);
    const above = scanner.bytes.toString('latin1', Math.max(0, start - 64), start);
    return /(?:\n|\r(?!\n))[,;\t|]*(?:\r\n?|\n)$/.test(above);
  };

  const remember = (row: number, filled: number): void => {
    lastRow = row;
    last.filled = filled;
    last.line = scanner.lineOf(row);
  };

  const beginOf = (row: number, cell = scanner.firstCell(row)): string => {
    const { bytes, starts, ends } = scanner;
    const start = starts[cell] ?? 0;
    return bytes.toString('utf8', start, Math.min(ends[cell] ?? 0, start + 60));
  };

  const judgeLast = (row: number): void => {
    const { bytes, starts, marks } = scanner;
    const first = scanner.firstCell(row);
    const behind = scanner.firstCell(row + 1);
    const mark = marks[first] ?? 0;
    last.begin = beginOf(row);
    last.note = (mark & has.space) !== 0 && (mark & has.text) !== 0;
    const isCut = starts.subarray(first + 1, behind).some((at) => bytes[at] === space);
    let cell = first;
    while (cell < behind && scanner.isEmpty(cell)) cell++;
    // No other row begins with an empty cell.
    const isAside = last.filled === 1 && cell > first && kinds.facts(0).empty === 1 && isNoteStart(beginOf(row, cell));
    last.cutNote = isAside || (isCut && (mark & has.quotes) === 0 && (isNoteStart(last.begin) || isApart(row)));
    last.total = totals.test(last.begin);
  };

  /** A text that begins or ends in a way that is remarked, or the first one of its column. */
  const oddText = (row: number, cell: number): void => {
    const [start, end] = [scanner.starts[cell] ?? 0, scanner.ends[cell] ?? 0];
    const isPadded = scanner.bytes[start] === space || scanner.bytes[end - 1] === space;
    const kind = isPadded ? 'spaces' : kindOfOdd(scanner.bytes.toString('latin1', start, end));
    if (kind !== null) findings.add(kind, () => foundIn(scanner, row, [cell, start]));
  };

  const count = (row: number): { filled: number; marks: number } => {
    const { bytes, starts, ends, marks } = scanner;
    const line = scanner.lineOf(row);
    const first = scanner.firstCell(row);
    const isWhole = scanner.width(row) === width;
    let [all, filled, texts] = [0, 0, 0];
    for (let column = 0; column < width; column++) {
      const cell = first + column;
      const [start, stop, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
      const kind = kindOf(bytes, start, stop, mark);
      kinds.add(column, kind, line);
      all |= mark;
      if (kind !== empty) filled += 1;
      if (kind !== text) continue;
      texts += 1;
      const isFirst = kinds.isFirst(column, text);
      if (isFirst) firstTexts.push(column);
      if (isWhole && (isFirst || isOdd(bytes[start], bytes[stop - 1]))) oddText(row, cell);
    }
    noteNames(row, texts, filled);
    return { filled, marks: all };
  };

  /** Remembers a row that has the first text of some columns, and names only; or the first one, which numbers them. */
  const noteNames = (row: number, texts: number, filled: number): void => {
    const isFirst = lastRow < 0 && last.line === 0;
    const isCount =
      isFirst && texts === 0 && width > 2 && isAt(numbers, row, scanner.outerEnd(scanner.firstCell(row + 1) - 1));
    const columns = isCount ? [...Array(Math.min(width, mostColumns)).keys()] : firstTexts;
    const areNames = texts === filled && texts > (isFirst ? 0 : 1);
    const mayBeApart = (isCount || areNames) && (apart.size > 0 || scanner.lineOf(row) > last.line + 1);
    const standing = { isFirst, isApart: mayBeApart && isApart(row), isCount };
    if (!isFirst) names.next(row);
    const isSuspect = areNames ? columns.length > 0 || standing.isApart || names.isOdd(row) : isCount;
    if (isSuspect || (texts === 1 && filled === 1 && names.isOdd(row))) names.add(row, columns, standing);
    firstTexts = [];
  };

  /**
   * Text after a quote is read safely only where another quote closes the cell in the same line; a quote that is never
   * closed only where the row is whole without it.
   */
  const canFix = (row: number, mark: number): boolean => {
    if ((mark & has.unclosedInLimit) !== 0) return false;
    if ((mark & has.unclosed) !== 0) return scanner.width(row) === width;
    return (mark & has.textAfterQuote) === 0 || (mark & has.quotes) !== 0;
  };

  /** Inspects the cells of a row, the header too, for faults of quoting and stray bytes. */
  const inspectCells = (row: number): void => {
    for (let cell = scanner.firstCell(row); cell < scanner.firstCell(row + 1); cell++) {
      const mark = scanner.marks[cell] ?? 0;
      if ((mark & badMarks) === 0) continue;
      const fault = quoteFaultOf(scanner, cell, rowBytes);
      const found = () => foundIn(scanner, row, [cell, scanner.outerStart(cell)]);
      if (fault !== null) findings.add(fault.kind, found, { ...fault.facts, isFixable: canFix(row, mark) });
      if ((mark & has.nul) !== 0) stray(row, cell, 'nul');
      if ((mark & has.control) !== 0) stray(row, cell, 'control');
    }
  };

  const stray = (row: number, cell: number, kind: 'nul' | 'control'): void => {
    const { bytes, starts, ends } = scanner;
    const start = starts[cell] ?? 0;
    const at = start + bytes.subarray(start, ends[cell]).findIndex(kind === 'nul' ? (byte) => byte === 0 : isControl);
    findings.add(kind, () => foundIn(scanner, row, [cell, at]), { byte: bytes[at] ?? 0 });
  };

  const whole = (row: number): void => {
    const { filled, marks } = count(row);
    if ((marks & badMarks) !== 0) inspectCells(row);
    if ((marks & has.quotes) !== 0) swallowed.add(row, marks);
    if (filled < 2 && width > 1) padded.add(row, filled, lastRow < 0 ? last.begin : beginOf(lastRow));
    else padded.reset();
    if (filled === 0) findings.add('empty-rows', () => foundRow(scanner, row));
    else remember(row, filled);
    ragged.fullRow();
  };

  /** A row that has more or fewer cells than the header, or none because it is too large. */
  const odd = (row: number): void => {
    const found = scanner.width(row);
    if (found === 0) {
      const { facts, ...place } = oversizeOf(scanner, row, rowBytes);
      findings.add('row-oversize', () => foundAt(scanner, scanner.startOf(row), place), facts);
      return;
    }
    inspectCells(row);
    if (found > width) count(row);
    if (found > 1) padded.reset();
    ragged.add(row);
    remember(row, width);
  };

  /** Rows whose first cell is a text in a column of values: comments, or a last row that holds nothing else. */
  const reportFirst = ({ texts, values, kinds: found }: ColumnFacts): void => {
    if (texts === 0 || values < fewestValues) return;
    const isLast = texts === 1 && found.some(({ kind, line }) => kind === 'text' && line === last.line);
    if (comments.length === texts) for (const at of comments) findings.add('footer', at, { looks: 'comment' });
    else if (isLast && width > 1 && last.filled === 1) findings.add('footer', last, { looks: 'maybe' });
  };

  /** True when a row begins with these bytes, or is they. */
  const isAt = (bytes: Buffer, row: number, end: number): boolean =>
    bytes.equals(scanner.bytes.subarray(scanner.startOf(row), end));

  return {
    kinds,
    last,
    get rows() {
      return rows;
    },
    inspectCells,
    /** Inspects the complete rows of the scanner from number `from` on. */
    take: (from: number): void => {
      for (let row = from; row < scanner.rows; row++) {
        const start = scanner.startOf(row);
        const first = scanner.bytes[start];
        if (first === sharp && comments.length < mostMarked && header[0] !== sharp && kindOfOdd(beginOf(row)) === null)
          comments.push(foundRow(scanner, row));
        if (joints.some((mark) => first === mark[0] && isAt(mark, row, start + mark.length)))
          findings.add('joined-files', () => foundRow(scanner, row));
        if (scanner.width(row) !== width) odd(row);
        else {
          whole(row);
          if (first === header[0] && isAt(header, row, scanner.outerEnd(scanner.firstCell(row + 1) - 1)))
            findings.add('repeated-header', () => foundRow(scanner, row));
        }
      }
      rows += scanner.rows - from;
      if (lastRow >= 0) judgeLast(lastRow);
      lastRow = -1;
    },
    /**
     * The table has ended; its first row is certainly the header when that `isGiven`, and then all others are records.
     * Returns the line of the first row of a footer that a fix leaves out; null when there is none.
     */
    end: (isGiven: boolean): number | null => {
      const behind = ragged.end(rows);
      const named = findings.of('program-value');
      if (isGiven && named) named.code = null;
      if (isGiven) return behind;
      padded.reportNumbers(findings, last.filled === 1 && last.begin === '' ? last : null, kinds.facts(0));
      names.report(findings, (column) => kinds.facts(column));
      reportFirst(kinds.facts(0));
      swallowed.report(findings, rows);
      return padded.report(findings) ?? behind;
    },
  };
};

/** The byte order mark of another file, and the mark of a conflict that Git leaves. */
const joints = [Buffer.from('\ufeff'), Buffer.from('<<<<<<< ')];

const isOdd = (first = 0, last = 0): boolean => {
  const both = ((oddEnds[first] ?? 0) & 5) + ((oddEnds[last] ?? 0) & 10);
  return (both & 3) > 0 || both === 12;
};

const kindOfOdd = (text: string) => {
  if (programValue.test(text)) return 'program-value';
  if (sheetErrors.test(text)) return 'sheet-error';
  return text.startsWith('=') && text.length > 1 ? 'formula' : null;
};

const isControl = (byte: number): boolean =>
  (byte < space && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 0) || byte === 0x7f;
