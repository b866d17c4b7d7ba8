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
  DatastoreRecords,
  type DatastoreStatus,
  dialectOf,
  fieldStatusOf,
  isImportable,
  statusOf,
} from './records.ts';
import { TableSearch } from './search.ts';
import { TableFiles } from './table-files.ts';

/** An import in progress. */
interface RunningImport {
  /** True once another import or a removal took its place: its answer must not be used. */
  superseded: boolean;
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

/** Runs imports by resource. */
class Imports {
  readonly #running = new Map<string, RunningImport>();

  /** The import of this resource in progress. */
  of(nid: string): RunningImport | null {
    return this.#running.get(nid) ?? null;
  }

  /**
   * Starts an import; one of the same resource in progress is superseded. `settle` is called with the answer
   * and must not throw; `done` waits for it.
   */
  start(nid: string, task: ImportTask, settle: (answer: ImportAnswer) => Promise<void>): RunningImport {
    this.supersede(nid);
    const { answer, cancel } = pool.start(task);
    const running: RunningImport = { superseded: false, done: Promise.resolve(), cancel };
    running.done = answer
      .catch((error: unknown): ImportAnswer => {
        return running.superseded ? { kind: 'cancelled' } : { kind: 'failed', reason: reasonOf(error) };
      })
      .then(settle)
      .finally(() => {
        if (this.#running.get(nid) === running) this.#running.delete(nid);
      });
    this.#running.set(nid, running);
    return running;
  }

  /** Cancels the import of this resource in progress, if there is one. */
  supersede(nid: string): void {
    const running = this.#running.get(nid);
    if (running === undefined) return;
    running.superseded = true;
    running.cancel();
    this.#running.delete(nid);
  }

  /** Cancels what is in progress, which is still pending and resumed by the next sweep, and waits for its end. Idempotent. */
  async close(): Promise<void> {
    const ending = [...this.#running.values()].map(({ done }) => done);
    for (const nid of [...this.#running.keys()]) this.supersede(nid);
    await Promise.all(ending);
  }
}

/** What a datastore needs. */
export interface DatastoreOptions {
  /** portal.db with the tables of `datastoreSchema`. */
  db: DatabaseSync;
  /** Folder for the tables, made when it is missing; nothing else may lie in it. */
  dir: string;
  log: Log;
  /** How long an attach or import call waits for the import, 30 s when absent. */
  attachWaitMs?: number | undefined;
  /** Largest size of one row in bytes, 1 MB when absent. */
  rowBytes?: number;
  /** How long to wait before what an import came to is stored again, at first; and how often lost imports are searched for. 1 s and 30 s when absent. */
  retryMs?: number;
  pickUpMs?: number;
  /** Runs work in a durable transaction, shared with other writers. */
  write: <T>(work: () => T) => Promise<T>;
}

/** Longest wait before an import is stored again, milliseconds. */
const longestRetryMs = 30_000;

/** The outcome of an attach or import call while the caller waited; `running` = it continues in the background. */
export type ImportOutcome = 'imported' | 'failed' | 'not-importable' | 'running';

/** A search over the rows of one resource. */
export interface SearchQuery extends SearchWish {
  nid: string;
  /** Shown in the answer. */
  resourceUuid: string;
  /** Shared by the searches of one request; that of one answer when absent. */
  budget?: AnswerBudget;
  /** True for accounts with the right to lists of any length; false when absent. */
  isUnlimited?: boolean;
}

/** What an import was made of, and the table file that it makes. */
interface Made {
  record: DatastoreRecord;
  file: string;
}

/**
 * Imports, status and search. Each import is written to its own SQLite file; when it is complete and durable, one
 * transaction in portal.db points the resource at it, and the old file is unlinked after its last reader. So readers see
 * the old table or the new one, whatever happens in between.
 */
export class Datastore {
  readonly #records: DatastoreRecords;
  readonly #files: TableFiles;
  readonly #imports = new Imports();
  readonly #rowBytes: number;
  readonly #search: TableSearch;
  readonly #log: Log;
  readonly #attachWaitMs: number;
  readonly #write: <T>(work: () => T) => Promise<T>;
  /** Table files by resource that lost their pointer in a transaction which may not have ended yet. */
  readonly #orphans = new Map<string, string>();
  readonly #retryMs: number;
  readonly #pickUp: NodeJS.Timeout;
  readonly #stop = new AbortController();
  #closed = false;

  constructor(options: DatastoreOptions) {
    this.#log = options.log;
    this.#attachWaitMs = options.attachWaitMs ?? 30_000;
    this.#records = new DatastoreRecords(options.db);
    this.#files = new TableFiles(options.dir);
    this.#search = new TableSearch(this.#files);
    this.#rowBytes = options.rowBytes ?? defaultRowBytes;
    this.#write = options.write;
    this.#retryMs = options.retryMs ?? 1000;
    this.#pickUp = setInterval(() => this.#startPending(), options.pickUpMs ?? 30_000).unref();
  }

  /**
   * Remembers the file of a resource without importing it yet; to be called inside the transaction that stores the file
   * on the node, and followed by {@link attached}: so a crash between the two still ends in an import, or, where the
   * file is no table, in no datastore. {@link attached} alone does both, one after the other.
   */
  note(file: AttachedFile): void {
    if (isImportable(file.mime)) {
      this.#records.putFile(file);
      return;
    }
    const old = this.#records.get(file.nid)?.table ?? null;
    if (old !== null) this.#orphans.set(file.nid, old.file);
    this.#records.delete(file.nid);
  }

  /**
   * A file was attached: a CSV or TSV is imported at once. Waits for the import up to `attachWaitMs` and returns what it
   * came to. Any other file ends the datastore of the resource. A faulty table is `failed`, never an error: the file
   * stays attached, the status reads 7 and rows of an older file stay searchable. Where the disk is full, the import
   * stays pending and is tried again.
   */
  async attached(file: AttachedFile): Promise<ImportOutcome> {
    const { nid } = file;
    if (!isImportable(file.mime)) {
      await this.fileRemoved(nid);
      this.#retireOrphan(nid);
      return 'not-importable';
    }
    const known = this.#records.get(nid);
    const noted = known?.state === 'running' && known.fid === file.fid;
    if (!noted) {
      this.#imports.supersede(nid);
      await this.#write(() => this.note(file));
    }
    return this.#import(nid);
  }

  /**
   * Imports the file of a resource now and waits as {@link attached} does. An import in progress is waited for;
   * a file that is imported already by the same configuration is left alone.
   */
  async importNow(nid: string): Promise<ImportOutcome> {
    const record = this.#records.get(nid);
    if (record === null) return 'not-importable';
    const running = this.#imports.of(nid);
    if (running !== null) return this.#waitFor(nid, running);
    if (record.state === 'imported' && record.table?.fid === record.fid) return 'imported';
    await this.#write(() => this.#records.setState(nid, 'running'));
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
    const record = this.#records.get(nid);
    if (record === null) return;
    const configuration = changedConfiguration(record.configuration, properties, record.mime);
    this.#imports.supersede(nid);
    await this.#write(() => {
      this.#records.configure(nid, configuration);
      this.#records.setState(nid, 'ready');
    });
  }

  /** True where the resource has a CSV or TSV file. */
  isImportable(nid: string): boolean {
    return this.#records.get(nid) !== null;
  }

  /** The status of a resource's datastore; null where it has no CSV or TSV file. */
  status(nid: string): DatastoreStatus | null {
    const record = this.#records.get(nid);
    return record === null ? null : statusOf(record);
  }

  /** Why the last import failed, with line and column where it is a fault of the table; null when it did not fail. */
  failure(nid: string): Reason | null {
    return this.#records.get(nid)?.reason ?? null;
  }

  /** Value of `field_datastore_status`: "2" while the rows of the attached file are in the datastore, else "0". */
  fieldStatus(nid: string): string {
    const record = this.#records.get(nid);
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
    const table = this.#records.get(nid)?.table ?? null;
    if (table === null) throw searchRefused(404, 'The resource has no datastore table.');
    return this.#search.search(table, { ...wish, budget });
  }

  /**
   * To be called once at start: removes table files that no resource points at (half imports, and old tables whose
   * unlink a crash prevented) and resumes in the background every import that is pending.
   */
  async sweep(): Promise<{ unlinked: number; resumed: number }> {
    const records = this.#records.all();
    const named = new Set(records.flatMap(({ table }) => (table === null ? [] : [table.file])));
    const { present, unlinked } = this.#files.sweep(named);
    const lost = records.filter(({ table }) => table !== null && !present.has(table.file));
    await this.#write(() => {
      for (const { nid } of lost) {
        this.#records.clear(nid);
        this.#records.setState(nid, 'running');
      }
    });
    for (const { nid } of lost) this.#log.warn({ nid, action: 'import' }, 'table file was missing, imported again');
    const pending = new Set([...lost, ...records.filter(({ state }) => state === 'running')].map(({ nid }) => nid));
    for (const nid of pending) this.#start(nid);
    return { unlinked, resumed: pending.size };
  }

