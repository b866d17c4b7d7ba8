// A datastore on a database of its own, with files made from text.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { contentTypeOf } from '../../../src/dataset-api/file-types.ts';
import {
  Datastore,
  type DatastoreOptions,
  type ImportOutcome,
} from '../../../src/embedded-portal/datastore/datastore.ts';
import { datastoreSchema } from '../../../src/embedded-portal/store/schema.ts';
import { Writer } from '../../../src/embedded-portal/store/writer.ts';

/** What a test works with. */
export interface OpenDatastore {
  datastore: Datastore;
  db: DatabaseSync;
  /** Writes a file without attaching it; returns its path. */
  file(content: string | Buffer, name?: string): string;
  /** Writes a file and attaches it. */
  attach(nid: string, content: string | Buffer, name?: string): Promise<ImportOutcome>;
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
  const writer = new Writer(db);
  const write = <T>(work: () => T): Promise<T> => writer.write(work);
  const datastore = new Datastore({ db, dir: tablesDir, log: pino({ level: 'silent' }), write, ...options });
  const file = (content: string | Buffer, name = 'data.csv'): string => {
    const path = join(dir, 'files', `${fids++}-${name}`);
    writeFileSync(path, content);
    return path;
  };
  return {
    datastore,
    db,
    file,
    attach: (nid, content, name = 'data.csv') =>
      datastore.attached({
        nid,
        fid: String(1000 + fids),
        path: file(content, name),
        filename: name,
        mime: contentTypeOf(name),
      }),
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
