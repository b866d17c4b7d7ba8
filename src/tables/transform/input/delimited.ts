// Opens delimited text as a table; rows carry their line and their fault.
import type { Cancellable } from '../../../util/worker-pool.ts';
import type { CheckTask } from '../../inspect/inspect-file.ts';
import { cellsReader } from '../../scan/cell-text.ts';
import { EncodingWatch, hintOf } from '../../scan/encoding-watch.ts';
import { faultOf } from '../../scan/fault-kinds.ts';
import { faultOfRow, titlesAbove } from '../../scan/faults.ts';
import { type OpenTable, openTable, scannerOf } from '../../scan/open-table.ts';
import { noHeader, type Row, shown, type Table } from '../row.ts';
import { invalidText } from './bytes.ts';

/** Opens a file of text. Throws a TableFaultError when it is ambiguous, or has titles above the header that no step skips. */
export const openDelimited = async (task: Cancellable<CheckTask>, notes: string[]): Promise<Table> => {
  const { encoding, skipRows = 0 } = task;
  const text = opened(task);
  const rows = readRows(text, task);
  const close = () => rows.return(undefined);
  const { dialect, titleRows, candidates = [] } = text.layout;
  try {
    if (text.signature) throw faultOf('not-a-table', { line: 1 }, { signature: text.signature });
    const first: Row[] = (await rows.next()).value ?? [];
    if (candidates.length > 0) throw faultOf('layout-unclear', { line: 1 }, { keys: candidates.map(({ key }) => key) });
    const by = dialect.delimiter === '\t' ? 'tabs' : shown(dialect.delimiter);
    notes.push(`read as ${encoding ?? 'UTF-8'} text, separated by ${by}`);
    while (first.length <= titleRows) {
      const next = await rows.next();
      if (next.done) throw noHeader(skipRows + 1);
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

const opened = (task: Cancellable<CheckTask>): OpenTable => {
  try {
    return openTable({ ...task, trustsMark: true, fatal: true });
  } catch (error) {
    throw error instanceof TypeError ? invalidText(task.encoding ?? '', 1) : error; // in the lines that are skipped
  }
};

/** Continues an iteration whose first batch was taken. */
export async function* resumed(first: Row[], rest: AsyncGenerator<Row[]>): AsyncGenerator<Row[]> {
  if (first.length > 0) yield first;
  yield* rest;
}

const asUtf8 = (encoding: string): string => `: save it as UTF-8, or set \`encoding: ${encoding.toLowerCase()}\``;

async function* readRows(table: OpenTable, { encoding, rowBytes }: CheckTask): AsyncGenerator<Row[]> {
  using text = table;
  const { chunks, decodedFrom, bom, layout } = text;
  const scanner = scannerOf(text, rowBytes);
  const watch = new EncodingWatch();
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
  }
}
