// The tables of portal.db.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { PortalStoreError } from '../../model/errors.ts';

const tables = `
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE user (
  uid INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE UNIQUE, mail TEXT NOT NULL,
  pass TEXT NOT NULL, status INTEGER NOT NULL DEFAULT 1, roles TEXT NOT NULL DEFAULT '[]', created INTEGER NOT NULL,
  access INTEGER NOT NULL DEFAULT 0, login INTEGER NOT NULL DEFAULT 0, uuid TEXT NOT NULL UNIQUE,
  given TEXT, from_file INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE session (id BLOB PRIMARY KEY, uid INTEGER NOT NULL, created INTEGER NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX session_seen ON session (seen);
CREATE INDEX session_uid ON session (uid);

CREATE TABLE flood (event TEXT NOT NULL, identifier TEXT NOT NULL, at INTEGER NOT NULL);
CREATE INDEX flood_key ON flood (event, identifier, at);

CREATE TABLE node (
  nid INTEGER PRIMARY KEY AUTOINCREMENT, vid INTEGER NOT NULL, type TEXT NOT NULL, language TEXT NOT NULL,
  title TEXT NOT NULL COLLATE NOCASE, uid INTEGER NOT NULL, status INTEGER NOT NULL, created INTEGER NOT NULL,
  changed INTEGER NOT NULL, comment INTEGER NOT NULL DEFAULT 0, promote INTEGER NOT NULL DEFAULT 0,
  sticky INTEGER NOT NULL DEFAULT 0, tnid INTEGER NOT NULL DEFAULT 0, translate INTEGER NOT NULL DEFAULT 0,
  uuid TEXT NOT NULL COLLATE NOCASE, alias TEXT
);
CREATE INDEX node_order ON node (sticky DESC, created DESC, nid DESC);
CREATE INDEX node_uuid ON node (uuid);
CREATE INDEX node_vid ON node (vid);
CREATE INDEX node_type ON node (type, nid);
CREATE INDEX node_title ON node (title);
CREATE UNIQUE INDEX node_alias ON node (alias) WHERE alias IS NOT NULL;

CREATE TABLE revision (
  vid INTEGER PRIMARY KEY AUTOINCREMENT, nid INTEGER NOT NULL, uid INTEGER NOT NULL, title TEXT NOT NULL,
  log TEXT NOT NULL, timestamp INTEGER NOT NULL, status INTEGER NOT NULL, vuuid TEXT NOT NULL, fields TEXT NOT NULL
);
CREATE INDEX revision_nid ON revision (nid);

CREATE TABLE reference (nid INTEGER NOT NULL, delta INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (nid, delta)) WITHOUT ROWID;
CREATE INDEX reference_target ON reference (target);

CREATE TABLE file (
  fid INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER NOT NULL, filename TEXT NOT NULL, name TEXT NOT NULL UNIQUE,
  filemime TEXT NOT NULL, filesize INTEGER NOT NULL, timestamp INTEGER NOT NULL, type TEXT NOT NULL,
  uuid TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL
);
CREATE TABLE file_usage (fid INTEGER NOT NULL, nid INTEGER NOT NULL, PRIMARY KEY (fid, nid)) WITHOUT ROWID;
CREATE INDEX file_usage_nid ON file_usage (nid);

CREATE TABLE term (tid INTEGER PRIMARY KEY AUTOINCREMENT, vocabulary TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE);
CREATE INDEX term_name ON term (vocabulary, name);

CREATE TABLE access_token (
  id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, uid INTEGER NOT NULL REFERENCES user (uid),
  label TEXT NOT NULL, created INTEGER NOT NULL
);
`;

/**
 * Schema of the datastore's part of portal.db. One row per resource that has or had an importable file; `table_file` is
 * the pointer that readers follow: whatever file no row names is garbage. `state` is what the last import came to;
 * `running` also means that an import is pending, and it is resumed after a crash.
 */
export const datastoreSchema = `
CREATE TABLE datastore (
  nid INTEGER PRIMARY KEY, fid INTEGER NOT NULL, path TEXT NOT NULL, filename TEXT NOT NULL, mime TEXT NOT NULL,
  configuration TEXT, state TEXT NOT NULL CHECK (state IN ('none', 'ready', 'running', 'imported', 'failed')),
  reason TEXT, table_file TEXT UNIQUE, table_fid INTEGER, table_rows INTEGER, table_columns TEXT
) STRICT;
CREATE INDEX datastore_running ON datastore (nid) WHERE state = 'running';
`;

export const schemaVersion = 5;

/** Makes the tables of a new database. Throws {@link PortalStoreError} when it has those of another version. */
export const makeTables = (db: DatabaseSync): void => {
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version);
  if (version === schemaVersion) return;
  if (version !== 0) {
    throw new PortalStoreError(
      `the portal store was written by another sluice (version ${version}, this one knows ${schemaVersion})`,
      { hint: 'run that sluice, or give this portal its own data folder' },
    );
  }
  db.exec(`BEGIN IMMEDIATE; ${tables} ${datastoreSchema}`);
  db.prepare("INSERT INTO setting (name, value) VALUES ('key', ?)").run(randomBytes(32).toString('base64url'));
  db.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT`);
};