  /** Ends connections; imports in progress are resumed by the next {@link sweep}. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#pickUp);
    this.#stop.abort();
    await this.#imports.close();
    this.#files.close();
  }

  /** Removes the table whose pointer {@link note} took away, now that this is durable. */
  #retireOrphan(nid: string): void {
    const orphan = this.#orphans.get(nid);
    this.#orphans.delete(nid);
    if (orphan !== undefined && this.#records.get(nid)?.table?.file !== orphan) this.#files.retire(orphan);
  }

  async #import(nid: string): Promise<ImportOutcome> {
    const running = this.#start(nid);
    return running === null ? 'running' : this.#waitFor(nid, running);
  }

  /** Starts the import that is pending; null when the datastore is closed (the next start resumes it) or has no record. */
  #start(nid: string): RunningImport | null {
    const record = this.#records.get(nid);
    if (record === null || this.#closed) return null;
    const file = this.#files.newName(nid);
    const task = {
      path: record.path,
      target: this.#files.path(file),
      dialect: dialectOf(record.configuration, record.mime),
      rowBytes: this.#rowBytes,
    };
    const startedAt = performance.now();
    const running: RunningImport = this.#imports.start(nid, task, async (answer) => {
      const garbage = await this.#settleInTheEnd(running, { record, file }, answer);
      if (!running.superseded) this.#report(record, answer, Math.round(performance.now() - startedAt));
      if (garbage !== null) this.#files.retire(garbage);
    });
    return running;
  }

  /** Starts the imports that are pending and not in progress: they were never started, or the disk was full. */
  #startPending(): void {
    try {
      for (const nid of this.#records.pending()) if (this.#imports.of(nid) === null) this.#start(nid);
    } catch (err) {
      this.#log.warn({ action: 'import', err }, 'could not look for pending imports');
    }
  }

  /** Stores the outcome of an import, retrying while the store cannot be written; the import is in progress until then. */
  async #settleInTheEnd(running: RunningImport, made: Made, answer: ImportAnswer): Promise<string | null> {
    for (let waitMs = this.#retryMs; ; waitMs = Math.min(2 * waitMs, longestRetryMs)) {
      try {
        return await this.#settle(running, made, answer);
      } catch (err) {
        this.#log.error(
          { nid: made.record.nid, action: 'import', waitMs, err },
          'import could not be stored, trying again',
        );
      }
      await sleep(waitMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (this.#closed) return null; // it is still pending: the next start makes it again and removes this table
    }
  }

  /** Stores the outcome of an import; returns the table file that is garbage now. */
  async #settle(running: RunningImport, { record, file }: Made, answer: ImportAnswer): Promise<string | null> {
    const { nid, fid } = record;
    const made = answer.kind === 'imported' ? file : null;
    if (running.superseded || answer.kind === 'cancelled' || answer.kind === 'full') return made;
    return this.#write(() => {
      const current = this.#records.get(nid);
      if (running.superseded || current?.fid !== fid) return made;
      if (answer.kind === 'failed') {
        this.#records.fail(nid, answer.reason);
        return null;
      }
      this.#records.point(nid, { file, fid, rows: answer.rows, columns: answer.columns });
      return current.table?.file ?? null;
    });
  }

  #report({ nid, fid }: DatastoreRecord, answer: ImportAnswer, ms: number): void {
    const facts = { nid, fid, action: 'import', ms };
    if (answer.kind === 'imported') this.#log.info({ ...facts, rows: answer.rows }, 'table imported');
    if (answer.kind === 'failed') this.#log.warn({ ...facts, reason: answer.reason }, 'table not imported');
    if (answer.kind === 'full') this.#log.error(facts, 'no space left for the table, trying again later');
  }

  /** Waits for an import, or for the one that took its place, as long as a caller may wait. */
  async #waitFor(nid: string, running: RunningImport): Promise<ImportOutcome> {
    const { promise: late, resolve } = Promise.withResolvers<'late'>();
    const timer = setTimeout(resolve, this.#attachWaitMs, 'late');
    const end = (): void => resolve('late');
    this.#stop.signal.addEventListener('abort', end);
    try {
      if ((await Promise.race([running.done, late])) === 'late') return 'running';
    } finally {
      clearTimeout(timer);
      this.#stop.signal.removeEventListener('abort', end);
    }
    const state = running.superseded ? null : this.#records.get(nid)?.state;
    return state === 'imported' || state === 'failed' ? state : 'running';
  }

  async #clear(nid: string, also: () => void): Promise<void> {
    if (this.#records.get(nid) === null) return;
    this.#imports.supersede(nid);
    const old = await this.#write(() => {
      const table = this.#records.get(nid)?.table ?? null;
      this.#records.clear(nid);
      also();
      return table;
    });
    if (old !== null) this.#files.retire(old.file);
  }
}
