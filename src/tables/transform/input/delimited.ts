// Rows of delimited text, faulty ones included, each with its line.
import { TableFaultError } from '../../../model/errors.ts';
import { has } from '../../scan/byte-class.ts';
import { CellScanner } from '../../scan/cell-scanner.ts';
import { unescapeOf } from '../../scan/cell-text.ts';
import { rfc4180 } from '../../scan/dialect.ts';
import { faultOfRow } from '../../scan/row-fault.ts';
import { sniffBytes, sniffTable } from '../../scan/sniff.ts';
import { type Limits, noHeader, type Row, shown, type Table } from '../row.ts';
import { type Bytes, utf8Bytes } from './bytes.ts';

/** How a source is read; what is null is found out or not there. */
export interface ReadingOptions {
  encoding: string | null;
  delimiter: string | null;
  /** Lines above the header that are left out. */
  skip: number;
  limits: Limits;
}

/** Opens delimited text; `said` gets a line about how it is read. */
export const openDelimited = async (
  bytes: Bytes,
  options: ReadingOptions,
  said: (line: string) => void,
): Promise<Table> => {
  const { encoding, skip, limits } = options;
  const delimiter = options.delimiter ?? (await findDelimiter(bytes, { encoding, skip }));
  said(`read as ${encoding ?? 'UTF-8'} text, separated by ${delimiter === '\t' ? 'tabs' : shown(delimiter)}`);
  const rows = readRows(utf8Bytes(bytes, encoding), { delimiter, skip, limits });
  let first: Row[] = [];
  for (let header: Row | undefined; ; ) {
    const next = await rows.next();
    if (next.done) throw noHeader(skip + 1);
    first = next.value;
    header = first.shift();
    if (header?.fault !== undefined) {
      await rows.return(undefined);
      throw header.fault;
    }
    if (header !== undefined) {
      return { columns: header.cells, batches: resumed(first, rows), close: () => rows.return(undefined) };
    }
  }
};

/** Goes on with an iteration whose first batch was taken. */
export async function* resumed(first: Row[], rest: AsyncGenerator<Row[]>): AsyncGenerator<Row[]> {
  if (first.length > 0) yield first;
  yield* rest;
}

const findDelimiter = async (
  bytes: Bytes,
  { encoding, skip }: { encoding: string | null; skip: number },
): Promise<string> => {
  let head: Buffer = Buffer.alloc(0);
  for await (const piece of withoutLines(utf8Bytes(bytes, encoding), skip)) {
    head = Buffer.concat([head, piece]);
    if (head.length > sniffBytes) break;
  }
  return sniffTable(head, head.length <= sniffBytes).delimiter;
};

const lf = 10;
const cr = 13;

/** Leaves lines out, piece by piece. */
class LineSkipper {
  #left: number;
  /** A line ended with CR at the end of a piece; an LF at the start of the next one belongs to it. */
  #afterReturn = false;

  constructor(count: number) {
    this.#left = count;
  }

  /** What is left of the next piece. */
  rest(piece: Buffer): Buffer {
    let at = this.#afterReturn && piece[0] === lf ? 1 : 0;
    this.#afterReturn = false;
    for (; this.#left > 0 && at < piece.length; at++) {
      const byte = piece[at];
      if (byte !== lf && byte !== cr) continue;
      this.#left--;
      if (byte === cr && piece[at + 1] === lf) at++;
      this.#afterReturn = byte === cr && at + 1 === piece.length;
    }
    return piece.subarray(at);
  }
}

/** Bytes without the first lines. */
async function* withoutLines(source: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  const skipper = new LineSkipper(count);
  for await (const piece of source) {
    const rest = skipper.rest(piece);
    if (rest.length > 0) yield rest;
  }
}

async function* readRows(
  source: AsyncIterable<Buffer>,
  { delimiter, skip, limits }: { delimiter: string; skip: number; limits: Limits },
): AsyncGenerator<Row[]> {
  const scanner = new CellScanner({ ...rfc4180, delimiter }, limits.rowBytes);
  for await (const piece of withoutLines(source, skip)) {
    scanner.feed(piece);
    if (scanner.rows > 0) yield rowsOf(scanner, { skip, limits });
  }
  scanner.finish();
  if (scanner.rows > 0) yield rowsOf(scanner, { skip, limits });
}

const unescaped = unescapeOf(rfc4180);

const rowsOf = (scanner: CellScanner, { skip, limits }: { skip: number; limits: Limits }): Row[] => {
  const { bytes, starts, ends, marks, rowCells, rowLines, rowStarts } = scanner;
  const rows: Row[] = [];
  // One byte is one character here, so that offsets hold; cells with other characters are decoded for themselves.
  const text = bytes.toString('latin1', 0, rowStarts[scanner.rows] ?? 0);
  for (let row = 0; row < scanner.rows; row++) {
    const cells: string[] = [];
    const end = rowCells[row + 1] ?? 0;
    for (let cell = rowCells[row] ?? 0; cell < end; cell++) {
      const [from, to, mark] = [starts[cell] ?? 0, ends[cell] ?? 0, marks[cell] ?? 0];
      const value = (mark & has.high) === 0 ? text.substring(from, to) : bytes.toString('utf8', from, to);
      cells.push((mark & has.escapes) === 0 ? value : unescaped(value));
    }
    const fault = faultOfRow(scanner, row, { expected: 0, rowBytes: limits.rowBytes });
    const read: Row = { line: (rowLines[row] ?? 1) + skip, cells };
    if (fault !== null) read.fault = below(fault, skip);
    rows.push(read);
  }
  return rows;
};

/** A fault that stands so many lines further down than the scanner knows. */
const below = (fault: TableFaultError, lines: number): TableFaultError => {
  if (lines === 0) return fault;
  const what = fault.what.replaceAll(/\bline (\d+)/g, (_, line: string) => `line ${Number(line) + lines}`);
  const place = { code: fault.code, line: fault.line + lines, column: fault.column };
  return new TableFaultError(what, place, fault.hint === undefined ? {} : { hint: fault.hint });
};
