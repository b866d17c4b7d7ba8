// The datastore of a portal: imports attached tables, reports their status, searches their rows.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../../model/errors.ts';
import type { Log } from '../../model/log.ts';
import type { Reason } from '../../model/report.ts';
import { escapeHtml } from '../../util/html.ts';
import { WorkerPool } from '../../util/worker-pool.ts';
import { Refusal } from '../refusal.ts';
import type { ImportAnswer, ImportTask } from './import-worker.ts';
import { answerLength, planSearch, type SearchAnswer, type SearchQuery, searchAnswer, searchRefused } from './query.ts';
import {
  type AttachedFile,
  changedConfiguration,
  type DatastoreRecord,
  type DatastoreStatus,
  dialectOf,
  isImportable,
  openRecords,
  statusOf,
} from './records.ts';
import { type SearchRows, type SearchTask, searchRows } from './search-worker.ts';
import { TableFiles } from './table-files.ts';

export interface DatastoreOptions {
  /** portal.db with the tables of `datastoreSchema`. */
  db: DatabaseSync;
  /** Folder for the tables, made when it is missing; nothing else may lie in it. */
  dir: string;
  log: Log;
  /** How long an attach or import call waits for the import, 30 s when absent. */
  attachWaitMs?: number | undefined;
  /** How often imports that nobody works on are started; 30 s when absent. */
  pickUpMs?: number;
  /** Runs work in a durable transaction, shared with other writers. */
  write: <T>(work: () => T) => Promise<T>;
}

interface RunningImport {
  record: DatastoreRecord;
  file: string;
  /** Resolves when the import has ended and what it came to is stored; never rejects. */
  done: Promise<void>;
  cancel: () => void;
}

const [longestWaitMs, usualPickUpMs] = [30_000, 30_000];
/** Rows of a table below `quickBytes` are read in less time than a thread is asked for them. */
const [longestSearchMs, quickBytes] = [30_000, 1_000_000];

const threads = { of: import.meta.url, threads: 2 };
const importers = new WorkerPool<ImportTask, ImportAnswer>({ file: 'import-worker', name: 'importFile', ...threads });
const searchers = new WorkerPool<SearchTask, SearchRows>({ file: 'search-worker', name: 'searchRows', ...threads });

/**
 * Imports, status and search. Each import is written to its own SQLite file; when it is complete and durable, one
 * transaction in portal.db points the resource at it: readers see the old table or the new one. An import is pending until
 * its outcome is stored: one that a crash, a full disk or a store that cannot be written left behind is made again.
 */
