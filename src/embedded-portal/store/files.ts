// Uploaded files: a row each; the bytes lie under their uuid outside any web root.
import type { DatabaseSync } from 'node:sqlite';
import { insertInto, prepareAll, type Statements, valuesOf } from './statements.ts';

/** One uploaded file. */
export interface StoredFile {
  fid: number;
  uid: number;
  /** The name as it was uploaded. */
  filename: string;
  /** The unique public name: `public://NAME`, `/sites/default/files/NAME`. */
  name: string;
  filemime: string;
  filesize: number;
  timestamp: number;
  /** Media class as recorded: `undefined`, `document`, `image`, `text`, `audio`, `video`. */
  type: string;
  /** Also the name of the bytes on disk. */
  uuid: string;
  sha256: string;
  /** Pixels of a picture; null for other files, and where they could not be read. */
  height: number | null;
  width: number | null;
}

const toFile = (row: Record<string, unknown>): StoredFile => ({ ...row }) as unknown as StoredFile; // the columns of the table

const columns = 'uid filename name filemime filesize timestamp type uuid sha256 height width'.split(' ');

const statements = {
  byFid: 'SELECT * FROM file WHERE fid = ?',
  byName: 'SELECT * FROM file WHERE name = ?',
  uuids: 'SELECT uuid FROM file',
  insert: insertInto('file', columns),
  remove: 'DELETE FROM file WHERE fid = ?',
  use: 'INSERT OR IGNORE INTO file_usage (fid, nid) VALUES (?, ?)',
  release: 'DELETE FROM file_usage WHERE nid = ?',
  ofNode: 'SELECT f.* FROM file_usage u JOIN file f ON f.fid = u.fid WHERE u.nid = ? ORDER BY u.fid',
  isUsed: 'SELECT 1 FROM file_usage WHERE fid = ? LIMIT 1',
  nodesOf: 'SELECT nid FROM file_usage WHERE fid = ? ORDER BY nid',
};

/** The file table and who uses each file. */
export class Files {
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, statements);
  }

  /** The file with that fid, or null. */
  byFid(fid: number): StoredFile | null {
    const row = this.#sql.byFid.get(fid);
    return row === undefined ? null : toFile(row);
  }

  /** The file with that public name, or null. */
  byName(name: string): StoredFile | null {
    const row = this.#sql.byName.get(name);
    return row === undefined ? null : toFile(row);
  }

  /** The uuids of all files, that is the names that belong on disk. */
  uuids(): Set<string> {
    return new Set(this.#sql.uuids.all().map((row) => String(row.uuid)));
  }

  /** The files of a node, lowest fid first. */
  ofNode(nid: number): StoredFile[] {
    return this.#sql.ofNode.all(nid).map(toFile);
  }

  /** The nodes that use a file, lowest nid first. */
  nodesOf(fid: number): number[] {
    return this.#sql.nodesOf.all(fid).map((row) => Number(row.nid));
  }

  /** Adds a file and returns its fid; to be called inside a write. */
  add(file: Omit<StoredFile, 'fid'>): number {
    return Number(this.#sql.insert.run(...valuesOf({ ...file }, columns)).lastInsertRowid);
  }

  /** Makes exactly `fids` the files of a node and returns the files no longer in use (their rows are gone); inside a write. */
  assign(nid: number, fids: number[]): StoredFile[] {
    const before = this.ofNode(nid);
    this.#sql.release.run(nid);
    for (const fid of fids) this.#sql.use.run(fid, nid);
    const dropped = before.filter((file) => !fids.includes(file.fid) && this.#sql.isUsed.get(file.fid) === undefined);
    for (const file of dropped) this.#sql.remove.run(file.fid);
    return dropped;
  }
}
