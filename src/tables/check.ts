// Checks and fixes tables in worker threads; a small one is checked where it is asked for.
import { stat } from 'node:fs/promises';
import type { CheckedTable, TableColumn } from '../model/table-history.ts';
import { isSmall } from '../util/files.ts';
import type { CancelFlag } from '../util/worker-pool.ts';
import type { FixReport, FixTask } from './fix/fix-worker.ts';
import { firstFault } from './inspect/finding.ts';
import { type ImporterRemarks, importerRemarks } from './inspect/importer.ts';
import { type CheckTask, checkFile, type Inspection } from './inspect/inspect-file.ts';
import { inSheet, type SheetOrigin } from './inspect/sheet-places.ts';
import { defaultRowBytes, type GivenReading, portalDelimiter } from './scan/dialect.ts';
import { answered, inThreads } from './thread-answer.ts';

/** What is known of a sound table. `sha256` is hex; `rows` leaves the header out. */
export interface TableReport extends Pick<CheckedTable, 'rows' | 'bytes' | 'sha256'> {
  columns: string[];
  delimiter: string;
  bom: boolean;
}

export interface SoundTable extends TableReport {
  contents: TableColumn[];
  importer: ImporterRemarks;
}

export interface CheckOptions extends GivenReading {
  signal?: AbortSignal | undefined;
  rowBytes?: number | undefined;
  /** Of a table that was made of a workbook: where its lines come from; faults name these places. */
  sheet?: SheetOrigin | undefined;
}

const inspectInThread = inThreads<CheckTask, Inspection>({
  file: 'inspect/inspect-file',
  of: import.meta.url,
  name: 'checkFile',
  threads: 2,
});

/** Of checks that end in the turn of the event loop in which they begin. */
const neverCancelled: CancelFlag = new Int32Array(new SharedArrayBuffer(8));

/**
 * Inspects a file with flat memory, in a worker thread unless it is small: to start one takes more memory and time than a
 * run of small tables. Findings hold row contents in their contexts. Throws a SourceMissingError when the file cannot be
 * read, and the signal's reason when it is aborted.
 */
export const inspectTable = async (path: string, options: CheckOptions = {}): Promise<Inspection> => {
  const { rowBytes = defaultRowBytes, delimiter, encoding, skipRows, sheet, signal } = options;
  const task = { path, rowBytes, delimiter, encoding, skipRows, apart: sheet?.apart };
  const facts = await stat(path).catch(() => null); // the check says why
  signal?.throwIfAborted();
  const isHere = facts === null || isSmall(facts.size);
  const inspection = isHere
    ? answered(await checkFile({ ...task, cancelled: neverCancelled }))
    : await inspectInThread(task, signal);
  return sheet ? inSheet(inspection, sheet) : inspection;
};

/**
 * What is known of a table that can be published; throws a TableFaultError for the first fault otherwise, with row
 * contents in its context only.
 */
export const checkTable = async (path: string, options: CheckOptions = {}): Promise<SoundTable> => {
  const inspection = await inspectTable(path, options);
  const fault = firstFault(inspection.findings, options.sheet?.name);
  if (fault !== null) throw fault;
  const contents = inspection.columns.map(({ name, mostly: kind, empty }) => ({ name, kind, empty }));
  return { ...reportOf(inspection), contents, importer: importerRemarks(inspection.findings) };
};

export const reportOf = ({ rows, columns, delimiter, bom, bytes, sha256 }: Omit<Inspection, 'fix'>): TableReport => {
  return { rows, columns: columns.map(({ name }) => name), delimiter, bom, bytes, sha256 };
};

/**
 * Writes a fixed copy of a table to `target`, a new file. Throws a TableFaultError, and writes nothing, for a fault that
 * cannot be fixed; a SourceMissingError when a file cannot be read or written.
 */
export const fixTable = async (
  path: string,
  target: string,
  options: CheckOptions & { separator?: string | undefined } = {},
): Promise<FixReport> => {
  const inspection = await inspectTable(path, options);
  const unfixable = firstFault(inspection.findings.filter(({ mend }) => mend === null));
  if (unfixable !== null) throw unfixable;
  const { rowBytes = defaultRowBytes, separator = portalDelimiter(inspection.delimiter), encoding, skipRows } = options;
  return fixInThread({ path, target, rowBytes, separator, inspection, encoding, skipRows }, options.signal);
};

const fixInThread = inThreads<FixTask, FixReport>({
  file: 'fix/fix-worker',
  of: import.meta.url,
  name: 'fixToNew',
  threads: 1,
});
