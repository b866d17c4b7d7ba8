// Worker-thread entry: writes a fixed copy of a table and inspects the result.
import { closeSync, existsSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMissingError } from '../../model/errors.ts';
import type { Cancellable } from '../../util/worker-pool.ts';
import { type Finding, firstFault, verdictOf } from '../inspect/finding.ts';
import { type CheckTask, type Inspection, inspectFile } from '../inspect/inspect-file.ts';
import { delimiterName, portalDelimiter } from '../scan/dialect.ts';
import { encoderOf } from '../scan/encodings.ts';
import { faultKinds } from '../scan/fault-kinds.ts';
import { openTable, scannerOf } from '../scan/open-table.ts';
import { type Answer, answerOf } from '../thread-answer.ts';
import { type FixedRows, type FixReport, rowFixer } from './row-fixer.ts';

export interface FixTask extends Pick<CheckTask, 'path' | 'rowBytes' | 'encoding' | 'skipRows'> {
  target: string;
  separator: string;
  /** Of the file at `path`; each of its faults has a mend. */
  inspection: Inspection;
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

const write = (task: Cancellable<FixTask>, fd: number): FixedRows => {
  const { path, rowBytes, inspection, separator, skipRows, cancelled } = task;
  const { delimiter, quote, escape: by } = inspection;
  const read = task.encoding ?? inspection.encoding;
  const encoding = read.startsWith('UTF-') ? undefined : read;
  using table = openTable({ path, delimiter, encoding, skipRows, cancelled });
  const dialect = { delimiter, quote, escape: by, trailingDelimiter: false };
  const scanner = scannerOf({ ...table, layout: { dialect, titleRows: 0 } }, rowBytes);
  const encode = encoding === undefined ? null : encoderOf(encoding);
  const fixer = rowFixer(scanner, { dialect, separator, inspection, encode });
  if (table.skipped !== null) fixer.noteSkipped(table.skipped.kept);
  let last = 0;
  for (const chunk of table.chunks) {
    scanner.feed(chunk);
    writeFileSync(fd, fixer.take());
    last = chunk.at(-1) ?? last;
  }
  scanner.finish();
  writeFileSync(fd, fixer.take());
  writeFileSync(fd, fixer.end(last === lineFeed || last === carriageReturn));
  return fixer.report;
};

const fixesOf = ({ inspection: { findings, delimiter }, separator }: FixTask): FixReport['mends'] => {
  const mend = `the cells are separated by a ${delimiterName(separator)} instead of a ${delimiterName(delimiter)}`;
  const mends = findings.flatMap(({ kind, mend: name, count }) => (name === null ? [] : [{ kind, mend: name, count }]));
  return separator === delimiter ? mends : [{ kind: 'separator', mend, count: 1 }, ...mends];
};

/** Fixes one file; what was written is removed, and its findings are returned, where it is not sound. */
export const fixFile = (task: Cancellable<FixTask>): FixReport | Finding[] => {
  const partial = `${task.target}.partial-${process.pid}`;
  try {
    const fd = openSync(partial, 'wx');
    let rows: FixedRows;
    try {
      rows = write(task, fd);
    } finally {
      closeSync(fd);
    }
    const result = inspectFile({ path: partial, rowBytes: task.rowBytes, cancelled: task.cancelled });
    const { bytes, sha256, findings: left } = result;
    if (!isSoundAs(result, task)) return left;
    renameSync(partial, task.target);
    return { mends: fixesOf(task), ...rows, bytes, sha256, left };
  } finally {
    rmSync(partial, { force: true });
  }
};

const isSoundAs = ({ findings, delimiter, columns }: Inspection, { separator, inspection }: FixTask): boolean => {
  const width = inspection.fix.header.length - inspection.fix.emptyTail;
  const isSame = columns.length === width && (width === 1 || delimiter === separator);
  return isSame && verdictOf(findings) === 'sound';
};

export const fixToNew = (task: Cancellable<FixTask>): Promise<Answer<FixReport>> => {
  const unwritable = (message: string, hint: string): SourceMissingError =>
    new SourceMissingError(`${task.target}: the fixed file cannot be written: ${message}`, { hint });
  const fix = (): FixReport => {
    if (existsSync(task.target))
      throw unwritable('a file of that name already exists', 'choose an unused name; nothing is overwritten');
    const result = fixFile(task);
    if (!Array.isArray(result)) return result;
    throw firstFault(result) ?? new Error('the fixed table has no fault, yet was not accepted');
  };
  return answerOf(fix, ({ message }) => unwritable(message, 'check the folder, and free space on its disk'));
};

const isSafely = ({ kind, mend }: Finding): boolean => mend !== null && faultKinds[kind].safeFix !== undefined;

/**
 * Writes the text of a task to `target` with those faults fixed of which evidence decides the fix; gives these fixes, a line
 * each without row contents, and the inspection of the text as it was. Null, and nothing is written, where there is nothing
 * to fix, or a fault that cannot be fixed this way.
 */
export const fixSafely = (task: Cancellable<CheckTask>, target: string) => {
  const inspection = inspectFile(task);
  const isSafe = inspection.findings.every((finding) => finding.code === null || isSafely(finding));
  const findings = inspection.findings.filter(isSafely);
  if (!isSafe || findings.length === 0) return null;
  const separator = portalDelimiter(inspection.delimiter);
  const report = fixFile({ ...task, target, separator, inspection: { ...inspection, findings } });
  if (Array.isArray(report)) return null;
  const { mends, bytes, sha256 } = report;
  const fixes = mends.map(({ mend, count }) => (count === 1 ? mend : `${mend} (${count.toLocaleString('en')} times)`));
  return { fixes, report: { bytes, sha256 }, inspection };
};
