// The datastore of a portal: imports attached tables, reports their status, searches their rows.
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../model/errors.ts';
import type { Log } from '../../model/log.ts';
import type { Reason } from '../../model/report.ts';
import { defaultRowBytes } from '../../tables/scan/dialect.ts';
import { WorkerPool } from '../../util/worker-pool.ts';
import type { ImportAnswer, ImportTask } from './import-worker.ts';
import { type AnswerBudget, answerLength, type SearchAnswer, type SearchWish, searchRefused } from './query.ts';
import {
  type AttachedFile,
  changedConfiguration,
  type DatastoreRecord,
  type DatastoreStatus,
  dialectOf,
  fieldStatusOf,
  isImportable,
  openRecords,
  statusOf,
} from './records.ts';
import { searchTable } from './search.ts';
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

/** The outcome of an attach or import call while the caller waited; `running` = it continues in the background. */
export type ImportOutcome = 'imported' | 'failed' | 'not-importable' | 'running';

export interface SearchQuery extends SearchWish {
  nid: string;
  /** Shown in the answer. */
  resourceUuid: string;
  /** Shared by the searches of one request; that of one answer when absent. */
  budget?: AnswerBudget;
  /** True for accounts with the right to lists of any length; false when absent. */
  isUnlimited?: boolean;
}

interface RunningImport {
  record: DatastoreRecord;
  /** Name of the table file that it makes. */
  file: string;
  /** True once another import or a removal took its place: its answer must not be used. */
  isSuperseded: boolean;
  /** Resolves when the import has ended and what it came to is stored; never rejects. */
  done: Promise<void>;
  cancel: () => void;
}

const pool = new WorkerPool<ImportTask, ImportAnswer>({
  file: 'import-worker',
  of: import.meta.url,
  name: 'importFile',
  threads: 2,
});

/**
 * Imports, status and search. Each import is written to its own SQLite file; when it is complete and durable, one
 * transaction in portal.db points the resource at it, and the old file is unlinked. So readers see the old table or the new
 * one, whatever happens in between. An import is pending until its outcome is stored: one that a crash, a full disk or a
 * store that cannot be written left behind is made again.
 */
export class Datastore {
  readonly #options: DatastoreOptions;
  readonly #records: ReturnType<typeof openRecords>;
  readonly #files: TableFiles;
  readonly #running = new Map<string, RunningImport>();
  readonly #pickUp: NodeJS.Timeout;
  readonly #stop = new AbortController();

  constructor(options: DatastoreOptions) {
    this.#options = options;
    this.#records = openRecords(options.db);
    this.#files = new TableFiles(options.dir);
    this.#pickUp = setInterval(() => this.#startPending(), options.pickUpMs ?? 30_000).unref();
  }

  /**
   * Remembers the file of a resource without importing it yet; to be called inside the transaction that stores the file
   * on the node, and followed by {@link attached}: so a crash between the two still ends in an import, or, where the
   * file is no table, in no datastore. {@link attached} alone does both, one after the other.
   */
  note(file: AttachedFile): void {
    this.#records.putFile(file);
  }

  /**
   * A file was attached: a CSV or TSV is imported at once. Waits for the import up to `attachWaitMs` and returns what it
   * came to. Any other file ends the datastore of the resource. A faulty table is `failed`, never an error: the file
   * stays attached, the status reads 7 and rows of an older file stay searchable. Where the disk is full, the import
   * stays pending and is tried again.
   */
  async attached(file: AttachedFile): Promise<ImportOutcome> {
    const { nid, fid, mime } = file;
    if (!isImportable(mime)) {
      await this.fileRemoved(nid);
      return 'not-importable';
    }
    const known = this.#record(nid);
    if (known?.state !== 'running' || known.fid !== fid) {
      this.#supersede(nid);
      await this.#options.write(() => this.note(file));
    }
    return this.#import(nid);
  }

  /**
   * Imports the file of a resource now and waits as {@link attached} does. An import in progress is waited for;
   * a file that is imported already by the same configuration is left alone.
   */
  async importNow(nid: string): Promise<ImportOutcome> {
    const record = this.#record(nid);
    if (record === null) return 'not-importable';
    const running = this.#running.get(nid);
    if (running !== undefined) return this.#waitFor(running);
    if (record.state === 'imported' && record.table?.fid === record.fid) return 'imported';
    await this.#options.write(() => this.#records.setState(nid, 'running'));
    return this.#import(nid);
  }

