// Opens delimited text as a table; rows carry their line and their fault.
import type { CancelFlag } from '../../../util/worker-pool.ts';
import { CellScanner } from '../../scan/cell-scanner.ts';
import { cellsReader } from '../../scan/cell-text.ts';
import { EncodingWatch, hintOf } from '../../scan/encoding-watch.ts';
import { faultOf } from '../../scan/fault-kinds.ts';
import { faultOfRow, titlesAbove } from '../../scan/faults.ts';
import { type OpenTable, openTable } from '../../scan/open-table.ts';
import { type Limits, type MakingReport, noHeader, type Row, shown, type Table } from '../row.ts';
import { invalidText } from './bytes.ts';

/** How a source is read; null: not given. */
export interface ReadingOptions {
  encoding: string | null;
  delimiter: string | null;
  skip: number | null;
  limits: Pick<Limits, 'rowBytes'>;
  cancelled: CancelFlag;
}

/** Opens a file of text. Throws a TableFaultError when it is ambiguous, or has titles above the header that no step skips. */
export const openDelimited = async (path: string, options: ReadingOptions, report: MakingReport): Promise<Table> => {
  const { encoding, limits, cancelled } = options;
  const given = encoding === 'utf-8' ? undefined : (encoding ?? undefined);
  const reading = { delimiter: options.delimiter ?? undefined, skipRows: options.skip ?? undefined };
  const text = openTable({ path, encoding: given, trustsMark: true, fatal: true, cancelled, ...reading });
  const rows = readRows(text, given, limits.rowBytes);
  const close = () => rows.return(undefined);
  const { dialect, titleRows, candidates = [] } = text.layout;
  try {
    const first: Row[] = (await rows.next()).value ?? [];
    if (candidates.length > 0) throw faultOf('layout-unclear', { line: 1 }, { keys: candidates.map(({ key }) => key) });
    const by = dialect.delimiter === '\t' ? 'tabs' : shown(dialect.delimiter);
    report.notes.push(`read as ${encoding ?? 'UTF-8'} text, separated by ${by}`);
    while (first.length <= titleRows) {
      const next = await rows.next();
      if (next.done) throw noHeader((options.skip ?? 0) + 1);
      first.push(...next.value);
    }
    const [header = { line: 0, cells: [] }] = first.splice(0, titleRows + 1).slice(titleRows);
    const fault = titleRows > 0 ? titlesAbove(1, header.line) : header.fault;
    if (fault !== undefined) throw fault;
    return { columns: header.cells, batches: resumed(first, rows), close };
  } catch (error) {
    await close();
    throw error;
  }
};

/** Continues an iteration whose first batch was taken. */
export async function* resumed(first: Row[], rest: AsyncGenerator<Row[]>): AsyncGenerator<Row[]> {
  if (first.length > 0) yield first;
  yield* rest;
}

const asUtf8 = (encoding: string): string => `: save it as UTF-8, or set \`encoding: ${encoding.toLowerCase()}\``;

async function* readRows(text: OpenTable, encoding: string | undefined, rowBytes: number): AsyncGenerator<Row[]> {
  const { chunks, decodedFrom, bom, skipped, layout } = text;
  const scanner = new CellScanner(layout.dialect, rowBytes);
  const watch = new EncodingWatch();
  scanner.beginBelow(0, skipped?.lines ?? 0);
  const takeRows = (): Row[] => {
    const cellsOf = cellsReader(scanner, layout.dialect);
    return Array.from({ length: scanner.rows }, (_, row) => {
      const fault = faultOfRow(scanner, row, { expected: 0, rowBytes });
      return { line: scanner.lineOf(row), cells: cellsOf(row), ...(fault && { fault }) };
    });
  };
  try {
    if (decodedFrom !== null && encoding === undefined && !bom)
      throw faultOf('wide-encoding', { line: 1 }, { name: decodedFrom.slice(0, 6) });
    for (const chunk of chunks) {
      const [bad] = watch.feed(chunk);
      scanner.feed(chunk.subarray(0, bad));
      if (bad !== undefined) for (const more of chunks) watch.feed(more);
      if (watch.bad > 0) throw invalidText('UTF-8', scanner.place.line, hintOf(watch.verdict(), asUtf8));
      if (scanner.rows > 0) yield takeRows();
    }
    if (watch.end() > 0) throw invalidText('UTF-8', scanner.place.line);
    scanner.finish();
    if (scanner.rows > 0) yield takeRows();
  } catch (error) {
    throw error instanceof TypeError ? invalidText(decodedFrom ?? '', scanner.place.line) : error;
  } finally {
    chunks.return(undefined);
  }
}
