// A datastore on a database of its own, with files made from text.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { contentTypeOf } from '../../../src/dataset-api/file-types.ts';
import { datastoreState } from '../../../src/dataset-api/values.ts';
import { Datastore, type DatastoreOptions } from '../../../src/embedded-portal/datastore/datastore.ts';
import type { AttachedFile } from '../../../src/embedded-portal/datastore/records.ts';
import { datastoreSchema } from '../../../src/embedded-portal/store/schema.ts';
import { writerOf } from '../../../src/embedded-portal/store/writer.ts';

/** What a test works with. */
export interface OpenDatastore {
  datastore: Datastore;
  db: DatabaseSync;
  /** Writes a file without attaching it; returns its path. */
  file(content: string | Buffer, name?: string): string;
  /** Attaches a file; returns the state of its datastore then, null where it has none. */
  attached(file: AttachedFile): Promise<string | null>;
  /** Writes a file and attaches it. */
  attach(nid: string, content: string | Buffer, name?: string): Promise<string | null>;
  /** Imports the file; returns the state of its datastore then. */
  importNow(nid: string): Promise<string | null>;
  /** All rows of a table as value lists, in order. */
  rows(nid: string): Promise<unknown[][]>;
  /** Names in the folder of tables. */
  tables(): string[];
  close(): Promise<void>;
}

let fids = 0;

/** Opens (or opens again) the datastore of a folder. */
export const openDatastore = (
  dir: string,
  options: Omit<Partial<DatastoreOptions>, 'db' | 'dir'> = {},
): OpenDatastore => {
  mkdirSync(join(dir, 'files'), { recursive: true });
  const db = new DatabaseSync(join(dir, 'portal.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'datastore'").get() === undefined) db.exec(datastoreSchema);
  const tablesDir = join(dir, 'tables');
  const writer = writerOf(db);
  const write = <T>(work: () => T): Promise<T> => writer.write(work);
  const datastore = new Datastore({ db, dir: tablesDir, log: pino({ level: 'silent' }), write, ...options });
  const file = (content: string | Buffer, name = 'data.csv'): string => {
    const path = join(dir, 'files', `${fids++}-${name}`);
    writeFileSync(path, content);
    return path;
  };
  const state = (nid: string): string | null => {
    const status = datastore.status(nid);
    return status && datastoreState(status);
  };
  const attached = async (attachedFile: AttachedFile): Promise<string | null> => {
    await datastore.attached(attachedFile);
    return state(attachedFile.nid);
  };
  return {
    datastore,
    db,
    file,
    attach: (nid, content, name = 'data.csv') =>
      attached({
        nid,
        fid: String(1000 + fids),
        path: file(content, name),
        filename: name,
        mime: contentTypeOf(name),
      }),
    attached,
    importNow: async (nid) => {
      await datastore.importNow(nid);
      return state(nid);
    },
    rows: async (nid) =>
      (await datastore.search({ nid, resourceUuid: 'u', limit: 0 })).result.records.map((row) => Object.values(row)),
    tables: () => readdirSync(tablesDir),
    close: async () => {
      await datastore.close();
      if (db.isOpen) db.close();
    },
  };
};

/** A table of `rows` rows whose every cell is `value`. */
export const uniform = (rows: number, value: string): string => `a,b\n${`${value},${value}\n`.repeat(rows)}`;
