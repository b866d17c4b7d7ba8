// Worker-thread entry: writes a table with its mends and looks at the result.
import { closeSync, existsSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { decoderOf } from '../inspect/encoding.ts';
import { type Finding, verdictOf } from '../inspect/finding.ts';
import { type Inspection, inspectFile } from '../inspect/inspect-file.ts';
import { CellScanner } from '../scan/cell-scanner.ts';
import { type Delimiter, delimiterName } from '../scan/dialect.ts';
import { openTable } from '../scan/open-table.ts';
import type { Cancellable } from '../worker-pool.ts';
import { type FixPlan, type FixReport, RowFixer } from './row-fixer.ts';

/** A mend as it is asked for across the thread border. */
export interface FixTask {
  path: string;
  /** The file to make; it must not exist. */
  target: string;
  rowBytes: number;
  separator: Delimiter;
  /** Told by somebody; see `openTable`. */
  encoding?: string;
  /** Of the file at `path`, without a fault that has no mend. */
  inspection: Inspection;
}

/** The answer across the thread border. */
export type FixAnswer =
  | { kind: 'mended'; report: FixReport }
  | { kind: 'unwritable'; code: string; message: string }
  /** What was written was not sound and was removed. */
  | { kind: 'unsound'; findings: Finding[] };

const planOf = ({ inspection, separator, encoding }: FixTask): FixPlan => {
  const { delimiter, quote, escape: by, lineEnds, mend } = inspection;
  return {
    dialect: { delimiter, quote, escape: by, trailingDelimiter: false },
    separator,
    lineEnd: lineEnds === 'CRLF' ? '\r\n' : '\n',
    titleRows: mend.titleRows,
    footerLine: mend.footerLine,
    emptyTail: mend.emptyTail,
    header: mend.header,
    decode: encoding === undefined ? decoderOf(inspection.encoding) : null,
  };
};

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

const write = (task: Cancellable<FixTask>, fd: number): RowFixer => {
  const { path, rowBytes, inspection, encoding, cancelled } = task;
  const table = openTable({ path, delimiter: inspection.delimiter, encoding, cancelled });
  const plan = planOf(task);
  const scanner = new CellScanner(plan.dialect, rowBytes);
  const fixer = new RowFixer(scanner, plan);
  let last = 0;
  try {
    for (const chunk of table.chunks) {
      scanner.feed(chunk);
      writeFileSync(fd, fixer.take());
      last = chunk.at(-1) ?? last;
    }
    scanner.finish();
    writeFileSync(fd, fixer.take());
    writeFileSync(fd, fixer.end(last === lineFeed || last === carriageReturn));
  } finally {
    table.chunks.return(undefined);
  }
  return fixer;
};

const fixesOf = ({ inspection: { findings, delimiter }, separator }: FixTask): FixReport['mends'] => [
  ...(separator === delimiter
    ? []
    : [
        {
          kind: 'separator' as const,
          mend: `the cells are separated by a ${delimiterName(separator)} instead of a ${delimiterName(delimiter)}`,
          count: 1,
        },
      ]),
  ...findings.flatMap(({ kind, mend: name, count }) => (name === null ? [] : [{ kind, mend: name, count }])),
];

const mend = (task: Cancellable<FixTask>, partial: string): FixAnswer => {
  if (existsSync(task.target)) return { kind: 'unwritable', code: 'EEXIST', message: 'there is a file of that name' };
  const fd = openSync(partial, 'wx');
  let fixer: RowFixer;
  try {
    fixer = write(task, fd);
  } finally {
    closeSync(fd);
  }
  const result = inspectFile({ path: partial, rowBytes: task.rowBytes, cancelled: task.cancelled });
  if (verdictOf(result.findings) !== 'sound') return { kind: 'unsound', findings: result.findings };
  renameSync(partial, task.target);
  const mends = fixesOf(task);
  const { bytes, sha256, findings: left } = result;
  return { kind: 'mended', report: { mends, changed: fixer.changed, rows: fixer.shown, bytes, sha256, left } };
};

/** Fixes one file; leaves nothing behind unless the result is sound. */
export const fixFile = (task: Cancellable<FixTask>): FixAnswer => {
  const partial = `${task.target}.partial-${process.pid}`;
  try {
    return mend(task, partial);
  } catch (error) {
    if (error instanceof Error && 'code' in error && 'syscall' in error) {
      return { kind: 'unwritable', code: String(error.code), message: error.message };
    }
    throw error;
  } finally {
    rmSync(partial, { force: true });
  }
};
