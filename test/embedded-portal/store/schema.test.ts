import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { migrate, schemaVersion } from '../../../src/embedded-portal/store/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('brings an empty database to the current version, and again changes nothing', () => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  migrate(db);
  const tables = (): unknown[] => db.prepare('SELECT name, sql FROM sqlite_master ORDER BY name').all();
  const before = tables();
  migrate(db);
  expect(tables()).toEqual(before);
  expect(db.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: schemaVersion });
  expect(before).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'node' })]));
});

it('brings a database of version 1 with what is in it to the current version', () => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  migrate(db, 1);
  expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 });
  db.exec("INSERT INTO term (vocabulary, name) VALUES ('tags', 'kept')");
  migrate(db);
  expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: schemaVersion });
  expect(db.prepare('SELECT name FROM term').all()).toEqual([{ name: 'kept' }]);
  expect(db.prepare('SELECT count(*) AS n FROM access_token').get()).toEqual({ n: 0 });
});

it('refuses a database of a newer version', () => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  db.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
  expect(() => migrate(db)).toThrow(/written by a newer sluice/);
});
