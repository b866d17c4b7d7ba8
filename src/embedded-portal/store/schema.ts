// The tables of portal.db as numbered migrations.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { PortalStoreError } from '../../model/errors.ts';
import { datastoreSchema } from '../datastore/records.ts';

const first = `
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE user (
  uid INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL COLLATE NOCASE UNIQUE,
  mail TEXT NOT NULL,
  pass TEXT NOT NULL,
  status INTEGER NOT NULL DEFAULT 1,
  roles TEXT NOT NULL DEFAULT '[]',
  created INTEGER NOT NULL,
  access INTEGER NOT NULL DEFAULT 0,
  login INTEGER NOT NULL DEFAULT 0,
  uuid TEXT NOT NULL UNIQUE
);

CREATE TABLE session (id BLOB PRIMARY KEY, uid INTEGER NOT NULL, created INTEGER NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX session_seen ON session (seen);

CREATE TABLE flood (event TEXT NOT NULL, identifier TEXT NOT NULL, at INTEGER NOT NULL);
CREATE INDEX flood_key ON flood (event, identifier, at);

CREATE TABLE node (
  nid INTEGER PRIMARY KEY AUTOINCREMENT,
  vid INTEGER NOT NULL,
  type TEXT NOT NULL,
  language TEXT NOT NULL,
  title TEXT NOT NULL COLLATE NOCASE,
  uid INTEGER NOT NULL,
  status INTEGER NOT NULL,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  comment INTEGER NOT NULL DEFAULT 0,
  promote INTEGER NOT NULL DEFAULT 0,
  sticky INTEGER NOT NULL DEFAULT 0,
  tnid INTEGER NOT NULL DEFAULT 0,
  translate INTEGER NOT NULL DEFAULT 0,
  uuid TEXT NOT NULL COLLATE NOCASE,
  alias TEXT
);
CREATE INDEX node_order ON node (sticky DESC, created DESC, nid DESC);
CREATE INDEX node_uuid ON node (uuid);
CREATE INDEX node_vid ON node (vid);
CREATE INDEX node_type ON node (type, nid);
CREATE INDEX node_title ON node (title);
CREATE UNIQUE INDEX node_alias ON node (alias) WHERE alias IS NOT NULL;

CREATE TABLE revision (
  vid INTEGER PRIMARY KEY AUTOINCREMENT,
  nid INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  title TEXT NOT NULL,
  log TEXT NOT NULL,
  timestamp INTEGER NOT NULL,
  status INTEGER NOT NULL,
  vuuid TEXT NOT NULL,
  fields TEXT NOT NULL
);
CREATE INDEX revision_nid ON revision (nid);

CREATE TABLE reference (nid INTEGER NOT NULL, delta INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (nid, delta)) WITHOUT ROWID;
CREATE INDEX reference_target ON reference (target);

CREATE TABLE file (
  fid INTEGER PRIMARY KEY AUTOINCREMENT,
  uid INTEGER NOT NULL,
  filename TEXT NOT NULL,
  name TEXT NOT NULL UNIQUE,
  filemime TEXT NOT NULL,
  filesize INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  type TEXT NOT NULL,
  uuid TEXT NOT NULL UNIQUE,
  sha256 TEXT NOT NULL
);
CREATE TABLE file_usage (fid INTEGER NOT NULL, nid INTEGER NOT NULL, PRIMARY KEY (fid, nid)) WITHOUT ROWID;
CREATE INDEX file_usage_nid ON file_usage (nid);

CREATE TABLE term (tid INTEGER PRIMARY KEY AUTOINCREMENT, vocabulary TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE);
CREATE INDEX term_name ON term (vocabulary, name);
`;

const second = `
CREATE TABLE access_token (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash BLOB NOT NULL UNIQUE,
  uid INTEGER NOT NULL REFERENCES user (uid),
  label TEXT NOT NULL,
  created INTEGER NOT NULL
);
`;

const third = `
ALTER TABLE file ADD COLUMN height INTEGER;
ALTER TABLE file ADD COLUMN width INTEGER;
`;

const fourth = `
ALTER TABLE user ADD COLUMN given TEXT;
ALTER TABLE user ADD COLUMN from_file INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_uid ON session (uid);
`;

/** What leads from version n to n + 1; never changed once released, only added to. */
const migrations: ((db: DatabaseSync) => void)[] = [
  (db) => {
    db.exec(first);
    db.exec(datastoreSchema);
    db.prepare('INSERT INTO setting (name, value) VALUES (?, ?)').run('key', randomBytes(32).toString('base64url'));
  },
  ...[second, third, fourth].map((sql) => (db: DatabaseSync) => db.exec(sql)),
];

/** The version that this program writes. */
export const schemaVersion = migrations.length;

/**
 * Brings the database to a version ({@link schemaVersion} when absent), each step in a transaction. Throws
 * {@link PortalStoreError} when it is newer than we are.
 */
export const migrate = (db: DatabaseSync, target = schemaVersion): void => {
  const row = db.prepare('PRAGMA user_version').get();
  const version = Number(row?.user_version ?? 0);
  if (version > schemaVersion) {
    throw new PortalStoreError(
      `the portal store was written by a newer sluice (version ${version}, known up to ${schemaVersion})`,
      { hint: 'run the newer sluice, or give this portal its own data folder' },
    );
  }
  for (const [index, step] of migrations.entries()) {
    if (index < version || index >= target) continue;
    db.exec('BEGIN IMMEDIATE');
    try {
      step(db);
      db.exec(`PRAGMA user_version = ${index + 1}; COMMIT`);
    } catch (error) {
      db.exec('ROLLBACK');
      throw error;
    }
  }
};
