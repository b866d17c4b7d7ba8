// Worker-thread entry: one pass over a file for sha256, UTF-8 and the soundness of the table.
import { createHash } from 'node:crypto';
import { type TableFaultCode, TableFaultError } from '../errors.ts';
import { type Delimiter, rfc4180 } from './dialect.ts';
import { emptyFile } from './faults.ts';
import { fileChunks } from './file-chunks.ts';
import { checkHeader } from './header.ts';
import { readTable } from './reader.ts';
import { sniffBytes, sniffTable } from './sniff.ts';
import type { Cancellable } from './worker-pool.ts';

/** What is known of a sound table. `sha256` is hex; `rows` leaves the header out. */
export interface TableReport {
  rows: number;
  /** Header cells as they stand in the file. */
  columns: string[];
  delimiter: Delimiter;
  bom: boolean;
  bytes: number;
  sha256: string;
}

/** A check as it is asked for across the thread border. */
export interface CheckTask {
  path: string;
  delimiter?: Delimiter;
  rowBytes: number;
}

/** The answer across the thread border, where errors would lose their class. */
export type CheckAnswer =
  | { kind: 'sound'; report: TableReport }
  | {
      kind: 'fault';
      message: string;
      hint: string | undefined;
      code: TableFaultCode;
      line: number;
      column: number | undefined;
    }
  | { kind: 'unreadable'; code: string; message: string };

const check = async ({ path, delimiter, rowBytes, cancelled }: Cancellable<CheckTask>): Promise<TableReport> => {
  const chunks = fileChunks(path, cancelled);
  const head = chunks.next();
  if (head.done) throw emptyFile();
  const sniffed = sniffTable(head.value, head.value.length < sniffBytes);
  const hash = createHash('sha256');
  const report: TableReport = {
    rows: 0,
    columns: [],
    delimiter: delimiter ?? sniffed.delimiter,
    bom: sniffed.bom,
    bytes: 0,
    sha256: '',
  };
  function* hashed(first: Buffer): Generator<Buffer> {
    for (let chunk: Buffer | undefined = first; chunk !== undefined; chunk = chunks.next().value ?? undefined) {
      hash.update(chunk);
      report.bytes += chunk.length;
      yield chunk;
    }
  }
  try {
    for await (const { rows } of readTable(
      hashed(head.value),
      { ...rfc4180, delimiter: report.delimiter },
      { rowBytes },
    )) {
      if (report.columns.length === 0) {
        report.columns = rows[0] ?? [];
        checkHeader(report.columns, report.delimiter);
        report.rows -= 1;
      }
      report.rows += rows.length;
    }
  } finally {
    chunks.return(undefined);
  }
  report.sha256 = hash.digest('hex');
  return report;
};

/** Checks one file; never throws for a faulty or unreadable file. */
export const checkFile = async (task: Cancellable<CheckTask>): Promise<CheckAnswer> => {
  try {
    return { kind: 'sound', report: await check(task) };
  } catch (error) {
    if (error instanceof TableFaultError) {
      const { message, hint, code, line, column } = error;
      return { kind: 'fault', message, hint, code, line, column };
    }
    if (error instanceof Error && 'code' in error && 'syscall' in error) {
      return { kind: 'unreadable', code: String(error.code), message: error.message };
    }
    throw error;
  }
};