  /** Removes table and configuration (spec 4.11); the file can be imported again. */
  remove(nid: string): Promise<void> {
    return this.#clear(nid, () => this.#records.configure(nid, null));
  }

  /** Removes the table and keeps the configuration. */
  drop(nid: string): Promise<void> {
    return this.#clear(nid, () => undefined);
  }

  /**
   * Changes how the file is read (`delimiter`, `quote`, `escape`, `trailing_delimiter`) from the next import on. Throws a
   * Refusal (406) for an unknown property or value, and nothing is changed.
   */
  async configure(nid: string, properties: Record<string, unknown>): Promise<void> {
    const record = this.#record(nid);
    if (record === null) return;
    const configuration = changedConfiguration(record, properties);
    this.#supersede(nid);
    await this.#options.write(() => {
      this.#records.configure(nid, configuration);
      this.#records.setState(nid, 'ready');
    });
  }

  /** True where the resource has a CSV or TSV file. */
  isImportable(nid: string): boolean {
    return this.#record(nid) !== null;
  }

  /** The status of a resource's datastore; null where it has no CSV or TSV file. */
  status(nid: string): DatastoreStatus | null {
    const record = this.#record(nid);
    return record === null ? null : statusOf(record);
  }

  /** Why the last import failed, with line and column where it is a fault of the table; null when it did not fail. */
  failure(nid: string): Reason | null {
    return this.#record(nid)?.reason ?? null;
  }

  /** Value of `field_datastore_status`: "2" while the rows of the attached file are in the datastore, else "0". */
  fieldStatus(nid: string): string {
    const record = this.#record(nid);
    return record === null ? '0' : fieldStatusOf(record);
  }

  /** The resource has no importable file any more, or is deleted: table, configuration and record go. */
  fileRemoved(nid: string): Promise<void> {
    return this.#clear(nid, () => this.#records.delete(nid));
  }

  /** The resource is being deleted: as {@link fileRemoved}. */
  nodeRemoved(nid: string): Promise<void> {
    return this.fileRemoved(nid);
  }

  /**
   * Searches the rows of a resource. Throws a Refusal: 404 where nothing is imported, 400 for a wish that names unknown
   * columns or is no number; its body has the recorded shape of such errors.
   */
  async search({ nid, budget = { left: answerLength }, ...wish }: SearchQuery): Promise<SearchAnswer> {
    const table = this.#record(nid)?.table ?? null;
    if (table === null) throw searchRefused(404, 'The resource has no datastore table.');
    try {
      return await searchTable({ ...table, path: this.#files.path(table.file) }, { ...wish, budget });
    } catch (error) {
      if (this.#record(nid)?.table?.file === table.file) throw error;
      return this.search({ nid, budget, ...wish }); // its table was replaced before it could be opened
    }
  }

  /**
   * To be called once at start: removes table files that no resource points at (half imports, and old tables whose
   * unlink a crash prevented) and resumes in the background every import that is pending.
   */
  async sweep(): Promise<{ unlinked: number; resumed: number }> {
    const records = this.#records.all();
    for (const { nid } of records.filter(({ mime }) => !isImportable(mime))) await this.fileRemoved(nid);
    const tables = this.#records.all().flatMap(({ nid, table }) => (table === null ? [] : [{ nid, file: table.file }]));
    const { present, unlinked } = this.#files.sweep(new Set(tables.map(({ file }) => file)));
    const lost = tables.filter(({ file }) => !present.has(file));
    await this.#options.write(() => {
      for (const { nid } of lost) {
        this.#records.clear(nid);
        this.#records.setState(nid, 'running');
      }
    });
    for (const { nid } of lost)
      this.#options.log.warn({ nid, action: 'import' }, 'table file was missing, imported again');
    const pending = this.#records.pending();
    for (const nid of pending) this.#start(nid);
    return { unlinked, resumed: pending.length };
  }

  /** Ends the imports in progress, which stay pending. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#pickUp);
    this.#stop.abort();
    const ending = [...this.#running.values()].map(({ done }) => done);
    for (const nid of [...this.#running.keys()]) this.#supersede(nid);
    await Promise.all(ending);
  }

  /** What is known of a resource with a CSV or TSV file; null for others. */
  #record(nid: string): DatastoreRecord | null {
    const record = this.#records.get(nid);
    return record !== null && isImportable(record.mime) ? record : null;
  }

  async #import(nid: string): Promise<ImportOutcome> {
    const running = this.#start(nid);
    return running === null ? 'running' : this.#waitFor(running);
  }

  /** Starts the import that is pending; null when the datastore is closed (the next start resumes it) or has no record. */
  #start(nid: string): RunningImport | null {
    const record = this.#record(nid);
    if (record === null || this.#stop.signal.aborted) return null;
    this.#supersede(nid);
    const file = this.#files.newName(nid);
    const { answer, cancel } = pool.start({
      path: record.path,
      target: this.#files.path(file),
      dialect: dialectOf(record.configuration, record.mime),
      rowBytes: defaultRowBytes,
    });
    const running: RunningImport = { record, file, isSuperseded: false, done: Promise.resolve(), cancel };
    running.done = this.#settle(running, answer, performance.now());
    this.#running.set(nid, running);
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

  /** Cancels the import of this resource in progress, if there is one. */
  #supersede(nid: string): void {
    const running = this.#running.get(nid);
    if (running === undefined) return;
    running.isSuperseded = true;
    running.cancel();
    this.#running.delete(nid);
  }

  /** Stores what an import comes to, and removes the table that is garbage then. Never rejects. */
  async #settle(running: RunningImport, answering: Promise<ImportAnswer>, startedAt: number): Promise<void> {
    const { record, file } = running;
    const facts = { nid: record.nid, fid: record.fid, action: 'import' };
    try {
      const answer = await answering.catch(
        (error: unknown): ImportAnswer => ({ kind: 'failed', reason: reasonOf(error) }),
      );
      const garbage = await this.#store(running, answer);
      if (!running.isSuperseded) this.#report(answer, { ...facts, ms: Math.round(performance.now() - startedAt) });
      if (garbage !== null) this.#files.remove(garbage);
    } catch (err) {
      this.#options.log.error({ ...facts, err }, 'import could not be stored, trying again later');
      this.#files.remove(file);
    }
    if (this.#running.get(record.nid) === running) this.#running.delete(record.nid);
  }

  /** Stores the outcome of an import; returns the table file that is garbage now. */
  async #store(running: RunningImport, answer: ImportAnswer): Promise<string | null> {
    const { file } = running;
    const { nid, fid } = running.record;
    const isMade = answer.kind === 'imported';
    if (running.isSuperseded || answer.kind === 'cancelled' || answer.kind === 'full') return isMade ? file : null;
    return this.#options.write(() => {
      const current = this.#record(nid);
      if (running.isSuperseded || current?.fid !== fid) return isMade ? file : null;
      if (answer.kind === 'failed') {
        this.#records.fail(nid, answer.reason);
        return null;
      }
      this.#records.point(nid, { file, fid, rows: answer.rows, columns: answer.columns });
      return current.table?.file ?? null;
    });
  }

  #report(answer: ImportAnswer, facts: Record<string, unknown>): void {
    const { log } = this.#options;
    if (answer.kind === 'imported') log.info({ ...facts, rows: answer.rows }, 'table imported');
    if (answer.kind === 'failed') log.warn({ ...facts, reason: answer.reason }, 'table not imported');
    if (answer.kind === 'full') log.error(facts, 'no space left for the table, trying again later');
  }

  /** Waits for an import as long as a caller may wait. */
  async #waitFor(running: RunningImport): Promise<ImportOutcome> {
    const ended = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, ended.signal]);
    const late = sleep(this.#options.attachWaitMs ?? 30_000, undefined, { signal }).catch(() => undefined);
    await Promise.race([running.done, late]);
    ended.abort();
    const state = running.isSuperseded ? null : this.#record(running.record.nid)?.state;
    return state === 'imported' || state === 'failed' ? state : 'running';
  }

  async #clear(nid: string, also: () => void): Promise<void> {
    if (this.#records.get(nid) === null) return;
    this.#supersede(nid);
    const old = await this.#options.write(() => {
      const table = this.#records.get(nid)?.table ?? null;
      this.#records.clear(nid);
      also();
      return table;
    });
    if (old !== null) this.#files.remove(old.file);
  }
}
