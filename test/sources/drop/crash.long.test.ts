import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../src/sources/drop/spool.ts';
import { beat, claimId, claimPaths, foldersOf, listClaims, parseClaimId } from '../../../src/sources/drop/spool.ts';

import { runNode, startNode } from '../../support/run-node.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openDrop } from './support/drop-inbox.ts';

const watchInbox = fileURLToPath(new URL('./support/watch-inbox.ts', import.meta.url));

const spoolFolders = (inbox: string): string[] =>
  readdirSync(foldersOf(inbox).spool).filter((name) => parseClaimId(name) !== null);

const csvBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.csv') && !path.includes('/marker/'),
  );

const told = (file: string): Claim[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Claim); // written by watch-inbox.ts

/** Kills a watcher of a marked file before its n-th file system call, starts another, and says how the first ended. */
const killAndResume = async (at: number): Promise<'ended' | 'killed'> => {
  const inbox = tempDir();
  mkdirSync(join(inbox, 'budget'));
  writeFileSync(join(inbox, 'budget/a.csv'), 'a,b\n1,2\n');
  writeFileSync(join(inbox, 'budget/a.csv.done'), '');
  const file = join(tempDir(), 'told.jsonl');
  const outcome = await runNode(watchInbox, { args: [inbox, file, 'once'], kill: { at, below: inbox } });
  expect(csvBelow(inbox), `step ${at}`).toHaveLength(1);
  const watched = await openDrop(inbox, { settleMs: 20 });
  await waitUntil(`the claim after step ${at}`, () => watched.claims().length > 0);
  const claims = await listClaims(foldersOf(inbox).spool);
  expect(
    claims.map(({ dropped, fingerprint: { bytes } }) => ({ dropped, bytes })),
    `step ${at}`,
  ).toEqual([{ dropped: 'budget/a.csv', bytes: 8 }]);
  expect(readFileSync(claims[0]?.path ?? '', 'utf8'), `step ${at}`).toBe('a,b\n1,2\n');
  await waitUntil(`the end of leftovers, step ${at}`, () => spoolFolders(inbox).length === 1);
  expect(csvBelow(inbox), `step ${at}`).toHaveLength(1);
  expect(existsSync(join(inbox, 'budget/a.csv.done')), `step ${at}`).toBe(false);
  await watched.inbox.close();
  return outcome;
};

describe('a watcher killed while it claims', () => {
  it('at any step leaves one whole claim to the next watcher', async () => {
    let step = 1;
    while ((await killAndResume(step)) === 'killed') step += 1;
    expect(step, 'the kills have hit').toBeGreaterThan(10);
  });

  it('again and again amid many files still claims each once, whole', async () => {
    const inbox = tempDir();
    const file = join(tempDir(), 'told.jsonl');
    const names = Array.from({ length: 200 }, (_, n) => `set-${n % 7}/r${n}.csv`);
    for (const name of names) {
      mkdirSync(join(inbox, name, '..'), { recursive: true });
      writeFileSync(join(inbox, name), `${name}\n`);
    }
    for (const claimed of [1, 60, 120, 199]) {
      const child = startNode(watchInbox, { args: [inbox, file] });
      await waitUntil('some claims', () => existsSync(foldersOf(inbox).spool) && spoolFolders(inbox).length >= claimed);
      child.kill('SIGKILL');
      await waitUntil('its end', () => child.signalCode !== null);
      expect(csvBelow(inbox)).toHaveLength(names.length);
    }
    const watched = await openDrop(inbox, { settleMs: 50 });
    await waitUntil('all claims', () => new Set(watched.claims().map(({ id }) => id)).size >= names.length);
    const claims = await listClaims(foldersOf(inbox).spool);
    expect(claims.map(({ dropped }) => dropped).sort()).toEqual([...names].sort());
    expect(claims.every((claim) => readFileSync(claim.path, 'utf8') === `${claim.dropped}\n`)).toBe(true);
    expect(spoolFolders(inbox)).toHaveLength(names.length);
  });

  it('between marker and file: the marker goes back to its file', async () => {
    const inbox = tempDir();
    const folder = join(foldersOf(inbox).spool, claimId(1_790_000_000_000, 'abcd0123'));
    const { marker } = claimPaths(folder, 'a.csv');
    mkdirSync(join(marker, '..'), { recursive: true });
    writeFileSync(marker, '');
    writeFileSync(join(inbox, 'a.csv'), 'x\n');
    const watched = await openDrop(inbox, { settleMs: 3_600_000, drop: { marker: '.done' } });
    await waitUntil('the claim', () => watched.claims().length === 1);
    expect(watched.claims()[0]?.dropped).toBe('a.csv');
  });

  it('between marker and file, the file since taken away: the marker does not vouch for a later one', async () => {
    const inbox = tempDir();
    const folder = join(foldersOf(inbox).spool, claimId(1_790_000_000_000, 'abcd0123'));
    const { marker } = claimPaths(folder, 'a.csv');
    mkdirSync(join(marker, '..'), { recursive: true });
    writeFileSync(marker, '');
    const watched = await openDrop(inbox);
    await waitUntil('the leftover to go', () => spoolFolders(inbox).length === 0);
    expect(existsSync(join(inbox, 'a.csv.done'))).toBe(false);
    expect(watched.claims()).toEqual([]);
  });
});

