import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { migrate, schemaVersion } from '../../../src/server/store/schema.ts';
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

it('refuses a database of a newer version', () => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  db.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
  expect(() => migrate(db)).toThrow(/written by a newer sluice/);
});
