// Opens delimited text as a table; rows carry their line and their fault.
import { CellScanner } from '../../scan/cell-scanner.ts';
import { cellsReader } from '../../scan/cell-text.ts';
import type { TableDialect } from '../../scan/dialect.ts';
import { refuseWide, sniffBytes } from '../../scan/encodings.ts';
import { faultOfRow, titlesAbove, unclearLayout } from '../../scan/faults.ts';
import { findLayout, type Layout } from '../../scan/layout.ts';
import { LineSkipper } from '../../scan/open-table.ts';
import { type Limits, type MakingReport, noHeader, type Row, shown, type Table } from '../row.ts';
import { type Bytes, utf8Bytes } from './bytes.ts';

/** How a source is read; null: not given. */
export interface ReadingOptions {
  encoding: string | null;
  delimiter: string | null;
  /** Lines above the header that are left out; null where not given. */
  skip: number | null;
  limits: Limits;
}

/** Opens delimited text. Throws a TableFaultError when the file is ambiguous, or has titles above the header that no step skips. */
export const openDelimited = async (bytes: Bytes, options: ReadingOptions, { notes }: MakingReport): Promise<Table> => {
  const { encoding, limits } = options;
  const skip = options.skip ?? 0;
  const { dialect, titleRows, candidates = [] } = await layoutOf(bytes, options);
  if (candidates.length > 0) throw unclearLayout(candidates);
  const { delimiter } = dialect;
  notes.push(`read as ${encoding ?? 'UTF-8'} text, separated by ${delimiter === '\t' ? 'tabs' : shown(delimiter)}`);
  const rows = readRows(utf8Bytes(bytes, encoding), { dialect, skip, limits });
  const close = () => rows.return(undefined);
  const first: Row[] = [];
  while (first.length <= titleRows) {
    const next = await rows.next();
    if (next.done) throw noHeader(skip + 1);
    first.push(...next.value);
  }
  const [header = { line: 0, cells: [] }] = first.splice(0, titleRows + 1).slice(titleRows);
  const fault = titleRows > 0 ? titlesAbove(1, header.line) : header.fault;
  if (fault === undefined) return { columns: header.cells, batches: resumed(first, rows), close };
  await close();
  throw fault;
};

/** Continues an iteration whose first batch was taken. */
export async function* resumed(first: Row[], rest: AsyncGenerator<Row[]>): AsyncGenerator<Row[]> {
  if (first.length > 0) yield first;
  yield* rest;
}

const layoutOf = async (bytes: Bytes, { encoding, delimiter, skip }: ReadingOptions): Promise<Layout> => {
  let head: Buffer = Buffer.alloc(0);
  for await (const piece of withoutLines(utf8Bytes(bytes, encoding), skip ?? 0)) {
    head = Buffer.concat([head, piece]);
    if (head.length > sniffBytes) break;
  }
  refuseWide(head);
  const known = { delimiter: delimiter ?? undefined, isHeader: skip !== null };
  return findLayout(head.subarray(0, sniffBytes), head.length <= sniffBytes, known);
};

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
  { dialect, skip, limits }: { dialect: TableDialect; skip: number; limits: Limits },
): AsyncGenerator<Row[]> {
  const scanner = new CellScanner(dialect, limits.rowBytes);
  scanner.beginBelow(0, skip);
  const takeRows = (): Row[] => {
    const cellsOf = cellsReader(scanner, dialect);
    return Array.from({ length: scanner.rows }, (_, row) => {
      const fault = faultOfRow(scanner, row, { expected: 0, rowBytes: limits.rowBytes });
      return { line: scanner.lineOf(row), cells: cellsOf(row), ...(fault && { fault }) };
    });
  };
  for await (const piece of withoutLines(source, skip)) {
    scanner.feed(piece);
    if (scanner.rows > 0) yield takeRows();
  }
  scanner.finish();
  if (scanner.rows > 0) yield takeRows();
}
