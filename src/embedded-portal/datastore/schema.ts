// The tables of portal.db that know each resource's file, its import and the SQLite file that holds its rows.

/**
 * Schema of the datastore's part of portal.db. One row per resource that has or had an importable file; `table_file` is
 * the pointer that readers follow: whatever file no row names is garbage. `state` is what the last import came to;
 * `running` also means that an import is owed, and it is resumed after a crash.
 */
export const datastoreSchema = `
CREATE TABLE datastore (
  nid INTEGER PRIMARY KEY,
  fid INTEGER NOT NULL,
  path TEXT NOT NULL,
  filename TEXT NOT NULL,
  mime TEXT NOT NULL,
  configuration TEXT,
  state TEXT NOT NULL CHECK (state IN ('none', 'ready', 'running', 'imported', 'failed')),
  reason TEXT,
  table_file TEXT UNIQUE,
  table_fid INTEGER,
  table_rows INTEGER,
  table_columns TEXT
) STRICT;
CREATE INDEX datastore_running ON datastore (nid) WHERE state = 'running';
`;
