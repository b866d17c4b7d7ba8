// Uploaded files: a row each; the bytes lie under their uuid outside any web root.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { FreeNumbers } from './free-numbers.ts';

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

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const toFile = (row: Record<string, unknown>): StoredFile => ({
  fid: Number(row.fid),
  uid: Number(row.uid),
  filename: String(row.filename),
  name: String(row.name),
  filemime: String(row.filemime),
  filesize: Number(row.filesize),
  timestamp: Number(row.timestamp),
  type: String(row.type),
  uuid: String(row.uuid),
  sha256: String(row.sha256),
  height: numberOrNull(row.height),
  width: numberOrNull(row.width),
});

/** The file table and who uses each file. */
export class Files {
  readonly #byFid: StatementSync;
  readonly #byName: StatementSync;
  readonly #all: StatementSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #use: StatementSync;
  readonly #release: StatementSync;
  readonly #ofNode: StatementSync;
  readonly #isUsed: StatementSync;
  readonly #nodesOf: StatementSync;

  /** How far the numbers of public names go. */
  readonly nameNumbers = new FreeNumbers();

  constructor(db: DatabaseSync) {
    this.#byFid = db.prepare('SELECT * FROM file WHERE fid = ?');
    this.#byName = db.prepare('SELECT * FROM file WHERE name = ?');
    this.#all = db.prepare('SELECT uuid FROM file');
    this.#insert = db.prepare(
      'INSERT INTO file (uid, filename, name, filemime, filesize, timestamp, type, uuid, sha256, height, width) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#delete = db.prepare('DELETE FROM file WHERE fid = ?');
    this.#use = db.prepare('INSERT OR IGNORE INTO file_usage (fid, nid) VALUES (?, ?)');
    this.#release = db.prepare('DELETE FROM file_usage WHERE nid = ?');
    this.#ofNode = db.prepare(
      'SELECT f.* FROM file_usage u JOIN file f ON f.fid = u.fid WHERE u.nid = ? ORDER BY u.fid',
    );
    this.#isUsed = db.prepare('SELECT 1 FROM file_usage WHERE fid = ? LIMIT 1');
    this.#nodesOf = db.prepare('SELECT nid FROM file_usage WHERE fid = ? ORDER BY nid');
  }

  /** The file with that fid, or null. */
  byFid(fid: number): StoredFile | null {
    const row = this.#byFid.get(fid);
    return row === undefined ? null : toFile(row);
  }

  /** The file with that public name, or null. */
  byName(name: string): StoredFile | null {
    const row = this.#byName.get(name);
    return row === undefined ? null : toFile(row);
  }

  /** The uuids of all files, that is the names that belong on disk. */
  uuids(): Set<string> {
    return new Set(this.#all.all().map((row) => String(row.uuid)));
  }

  /** The files of a node, lowest fid first. */
  ofNode(nid: number): StoredFile[] {
    return this.#ofNode.all(nid).map(toFile);
  }

  /** The nodes that use a file, lowest nid first. */
  nodesOf(fid: number): number[] {
    return this.#nodesOf.all(fid).map((row) => Number(row.nid));
  }

  /** Adds a file and returns its fid; to be called inside a write. */
  add(file: Omit<StoredFile, 'fid'>): number {
    const { uid, filename, name, filemime, filesize, timestamp, type, uuid, sha256, height, width } = file;
    return Number(
      this.#insert.run(uid, filename, name, filemime, filesize, timestamp, type, uuid, sha256, height, width)
        .lastInsertRowid,
    );
  }

  /** Makes exactly `fids` the files of a node and returns the files nobody uses any more (their rows are gone); inside a write. */
  assign(nid: number, fids: number[]): StoredFile[] {
    const before = this.ofNode(nid);
    this.#release.run(nid);
    for (const fid of fids) this.#use.run(fid, nid);
    const dropped = before.filter((file) => !fids.includes(file.fid) && this.#isUsed.get(file.fid) === undefined);
    for (const file of dropped) {
      this.#delete.run(file.fid);
      releaseName(file.name, this.nameNumbers);
    }
    return dropped;
  }
}

/** `table_3.csv` is the fourth of `table.csv`, see `content/file-name.ts`. */
const releaseName = (name: string, numbers: FreeNumbers): void => {
  const [, stem, number, ending] = /^(.*)_(0|[1-9]\d{0,8})(\.[^.]*)$/s.exec(name) ?? [];
  if (number !== undefined) numbers.free(`${stem}${ending}`, Number(number));
};
