import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { writerOf } from '../../../src/embedded-portal/store/writer.ts';
import { tempDir } from '../../support/temp-dir.ts';

const open = () => {
  const db = new DatabaseSync(join(tempDir(), 'test.db'));
  db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY)');
  const add = db.prepare('INSERT INTO t (n) VALUES (?)');
  const numbers = (): number[] =>
    db
      .prepare('SELECT n FROM t ORDER BY n')
      .all()
      .map((row) => Number(row.n));
  return { db, writer: writerOf(db), add: (n: number) => Number(add.run(n).lastInsertRowid), numbers };
};

it('resolves with what the work returns, once it is committed', async () => {
  const { db, writer, add, numbers } = open();
  expect(await writer.write(() => add(7))).toBe(7);
  expect(db.isTransaction).toBe(false);
  expect(numbers()).toEqual([7]);
});

it('work queued together is committed together; a piece that throws undoes only itself', async () => {
  const { writer, add, numbers } = open();
  const results = await Promise.allSettled([
    writer.write(() => add(1)),
    writer.write(() => {
      add(2);
      throw new Error('on purpose');
    }),
    writer.write(() => add(3)),
  ]);
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(numbers()).toEqual([1, 3]);
});

it('a commit that fails rejects every piece and keeps nothing', async () => {
  const { db, writer, add, numbers } = open();
  const first = writer.write(() => add(1));
  const second = writer.write(() => {
    add(2);
    db.exec('ROLLBACK');
  });
  await expect(first).rejects.toThrow();
  await expect(second).rejects.toThrow();
  expect(numbers()).toEqual([]);
  expect(await writer.write(() => add(4))).toBe(4);
});

it('flush commits what is queued at once', async () => {
  const { writer, add, numbers } = open();
  const written = writer.write(() => add(9));
  writer.flush();
  expect(numbers()).toEqual([9]);
  await written;
});

it('work that comes after the database was closed is rejected, and nothing else happens', async () => {
  const { db, writer, add } = open();
  const late = writer.write(() => add(1));
  db.close();
  await expect(late).rejects.toThrow('database is not open');
});
