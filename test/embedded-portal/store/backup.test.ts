import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { backupStore } from '../../../src/embedded-portal/store/backup.ts';
import { type Caller, startTestPortal } from '../../support/portal.ts';
import { tempDir } from '../../support/temp-dir.ts';

const rowsOf = async (caller: Caller, nid: string): Promise<unknown> => {
  const { uuid } = await caller.read(nid);
  const reply = await caller.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
  return reply.json<{ result: { records: unknown } }>().result.records;
};

const bytesOf = async (caller: Caller, name: string): Promise<string> =>
  (await caller.send('GET', `/sites/default/files/${name}`)).text;

it('a backup of a running portal can be served: nodes, files, rows and accounts as they were', async () => {
  const portal = await startTestPortal();
  const creator = await portal.as('creator');
  const nid = await creator.create({ type: 'resource', title: 'Kept' });
  await creator.attach(nid, { name: 'kept.csv', content: 'a\nbefore\n' });
  const target = join(tempDir(), 'backup');
  expect(await backupStore(portal.server.dataDir, target)).toEqual({ nodes: 1, files: 1, tables: 1 });
  const database = readdirSync(target).find((name) => name.endsWith('.db')) ?? '';
  expect(statSync(join(target, database)).mode & 0o777).toBe(0o600);
  await creator.attach(nid, { name: 'other.csv', content: 'a\nafter\n' });
  await creator.create({ type: 'dataset', title: 'Later' });

  const restored = await startTestPortal({ dataDir: target });
  const again = await restored.as('creator');
  expect(await rowsOf(again, nid)).toEqual(
    [{ a: 'before', entry_id: '1' }].map((row) => expect.objectContaining({ a: row.a })),
  );
  expect(await bytesOf(again, 'kept.csv')).toBe('a\nbefore\n');
  expect((await again.send('GET', `/api/dataset/node/${Number(nid) + 1}`)).status).toBe(404);
  // What is done to the copy leaves the store alone, and the other way round.
  await again.attach(nid, { name: 'copy.csv', content: 'a\ncopy\n' });
  expect(await rowsOf(creator, nid)).toMatchObject([{ a: 'after' }]);
  expect(await rowsOf(again, nid)).toMatchObject([{ a: 'copy' }]);
});

it('a restored store imports again from its own files, wherever it lies', async () => {
  const portal = await startTestPortal();
  const creator = await portal.as('creator');
  const nid = await creator.create({ type: 'resource', title: 'Moved' });
  await creator.attach(nid, { name: 'moved.csv', content: 'a\n1\n' });
  const target = join(tempDir(), 'backup');
  await backupStore(portal.server.dataDir, target);
  await creator.send('DELETE', `/api/dataset/node/${nid}`);
  await portal.server.close();
  const restored = await (await startTestPortal({ dataDir: target })).as('creator');
  await restored.send('DELETE', `/api/dataset/datastore/${nid}`);
  expect((await restored.send('POST', `/api/dataset/datastore/${nid}/import`)).status).toBe(200);
  expect(await rowsOf(restored, nid)).toMatchObject([{ a: '1' }]);
});

it('backups taken amid writes are each of one moment: sound, with every file they name and no other', async () => {
  const portal = await startTestPortal();
  const creator = await portal.as('creator');
  const nids = await Promise.all([1, 2, 3, 4].map((n) => creator.create({ type: 'resource', title: `R${n}` })));
  const folder = tempDir();
  let isDone = false;
  const writers = nids.map(async (nid) => {
    for (let version = 0; !isDone; version += 1) {
      await creator.attach(nid, { name: 'busy.csv', content: `a\n${version}\n` });
    }
  });
  for (let time = 0; time < 5; time += 1) await backupStore(portal.server.dataDir, join(folder, String(time)));
  isDone = true;
  await Promise.all(writers);
  for (let time = 0; time < 5; time += 1) {
    const dir = join(folder, String(time));
    const db = new DatabaseSync(join(dir, 'portal.db'));
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    const files = db
      .prepare('SELECT uuid FROM file ORDER BY uuid')
      .all()
      .map(({ uuid }) => uuid);
    const tables = db
      .prepare('SELECT table_file FROM datastore WHERE table_file IS NOT NULL ORDER BY table_file')
      .all();
    db.close();
    expect(readdirSync(join(dir, 'files')).toSorted()).toEqual(files);
    expect(readdirSync(join(dir, 'tables')).toSorted()).toEqual(tables.map((row) => row.table_file));
  }
  expect(readdirSync(folder)).toHaveLength(5);
});

it('a target that exists, or a folder that is no store, is refused and nothing is written', async () => {
  const portal = await startTestPortal();
  const taken = join(tempDir(), 'taken');
  writeFileSync(taken, 'mine');
  await expect(backupStore(portal.server.dataDir, taken)).rejects.toThrow(/exists already/);
  const folder = tempDir();
  await expect(backupStore(join(folder, 'none'), join(folder, 'b'))).rejects.toThrow(/no portal store/);
  await expect(backupStore(portal.server.dataDir, join(taken, 'backup'))).rejects.toMatchObject({
    code: 'portal-store',
  });
  expect(readdirSync(folder)).toEqual([]);
});

it('sluice portal backup copies the store of --data and says how to restore it', async () => {
  const portal = await startTestPortal();
  const target = join(tempDir(), 'backup');
  const cli = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    cli,
    'portal',
    'backup',
    target,
    '--data',
    portal.server.dataDir,
  ]);
  expect(stdout).toContain('backup of 0 nodes, 0 files, 0 tables');
  expect(stdout).toContain(`sluice portal --data ${target}`);
  expect(existsSync(join(target, 'portal.db'))).toBe(true);
});
