// Worker-thread entry: writes a fixed copy of a table and inspects the result. What it tells of rows is for reports, never for logs.
import { isAscii } from 'node:buffer';
import { closeSync, existsSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMissingError } from '../../model/errors.ts';
import type { Cancellable } from '../../util/worker-pool.ts';
import { type Finding, firstFault, verdictOf } from '../inspect/finding.ts';
import { fixedHeader } from '../inspect/header.ts';
import { type CheckTask, type Inspection, inspectFile } from '../inspect/inspect-file.ts';
import { has, quoteFaults } from '../scan/byte-class.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { cellText, escapedText } from '../scan/cell-text.ts';
import { delimiterName, portalDelimiter, type TableDialect } from '../scan/dialect.ts';
import { encoderOf } from '../scan/encodings.ts';
import { type FindingKind, faultKinds } from '../scan/fault-kinds.ts';
import { openTable, scannerOf } from '../scan/open-table.ts';
import { type Answer, answerOf } from '../thread-answer.ts';

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

/** True for a finding whose fix changes no value. */
export const isSafely = ({ kind, mend }: Finding): boolean => mend !== null && faultKinds[kind].safeFix !== undefined;

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

/** A row that was changed or left out; of a long one each cell that was changed. */
interface FixedPlace {
  line: number;
  /** Number of the cell in its row, from 1; null for a whole row. */
  column: number | null;
  before: string;
  after: string | null;
}

interface FixedRows {
  /** Rows of which a cell was changed, and rows that were left out; what is done to all rows alike is reported by `mends` only. */
  changed: number;
  /** Every change in them, {@link mostShown} at most. */
  rows: FixedPlace[];
  unshown: number;
}

export interface FixReport extends FixedRows {
  /** Every mend with its description and how often it was needed. */
  mends: { kind: FindingKind | 'separator'; mend: string; count: number }[];
  bytes: number;
  sha256: string;
  left: Finding[];
}

/** How many changes a report shows: nobody reads more. */
const mostShown = 100_000;

interface FixPlan {
  /** How the table is written down now. */
  dialect: TableDialect;
  separator: string;
  /** What is known of the table; each of its faults has a mend. */
  inspection: Pick<Inspection, 'findings' | 'lineEnds' | 'fix'>;
  /** The bytes that a text had in the file; null where they are the same. */
  encode: ((text: string) => Buffer) | null;
}

