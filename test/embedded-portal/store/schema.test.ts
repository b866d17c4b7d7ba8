import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { makeTables, schemaVersion } from '../../../src/embedded-portal/store/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('makes the tables of an empty database, and again changes nothing', () => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  makeTables(db);
  const tables = (): unknown[] => db.prepare('SELECT name, sql FROM sqlite_master ORDER BY name').all();
  const before = tables();
  makeTables(db);
  expect(tables()).toEqual(before);
  expect(db.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: schemaVersion });
  expect(before).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'node' })]));
});

it.each([schemaVersion - 1, schemaVersion + 1])('refuses a database of version %i', (version) => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  db.exec(`PRAGMA user_version = ${version}`);
  expect(() => makeTables(db)).toThrow(/written by another sluice/);
});
