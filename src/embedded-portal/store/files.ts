// Uploaded files: a row each; the bytes lie under their uuid outside any web root.
import type { DatabaseSync } from 'node:sqlite';
import { statementsOf } from './statements.ts';

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
}

/** Opens the file table, and who uses each file. What changes something is to be called inside a write. */
export const openFiles = (db: DatabaseSync) => {
  const { row, rows, column, value, insert, run } = statementsOf(db);
  /** The files of a node, lowest fid first. */
  const ofNode = (nid: number) =>
    rows<StoredFile>`SELECT f.* FROM file_usage u JOIN file f ON f.fid = u.fid WHERE u.nid = ${nid} ORDER BY u.fid`;
  return {
    ofNode,
    byFid: (fid: number) => row<StoredFile>`SELECT * FROM file WHERE fid = ${fid}`,
    byName: (name: string) => row<StoredFile>`SELECT * FROM file WHERE name = ${name}`,
    /** The uuids of all files, that is the names that belong on disk. */
    uuids: () => column<string>`SELECT uuid FROM file`,
    /** The nodes that use a file, lowest nid first. */
    nodesOf: (fid: number) => column<number>`SELECT nid FROM file_usage WHERE fid = ${fid} ORDER BY nid`,
    add: (file: Omit<StoredFile, 'fid'>): number => insert('file', file),
    /** Makes exactly `fids` the files of a node and returns the files no longer in use (their rows are gone). */
    assign: (nid: number, fids: number[]): StoredFile[] => {
      const before = ofNode(nid);
      run`DELETE FROM file_usage WHERE nid = ${nid}`;
      for (const fid of fids) run`INSERT OR IGNORE INTO file_usage (fid, nid) VALUES (${fid}, ${nid})`;
      const isUsed = (fid: number) => value<number>`SELECT 1 FROM file_usage WHERE fid = ${fid} LIMIT 1` !== null;
      const dropped = before.filter(({ fid }) => !fids.includes(fid) && !isUsed(fid));
      for (const { fid } of dropped) run`DELETE FROM file WHERE fid = ${fid}`;
      return dropped;
    },
  };
};