describe('two watchers on one folder', () => {
  it('claim each file once between them', async () => {
    const inbox = tempDir();
    const files = [join(tempDir(), 'one.jsonl'), join(tempDir(), 'two.jsonl')];
    const children = files.map((file) => startNode(watchInbox, { args: [inbox, file] }));
    await waitUntil('both to watch', () => files.every((file) => existsSync(file)));
    const names = Array.from({ length: 200 }, (_, n) => `set-${n % 7}/r${n}.csv`);
    for (const name of names) {
      mkdirSync(join(inbox, name, '..'), { recursive: true });
      writeFileSync(join(inbox, name), `${name}\n`);
    }
    // One that looks through the folder meanwhile tells of the claims of the other, too.
    const all = (): Claim[] => [...new Map(files.flatMap(told).map((claim) => [claim.id, claim])).values()];
    await waitUntil('all claims', () => all().length >= names.length);
    for (const child of children) child.kill('SIGTERM');
    await waitUntil('both to end', () => children.every((child) => child.exitCode !== null));
    expect(children.map((child) => child.exitCode)).toEqual([0, 0]);
    expect(
      all()
        .map((claim) => claim.dropped)
        .sort(),
    ).toEqual([...names].sort());
    expect(all().every((claim) => readFileSync(claim.path, 'utf8') === `${claim.dropped}\n`)).toBe(true);
    expect(spoolFolders(inbox)).toHaveLength(names.length);
  });

  it('leave alone what the other is working on, and take it over when that ends', async () => {
    const inbox = tempDir();
    const file = join(tempDir(), 'told.jsonl');
    const other = startNode(watchInbox, { args: [inbox, file] });
    await waitUntil('the other to watch', () => existsSync(file));
    writeFileSync(join(inbox, 'first.csv'), 'x\n');
    await waitUntil('its first claim', () => told(file).length === 1);
    const { spool } = foldersOf(inbox);
    const folder = join(spool, claimId(1_790_000_000_000, 'abcd0123'));
    const { file: path } = claimPaths(folder, 'a.csv');
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'x\n');
    const working = setInterval(() => void beat(folder), 100);
    const watched = await openDrop(inbox, { settleMs: 20, rescanMs: 100 });
    const claimed = (name: string): boolean => watched.claims().some((claim) => claim.dropped === name);
    await waitUntil('our first scan', () => claimed('first.csv'));
    writeFileSync(join(inbox, 'b.csv'), 'y\n');
    await waitUntil('a claim of one of us', () => claimed('b.csv') || told(file).length === 2);
    expect(existsSync(path)).toBe(true);
    clearInterval(working);
    other.kill('SIGKILL');
    await waitUntil('the takeover', () => claimed('a.csv'));
    const claims = await listClaims(spool);
    expect(claims.map((claim) => claim.dropped).sort()).toEqual(['a.csv', 'b.csv', 'first.csv']);
  });
});