/** Control characters that no cell keeps; tab and line breaks stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
const unwanted = /\u001b\[[\d;]*[a-z]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/gi;

/** Fixes the rows that a scanner completes, and lines above the table that are no part of what is scanned. */
const rowFixer = (scanner: CellScanner, plan: FixPlan) => {
  const { dialect, separator, inspection, encode } = plan;
  const { header, emptyTail, titleRows, footerLine } = inspection.fix;
  const fixable = new Set(inspection.findings.filter(({ mend }) => mend !== null).map(({ kind }) => kind));
  const width = header.length - emptyTail;
  const lineEnd = Buffer.from(inspection.lineEnds === 'CRLF' ? '\r\n' : '\n');
  /** Marks of cells that are rewritten. */
  const spoilt = quoteFaults | has.nul | (fixable.has('control') ? has.control : 0);
  /** True when rows without faults can keep their bytes. */
  const keeps = dialect.quote === '"' && dialect.escape === '"' && dialect.delimiter === separator && emptyTail === 0;
  const report: FixedRows = { changed: 0, rows: [], unshown: 0 };
  let rowsSeen = 0;
  let begun = false;
  let rawHeader: Buffer = Buffer.alloc(0);

  const hasMark = (cell: number, marks: number): boolean => ((scanner.marks[cell] ?? 0) & marks) !== 0;

  const cellsOf = (row: number): number[] =>
    Array.from({ length: scanner.width(row) }, (_, at) => scanner.firstCell(row) + at);

  const isFaulty = (row: number): boolean =>
    scanner.width(row) !== header.length || cellsOf(row).some((cell) => hasMark(cell, spoilt));

  /** Offset behind the last byte of a cell, its quote and the spaces behind that included. */
  const cellEnd = (cell: number): number => {
    let end = scanner.outerEnd(cell);
    if (hasMark(cell, has.quoteSpaces)) while (scanner.bytes[end] === 0x20) end += 1;
    return end;
  };

  const rawRow = (row: number): Buffer =>
    scanner.bytes.subarray(scanner.startOf(row), cellEnd(scanner.firstCell(row + 1) - 1));

  const rawCells = (row: number): string[] => {
    let from = scanner.startOf(row);
    return cellsOf(row).map((cell) => {
      const [start, end] = [from, cellEnd(cell)];
      from = end + 1;
      return scanner.bytes.toString('utf8', start, end);
    });
  };

  const inFile = (text: string): string => shownText(encode === null ? Buffer.from(text) : encode(text));

  const note = (line: number, places: Omit<FixedPlace, 'line'>[]): void => {
    report.changed += 1;
    if (report.rows.length + places.length > mostShown) {
      report.unshown += 1;
      return;
    }
    for (const { after, ...place } of places)
      report.rows.push({ line, ...place, after: after === null ? null : shownText(Buffer.from(after)) });
  };

  const leaveOut = (row: number): null => {
    note(scanner.lineOf(row), [{ column: null, before: inFile(rawRow(row).toString('utf8')), after: null }]);
    return null;
  };

  /** Notes how a row, of which these are the new cells, differs from the file. */
  const noteCells = (row: number, cells: string[]): void => {
    const raw = rawCells(row);
    const changes = raw.flatMap((cell, at) => {
      const [before, after] = [inFile(cell), cells[at] ?? ''];
      return before === shownText(Buffer.from(after)) ? [] : [{ column: at + 1, before, after }];
    });
    if (changes.length === 0 && raw.length === header.length) return;
    const [before, after] = [raw.join(dialect.delimiter), cells.join(separator)];
    const isLong = Math.max(before.length, after.length) > longestShown;
    note(scanner.lineOf(row), isLong ? changes : [{ column: null, before: inFile(before), after }]);
  };

  const fixedValue = (cell: number): string => {
    const text = cellText(scanner, cell, dialect).slice(hasMark(cell, has.unclosed) ? 1 : 0);
    return hasMark(cell, (has.nul | has.control) & spoilt) ? text.replaceAll(unwanted, '') : text;
  };

  /** Values in quotes stay in quotes, others get them for a character that could be a separator. */
  const rewritten = (row: number, values: string[]): Buffer => {
    const cells = values.slice(0, width).map((value, at) => {
      const isQuoted = scanner.isQuoted(scanner.firstCell(row) + at);
      const needsQuotes = isQuoted || /[,;\t|"\r\n]/.test(value) || (value === '' && width === 1);
      return needsQuotes ? `"${value.replaceAll('"', '""')}"` : value;
    });
    noteCells(row, cells);
    return Buffer.from(cells.join(separator));
  };

  const fixHeader = (row: number): Buffer => {
    const raw = rawRow(row);
    rawHeader = Buffer.from(raw);
    const first = scanner.firstCell(row);
    const decoded = header.map((_, at) => fixedValue(first + at));
    const names = fixedHeader(decoded, dialect.delimiter).map((name) => name.trim());
    const isChanged = names.some((name, at) => at < width && name !== decoded[at]) || isFaulty(row);
    if (!keeps || isChanged) return rewritten(row, names);
    noteCells(row, rawCells(row));
    return raw;
  };

  /** The bytes of a row; null when it is left out. */
  const fix = (row: number): Buffer | null => {
    if (rowsSeen === titleRows) return fixHeader(row);
    const raw = rawRow(row);
    const isNote = rowsSeen < titleRows || scanner.lineOf(row) >= (footerLine ?? Infinity);
    if (isNote || (fixable.has('repeated-header') && raw.equals(rawHeader))) return leaveOut(row);
    if (cellsOf(row).every((cell) => scanner.isEmpty(cell))) return leaveOut(row);
    if (keeps && !isFaulty(row)) {
      if (encode !== null && !isAscii(raw)) noteCells(row, rawCells(row));
      return raw;
    }
    const first = scanner.firstCell(row);
    const values = Array.from({ length: width }, (_, at) => fixedValue(first + at));
    return values.every((value) => value === '') ? leaveOut(row) : rewritten(row, values);
  };

  return {
    report,
    noteSkipped: (lines: Buffer): void => {
      const texts = lines.toString('utf8').split(/\r\n|\n|\r/);
      if (texts.at(-1) === '') texts.pop();
      for (const [at, text] of texts.entries()) note(at + 1, [{ column: null, before: inFile(text), after: null }]);
    },
    /** The fixed bytes of the complete rows of the scanner; the line end of each is written with the next. */
    take: (): Buffer => {
      const parts: Buffer[] = [];
      for (let row = 0; row < scanner.rows; row++) {
        const bytes = fix(row);
        rowsSeen += 1;
        if (bytes === null) continue;
        parts.push(...(begun ? [lineEnd] : []), bytes);
        begun = true;
      }
      return Buffer.concat(parts);
    },
    /** What follows the last row: a line end where the table has one (`ended`). */
    end: (ended: boolean): Buffer => (ended && begun ? lineEnd : Buffer.alloc(0)),
  };
};

const longestShown = 400;

const shownText = (bytes: Buffer): string =>
  bytes.length <= longestShown ? escapedText(bytes, 0, bytes.length) : `${escapedText(bytes, 0, longestShown)}…`;
