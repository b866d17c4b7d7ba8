// Uploaded files: a row each; the bytes lie under their uuid outside any web root.
import type { DatabaseSync } from 'node:sqlite';
import { inserter, statementsOf } from './statements.ts';

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

type NewFile = Omit<StoredFile, 'fid'>;

const columns = 'uid filename name filemime filesize timestamp type uuid sha256 height width'.split(
  ' ',
) as (keyof NewFile)[]; // as written

/** Opens the file table, and who uses each file. What changes something is to be called inside a write. */
export const openFiles = (db: DatabaseSync) => {
  const { row, rows, column, value, change } = statementsOf(db);
  const remove = change<[fid: number]>('DELETE FROM file WHERE fid = ?');
  const use = change<[fid: number, nid: number]>('INSERT OR IGNORE INTO file_usage (fid, nid) VALUES (?, ?)');
  const release = change<[nid: number]>('DELETE FROM file_usage WHERE nid = ?');
  const isUsed = value<number, [fid: number]>('SELECT 1 FROM file_usage WHERE fid = ? LIMIT 1');
  /** The files of a node, lowest fid first. */
  const ofNode = rows<StoredFile, [nid: number]>(
    'SELECT f.* FROM file_usage u JOIN file f ON f.fid = u.fid WHERE u.nid = ? ORDER BY u.fid',
  );
  return {
    ofNode,
    byFid: row<StoredFile, [fid: number]>('SELECT * FROM file WHERE fid = ?'),
    /** The file with that public name. */
    byName: row<StoredFile, [name: string]>('SELECT * FROM file WHERE name = ?'),
    /** The uuids of all files, that is the names that belong on disk. */
    uuids: column<string>('SELECT uuid FROM file'),
    /** The nodes that use a file, lowest nid first. */
    nodesOf: column<number, [fid: number]>('SELECT nid FROM file_usage WHERE fid = ? ORDER BY nid'),
    /** Adds a file and returns its fid. */
    add: inserter<{ [K in keyof NewFile]: NewFile[K] }>(db, 'file', columns),
    /** Makes exactly `fids` the files of a node and returns the files no longer in use (their rows are gone). */
    assign: (nid: number, fids: number[]): StoredFile[] => {
      const before = ofNode(nid);
      release(nid);
      for (const fid of fids) use(fid, nid);
      const dropped = before.filter(({ fid }) => !fids.includes(fid) && isUsed(fid) === null);
      for (const { fid } of dropped) remove(fid);
      return dropped;
    },
  };
};
