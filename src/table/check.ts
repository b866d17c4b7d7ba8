// Checks a table off the event loop.
import { SourceMissingError, TableFaultError } from '../errors.ts';
import type { CheckAnswer, CheckTask, TableReport } from './check-worker.ts';
import { type Delimiter, defaultRowBytes, delimiters } from './dialect.ts';
import { WorkerPool } from './worker-pool.ts';

export type { TableReport } from './check-worker.ts';

/** What a check can be told. */
export interface CheckOptions {
  signal?: AbortSignal | undefined;
  /** Found from the first 64 KB when absent. */
  delimiter?: string | undefined;
  /** Largest size of one row in bytes; 1 MB when absent. */
  rowBytes?: number | undefined;
}

const pool = new WorkerPool<CheckTask, CheckAnswer>({
  file: 'check-worker',
  of: import.meta.url,
  name: 'checkFile',
  threads: 2,
});

const knownDelimiter = (delimiter: string): Delimiter => {
  const known = delimiters.find((d) => d === delimiter);
  if (known === undefined) throw new TypeError(`unknown delimiter ${JSON.stringify(delimiter)}: use one of , ; tab |`);
  return known;
};

/**
 * Reads a file once, in a worker thread with flat memory: sha256, UTF-8, delimiter, and every row, read
 * strictly. The threads are shared and stay until {@link closeTablePool}; idle ones do not keep the process alive.
 *
 * Throws a TableFaultError (code, line, column) when the table is faulty, a SourceMissingError when the file cannot be
 * read, and the signal's reason when it is aborted.
 */
export const checkTable = async (path: string, options: CheckOptions = {}): Promise<TableReport> => {
  const task: CheckTask = { path, rowBytes: options.rowBytes ?? defaultRowBytes };
  if (options.delimiter !== undefined) task.delimiter = knownDelimiter(options.delimiter);
  const answer = await pool.run(task, options.signal);
  if (answer.kind === 'sound') return answer.report;
  if (answer.kind === 'unreadable') {
    throw new SourceMissingError(`${path}: the file cannot be read: ${answer.message}`, {
      hint:
        answer.code === 'ENOENT'
          ? 'check the path; the file may have been moved or deleted'
          : 'check the permissions of the file',
    });
  }
  const { message, hint, code, line, column } = answer;
  throw new TableFaultError(message, { code, line, column }, hint === undefined ? {} : { hint });
};

/** Ends the threads of {@link checkTable}; checks that are running fail. Idempotent; a later check opens them anew. */
export const closeTablePool = (): Promise<void> => pool.close();