export class Datastore {
  readonly #options: DatastoreOptions;
  readonly #records: ReturnType<typeof openRecords>;
  readonly #files: TableFiles;
  /** The imports in progress; one that is not here any more was superseded, and its answer is not used. */
  readonly #running = new Map<string, RunningImport>();
  readonly #pickUp: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: DatastoreOptions) {
    this.#options = options;
    this.#records = openRecords(options.db);
    this.#files = new TableFiles(options.dir);
    this.#pickUp = setInterval(() => this.#startPending(), options.pickUpMs ?? usualPickUpMs).unref();
  }

  /**
   * Remembers the file of a resource, inside the transaction that stores it on the node; {@link attached} follows. A crash
   * between the two still ends in an import, or, where the file is no table, in no datastore.
   */
  note(file: AttachedFile): void {
    this.#records.putFile(file);
  }

  /**
   * A file was attached: a CSV or TSV is imported, for which this waits up to `attachWaitMs`; any other ends the datastore.
   * A faulty table is no error: rows of an older file stay searchable.
   */
  async attached(file: AttachedFile): Promise<void> {
    const { nid, fid, mime } = file;
    if (!isImportable(mime)) return this.fileRemoved(nid);
    const known = this.#record(nid);
    if (known?.state !== 'running' || known.fid !== fid) {
      this.#supersede(nid);
      await this.#options.write(() => this.note(file));
    }
    await this.#waitFor(this.#start(nid));
  }

  /**
   * Imports the file of a resource now and waits as {@link attached} does. An import in progress is waited for; a file that
   * is imported already by the same configuration is left alone. Throws a Refusal (406) where the import fails meanwhile.
   */
  async importNow(nid: string): Promise<void> {
    const record = this.#record(nid);
    if (record === null || (record.state === 'imported' && record.table?.fid === record.fid)) return;
    const running = this.#running.get(nid);
    if (running === undefined) await this.#options.write(() => this.#records.change(nid, { state: 'running' }));
    await this.#waitFor(running ?? this.#start(nid));
    const reason = this.failure(nid);
    if (reason !== null) throw new Refusal(406, `The import failed: ${escapeHtml(reason.message)}`);
  }

  /** Removes table and configuration (spec 4.11); the file can be imported again. */
  remove(nid: string): Promise<void> {
    return this.#clear(nid, () => this.#records.change(nid, { state: 'none', table: null, configuration: {} }));
  }

  /** Removes the table and keeps the configuration. */
  drop(nid: string): Promise<void> {
    return this.#clear(nid, () => this.#records.change(nid, { state: 'none', table: null }));
  }

  /** Changes how the file is read from the next import on; an unknown property or value is refused (406). */
  async configure(nid: string, properties: Record<string, unknown>): Promise<void> {
    const record = this.#record(nid);
    if (record === null) return;
    const configuration = changedConfiguration(record, properties);
    this.#supersede(nid);
    await this.#options.write(() => this.#records.change(nid, { state: 'ready', configuration }));
  }

  isImportable(nid: string): boolean {
    return this.#record(nid) !== null;
  }

  /** The status of a resource's datastore; null where it has no CSV or TSV file. */
  status(nid: string): DatastoreStatus | null {
    const record = this.#record(nid);
    return record === null ? null : statusOf(record);
  }

  /** Why the last import failed; null when it did not. */
  failure(nid: string): Reason | null {
    return this.#record(nid)?.reason ?? null;
  }

  /** Value of `field_datastore_status`: "2" while the rows of the attached file are in the datastore, else "0". */
  fieldStatus(nid: string): string {
    const record = this.#record(nid);
    return record?.table && record.table.fid === record.fid ? '2' : '0';
  }

  /** The resource has no importable file any more, or is deleted: table, configuration and record go. */
  fileRemoved(nid: string): Promise<void> {
    return this.#clear(nid, () => this.#records.delete(nid));
  }

  nodeRemoved(nid: string): Promise<void> {
    return this.fileRemoved(nid);
  }

  /**
   * Searches the rows of a resource. Rows that do not fit into the budget are left out, and `limit` then says how many came.
   * Throws a Refusal in the recorded shape of such errors: 404 where nothing is imported, 400 for a wish that names unknown
   * columns or is no number, 413 where nothing is left of the budget, 503 when it takes over 30 s.
   */
  async search(query: SearchQuery): Promise<SearchAnswer> {
    const { nid, resourceUuid, budget = { left: answerLength }, ...wish } = query;
    const table = this.#record(nid)?.table ?? null;
    if (table === null) throw searchRefused(404, 'The resource has no datastore table.');
    const { fields, limit, rows, count } = planSearch(table, wish);
    if (budget.left <= 0) throw searchRefused(413, 'The answer is too large; ask for less at once.');
    const tooLong = AbortSignal.timeout(longestSearchMs);
    const task = { path: this.#files.path(table.file), rows, count, most: budget.left };
    const isQuick = count === null && (statSync(task.path, { throwIfNoEntry: false })?.size ?? 0) < quickBytes;
    const answer = isQuick ? Promise.resolve(task).then(searchRows) : searchers.run(task, tooLong);
    const found = await answer.catch((error: unknown) => {
      if (tooLong.aborted) throw searchRefused(503, 'The search took too long.');
      if (this.#record(nid)?.table?.file === table.file) throw error;
      return null;
    });
    if (found === null) return this.search(query); // its table was replaced before it could be opened
    budget.left -= found.length;
    const { records, isCut, total } = found;
    const result = { limit: isCut ? records.length : limit, total: total ?? table.rows, records };
    return searchAnswer(resourceUuid, fields, result);
  }

  /**
   * To be called once at start: removes table files that no resource points at (half imports, and old tables whose
   * unlink a crash prevented) and resumes in the background every import that is pending.
   */
  async sweep(): Promise<{ unlinked: number; resumed: number }> {
    for (const { nid, mime } of this.#records.all()) if (!isImportable(mime)) await this.fileRemoved(nid);
    const tables = this.#records.all().filter(({ table }) => table !== null);
    const { present, unlinked } = this.#files.sweep(new Set(tables.map(({ table }) => table?.file ?? '')));
    const lost = tables.filter(({ table }) => !present.has(table?.file ?? ''));
    await this.#options.write(() => {
      for (const { nid } of lost) this.#records.change(nid, { state: 'running', table: null });
    });
    const { log } = this.#options;
    for (const { nid } of lost) log.warn({ nid, action: 'import' }, 'table file was missing, imported again');
    const pending = this.#records.pending();
    for (const nid of pending) this.#start(nid);
    return { unlinked, resumed: pending.length };
  }

  /** Ends the imports in progress, which stay pending. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#pickUp);
    this.#isClosed = true;
    const ending = [...this.#running.values()].map(({ done }) => done);
    for (const nid of [...this.#running.keys()]) this.#supersede(nid);
    await Promise.all(ending);
  }

  /** What is known of a resource with a CSV or TSV file; null for others. */
  #record(nid: string): DatastoreRecord | null {
    const record = this.#records.get(nid);
    return record !== null && isImportable(record.mime) ? record : null;
  }

  /** Starts the import that is pending; null when the datastore is closed (the next start resumes it) or has no record. */
  #start(nid: string): RunningImport | null {
    const record = this.#record(nid);
    if (record === null || this.#isClosed) return null;
    this.#supersede(nid);
    const file = this.#files.newName(nid);
    const { answer, cancel } = importers.start({
      path: record.path,
      target: this.#files.path(file),
      dialect: dialectOf(record.configuration, record.mime),
    });
    const running: RunningImport = { record, file, done: Promise.resolve(), cancel };
    this.#running.set(nid, running);
    running.done = this.#settle(running, answer);
    return running;
  }

  /** Starts the imports that are pending and not in progress: they were never started, or the disk was full. */
  #startPending(): void {
    try {
      for (const nid of this.#records.pending()) if (!this.#running.has(nid)) this.#start(nid);
    } catch (err) {
      this.#options.log.warn({ action: 'import', err }, 'could not look for pending imports');
    }
  }

  #supersede(nid: string): void {
    this.#running.get(nid)?.cancel();
    this.#running.delete(nid);
  }

  /** Stores what an import comes to, and removes the table that is garbage then. Never rejects. */
  async #settle(running: RunningImport, answering: Promise<ImportAnswer>): Promise<void> {
    const { file, record } = running;
    const startedAt = performance.now();
    const facts = { nid: record.nid, fid: record.fid, action: 'import' };
    const answer = await answering.catch((error): ImportAnswer => ({ kind: 'failed', reason: reasonOf(error) }));
    let garbage: string | null = file;
    try {
      garbage = await this.#store(running, answer);
      if (this.#isCurrent(running))
        this.#report(answer, { ...facts, ms: Math.round(performance.now() - startedAt) }, record);
    } catch (err) {
      this.#options.log.error({ ...facts, err }, 'import could not be stored, trying again later');
    }
    if (garbage !== null) this.#files.remove(garbage);
    if (this.#isCurrent(running)) this.#running.delete(record.nid);
  }

  #isCurrent(running: RunningImport): boolean {
    return this.#running.get(running.record.nid) === running;
  }

  /** Stores the outcome of an import; returns the table file that is garbage now. */
  async #store(running: RunningImport, answer: ImportAnswer): Promise<string | null> {
    const { file, record } = running;
    const { nid, fid } = record;
    if (!this.#isCurrent(running) || answer.kind === 'cancelled' || answer.kind === 'full') return file;
    return this.#options.write(() => {
      const current = this.#record(nid);
      if (!this.#isCurrent(running) || current?.fid !== fid) return file;
      if (answer.kind === 'failed') {
        this.#records.change(nid, { state: 'failed', reason: answer.reason });
        return file;
      }
      const { rows, columns } = answer;
      this.#records.change(nid, { state: 'imported', table: { file, fid, rows, columns } });
      return current.table?.file ?? null;
    });
  }

  #report(answer: ImportAnswer, facts: Record<string, unknown>, { configuration }: DatastoreRecord): void {
    const { log } = this.#options;
    if (answer.kind === 'imported') log.info({ ...facts, rows: answer.rows }, 'table imported');
    // Who attaches a file may say afterwards how it is read.
    const level = Object.keys(configuration).length > 0 ? 'warn' : 'info';
    if (answer.kind === 'failed') log[level]({ ...facts, reason: answer.reason }, 'table not imported');
    if (answer.kind === 'full') log.error(facts, 'no space left for the table, trying again later');
  }

  /** Waits for the end of an import, but no longer than a caller may wait. */
  async #waitFor(running: RunningImport | null): Promise<void> {
    if (running === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#options.attachWaitMs ?? longestWaitMs).unref();
    await Promise.race([running.done, promise]).finally(() => clearTimeout(timer));
  }

  /** Removes the table of a resource; `change` says what becomes of its record. */
  async #clear(nid: string, change: () => unknown): Promise<void> {
    if (this.#records.get(nid) === null) return;
    this.#supersede(nid);
    const old = await this.#options.write(() => {
      const table = this.#records.get(nid)?.table;
      change();
      return table;
    });
    if (old) this.#files.remove(old.file);
  }
}
