// The folder of a store: for its owner only, and whole.
import { chmodSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../../src/embedded-portal/store/open.ts';
import { tempDir } from '../../support/temp-dir.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

it('is closed to others, also where folder and database were open before', async () => {
  const dir = join(tempDir(), 'portal');
  mkdirSync(join(dir, 'files'), { recursive: true, mode: 0o755 });
  writeFileSync(join(dir, 'portal.db'), '', { mode: 0o644 });
  for (const path of [dir, join(dir, 'files')]) chmodSync(path, 0o755);
  const store = await openStore(dir);
  expect([modeOf(dir), modeOf(join(dir, 'files'))]).toEqual(['700', '700']);
  for (const suffix of ['', '-wal', '-shm'])
    expect([suffix, modeOf(join(dir, `portal.db${suffix}`))]).toEqual([suffix, '600']);
  store.close();
});

it('is not opened where its database is damaged', async () => {
  const dir = tempDir();
  const store = await openStore(dir);
  const insert = store.db.prepare("INSERT INTO term (vocabulary, name) VALUES ('tags', ?)");
  for (let count = 0; count < 2000; count += 1) insert.run(`term ${count}`);
  store.close();
  const file = openSync(join(dir, 'portal.db'), 'r+');
  const { size } = statSync(join(dir, 'portal.db'));
  for (let at = 4096 * 20; at < size; at += 4096) writeSync(file, Buffer.alloc(512, 0xff), 0, 512, at);
  await expect(openStore(dir)).rejects.toThrow(
    expect.objectContaining({ code: 'portal-store', hint: expect.stringContaining('backup') }),
  );
});
