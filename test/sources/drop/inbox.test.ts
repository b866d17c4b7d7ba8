import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { SourceRefusedError, StateMismatchError } from '../../../src/model/errors.ts';
import { createLog } from '../../../src/model/log.ts';
import { archiveClaim, foldersOf } from '../../../src/sources/drop/spool.ts';
import { cases } from '../../support/extent.ts';
import { runNode } from '../../support/run-node.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type DropInbox, openDrop } from './support/drop-inbox.ts';

const appendSlowly = fileURLToPath(new URL('./support/append-slowly.ts', import.meta.url));
const hour = 3_600_000;

const drop = (inbox: string, path: string, text = 'a,b\n1,2\n'): void => {
  mkdirSync(join(inbox, path, '..'), { recursive: true });
  writeFileSync(join(inbox, path), text);
};

const settled = async ({ inbox, claims }: DropInbox, count: number): Promise<void> => {
  await waitUntil(`${count} claims`, () => claims().length >= count && inbox.state().settling.length === 0);
};

const textOf = (claim: { path: string }): string => readFileSync(claim.path, 'utf8');

describe('a file dropped into the inbox', () => {
  it('is claimed once it stands still, out of the inbox and into the spool, with its hash', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder);
    drop(folder, 'City Budget/Spending.csv');
    await settled(watched, 1);
    const [claim] = watched.claims();
    expect(claim).toMatchObject({
      dataset: 'city-budget',
      resource: 'spending',
      name: 'Spending.csv',
      dropped: 'City Budget/Spending.csv',
      fingerprint: { bytes: 8, sha256: '492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470' },
    });
    expect(claim?.path.startsWith(foldersOf(folder).spool)).toBe(true);
    expect(existsSync(join(folder, 'City Budget/Spending.csv'))).toBe(false);
    expect(watched.inbox.state()).toEqual({ settling: [], left: [] });
    expect(await watched.inbox.spooled()).toBe(1);
  });

  it('in the root is a dataset with one resource of the same name', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder);
    drop(folder, 'parks.csv');
    await settled(watched, 1);
    expect(watched.claims()).toMatchObject([{ dataset: 'parks', resource: 'parks', dropped: 'parks.csv' }]);
  });

  it('is claimed once and whole when it comes by copy, by rename and with an old date', async () => {
    const folder = tempDir();
    const outside = tempDir();
    const watched = await openDrop(folder);
    const big = 'x,y\n'.repeat(2_000_000);
    writeFileSync(join(outside, 'big.csv'), big);
    writeFileSync(join(outside, 'moved.csv'), 'moved\n');
    writeFileSync(join(folder, 'old.csv'), 'old\n');
    utimesSync(join(folder, 'old.csv'), 1_000_000, 1_000_000);
    copyFileSync(join(outside, 'big.csv'), join(folder, 'big.csv'));
    renameSync(join(outside, 'moved.csv'), join(folder, 'moved.csv'));
    await settled(watched, 3);
    const texts = Object.fromEntries(watched.claims().map((claim) => [claim.name, textOf(claim)]));
    expect(texts).toEqual({ 'big.csv': big, 'moved.csv': 'moved\n', 'old.csv': 'old\n' });
  });

  it('comes with its folder, moved in as a whole', async () => {
    const folder = tempDir();
    const outside = tempDir();
    const watched = await openDrop(folder);
    drop(outside, 'budget/a.csv', 'a\n');
    drop(outside, 'budget/b.csv', 'b\n');
    renameSync(join(outside, 'budget'), join(folder, 'budget'));
    await settled(watched, 2);
    expect(watched.claims().map(textOf).sort()).toEqual(['a\n', 'b\n']);
  });

  it.each(['reopen', 'hold'])(
    'is shown as settling and not claimed while a process appends to it (%s)',
    async (how) => {
      const folder = tempDir();
      const watched = await openDrop(folder, { settleMs: 1000 });
      const writing = runNode(appendSlowly, { args: [join(folder, 'slow.csv'), '20', '150', how] });
      await waitUntil('it settles', () => watched.inbox.state().settling.some(({ path }) => path === 'slow.csv'));
      await writing;
      await settled(watched, 1);
      const rows = Array.from({ length: 20 }, (_, row) => `${row},x\n`).join('');
      expect(watched.claims().map(textOf)).toEqual([rows]);
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'is not claimed while a process holds it open for writing, however long that pauses (Linux only)',
    async () => {
      const folder = tempDir();
      const watched = await openDrop(folder, { settleMs: 50 });
      const writing = runNode(appendSlowly, { args: [join(folder, 'pausing.csv'), '3', '1500', 'hold'] });
      await waitUntil('it settles', () => watched.inbox.state().settling.length === 1);
      await writing;
      await settled(watched, 1);
      expect(watched.claims().map(textOf)).toEqual(['0,x\n1,x\n2,x\n']);
    },
  );

  it('is found at start when it was dropped while nobody watched', async () => {
    const folder = tempDir();
    drop(folder, 'budget/a.csv');
    drop(folder, 'b.csv');
    // Long enough for a busy machine to see the second file before the first one has settled.
    const watched = await openDrop(folder, { settleMs: 3000 });
    await settled(watched, 2);
    expect(watched.batches.map((batch) => batch.length)).toEqual([2]);
  });

  it('is found by polling on a drive that reports no events', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder, { poll: true, rescanMs: hour });
    drop(folder, 'budget/a.csv');
    await settled(watched, 1);
    expect(watched.claims()).toHaveLength(1);
  });

  it('is found by the rescan where neither events nor polling tell of it', async () => {
    const folder = tempDir();
    vi.stubEnv('CHOKIDAR_USEPOLLING', '1');
    vi.stubEnv('CHOKIDAR_INTERVAL', String(hour));
    const watched = await openDrop(folder, { rescanMs: 200 });
    vi.unstubAllEnvs();
    drop(folder, 'budget/a.csv');
    await settled(watched, 1);
    expect(watched.claims()).toHaveLength(1);
  });

  it('updates the same resource when its name is dropped again, also while the former waits', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder);
    drop(folder, 'budget/a.csv', 'v1\n');
    await settled(watched, 1);
    drop(folder, 'budget/a.csv', 'v2\n');
    await settled(watched, 2);
    const [first, second] = watched.claims();
    expect([first, second].map((claim) => claim && textOf(claim))).toEqual(['v1\n', 'v2\n']);
    expect(second?.resource).toBe(first?.resource);
    expect((second?.claimedAt ?? 0) > (first?.claimedAt ?? 0)).toBe(true);
  });

  it('is claimed again when somebody wrote to it after its claim', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder, { rescanMs: 200 });
    drop(folder, 'a.csv', 'v1\n');
    await settled(watched, 1);
    const [claim] = watched.claims();
    if (claim === undefined) throw new Error('no claim');
    appendFileSync(claim.path, 'late\n');
    expect(await archiveClaim(claim, { keep: 1 })).toBeNull();
    await settled(watched, 2);
    expect(watched.claims().map(textOf)).toEqual(['v1\nlate\n', 'v1\nlate\n']);
    expect(watched.claims()[1]?.fingerprint.bytes).toBe(8);
  });
});

describe('many files', () => {
  it('dropped together are one batch, each claimed once', async () => {
    const folder = tempDir();
    // Long enough for a busy machine to see the last file before the first one has settled.
    const [count, settleMs] = cases([500, 8000], [100, 4000]);
    const watched = await openDrop(folder, { settleMs });
    for (let n = 0; n < count; n += 1) drop(folder, `set-${n % 20}/r${n}.csv`, `n\n${n}\n`);
    await settled(watched, count);
    expect(watched.batches.map((batch) => batch.length)).toEqual([count]);
    expect(new Set(watched.claims().map((claim) => claim.dropped)).size).toBe(count);
    expect(watched.claims().every((claim) => textOf(claim) === `n\n${claim.resource.slice(1)}\n`)).toBe(true);
  });

  it('do not wait for one that is still being written', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder, { settleMs: 600 });
    const writing = runNode(appendSlowly, { args: [join(folder, 'slow.csv'), '40', '100', 'reopen'] });
    await waitUntil('it settles', () => watched.inbox.state().settling.length === 1);
    drop(folder, 'quick.csv');
    await waitUntil('the quick one', () => watched.claims().length === 1);
    expect(watched.inbox.state().settling.map(({ path }) => path)).toEqual(['slow.csv']);
    await writing;
    await settled(watched, 2);
    expect(watched.batches.map((batch) => batch.map((claim) => claim.name))).toEqual([['quick.csv'], ['slow.csv']]);
  });

  it('are handed over again by the next rescan when that failed', async () => {
    const folder = tempDir();
    let calls = 0;
    const onClaimed = async (): Promise<void> => {
      calls += 1;
      if (calls === 1) throw new Error('Redis is away');
    };
    const watched = await openDrop(folder, { rescanMs: 200, onClaimed });
    drop(folder, 'a.csv');
    drop(folder, 'b.csv');
    await settled(watched, 2);
    expect(watched.batches.map((batch) => batch.map((claim) => claim.name).sort())).toEqual([['a.csv', 'b.csv']]);
    expect(calls).toBe(2);
  });

  it('that wait in the spool are handed over again at start', async () => {
    const folder = tempDir();
    const before = await openDrop(folder);
    drop(folder, 'a.csv');
    await settled(before, 1);
    await before.inbox.close();
    const after = await openDrop(folder);
    await settled(after, 1);
    expect(after.claims()).toEqual(before.claims());
  });
});

describe('a marker', () => {
  it('x.csv.done lets its file be claimed at once, and goes with it', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder, { settleMs: hour });
    drop(folder, 'budget/a.csv');
    writeFileSync(join(folder, 'budget/a.csv.done'), '');
    await waitUntil('the claim', () => watched.claims().length === 1);
    expect(readdirSync(join(folder, 'budget'))).toEqual([]);
    drop(folder, 'budget/a.csv', 'next version, still being written');
    await waitUntil('it settles', () => watched.inbox.state().settling.length === 1);
    expect(watched.claims()).toHaveLength(1);
  });

  it('is waited for when the manifest names one, and shown as missing', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder, { drop: { marker: '.ok' }, settleMs: 20 });
    drop(folder, 'a.csv');
    drop(folder, 'b.csv');
    await waitUntil('both are seen', () => watched.inbox.state().left.length === 2);
    expect(watched.inbox.state().left).toContainEqual({ path: 'a.csv', reason: 'waits for its marker a.csv.ok' });
    writeFileSync(join(folder, 'a.csv.ok'), '');
    await settled(watched, 1);
    expect(watched.claims().map((claim) => claim.name)).toEqual(['a.csv']);
    expect(existsSync(join(folder, 'b.csv'))).toBe(true);
  });

  it('without its file is shown and stays', async () => {
    const folder = tempDir();
    const watched = await openDrop(folder);
    writeFileSync(join(folder, 'a.csv.done'), '');
    await waitUntil('it is shown', () => watched.inbox.state().left.length === 1);
    expect(watched.inbox.state().left[0]?.reason).toBe(
      'is a marker without its file a.csv: put that beside it, or delete the marker',
    );
  });
});

describe('what is left alone', () => {
  it('is nothing of unfinished, hidden, backup and describing files', async () => {
    const folder = tempDir();
    const ignored = [
      'a.csv.part',
      'b.tmp',
      '.c.csv',
      '~$d.csv',
      'e.csv~',
      'set/dataset.yaml',
      'set/a.yaml',
      '.git/a.csv',
    ];
    for (const path of ignored) drop(folder, path);
    drop(folder, 'last.csv');
    const watched = await openDrop(folder);
    await settled(watched, 1);
    expect(watched.claims().map((claim) => claim.name)).toEqual(['last.csv']);
    expect(watched.inbox.state().left).toEqual([]);
    for (const path of ignored) expect(existsSync(join(folder, path)), path).toBe(true);
  });

  it('is shown with the reason, at start as well as when it comes later', async () => {
    const folder = tempDir();
    const outside = tempDir();
    drop(outside, 'secret.csv');
    const make = (prefix: string): void => {
      drop(folder, `${prefix}-set/deeper/a.csv`);
      drop(folder, `${prefix}.xlsx`);
      drop(folder, `${prefix}-set/${'数'.repeat(3)}.csv`);
      symlinkSync(join(outside, 'secret.csv'), join(folder, `${prefix}-link.csv`));
      symlinkSync(outside, join(folder, `${prefix}-folder`));
      execFileSync('mkfifo', [join(folder, `${prefix}-pipe.csv`)]);
    };
    make('early');
    const watched = await openDrop(folder);
    await waitUntil('the early ones', () => watched.inbox.state().left.length === 6);
    make('late');
    await waitUntil('the late ones', () => watched.inbox.state().left.length >= 12);
    const left = Object.fromEntries(watched.inbox.state().left.map(({ path, reason }) => [path, reason]));
    for (const prefix of ['early', 'late']) {
      expect(left[`${prefix}-set/deeper/a.csv`]).toContain('deeper');
      expect(left[`${prefix}.xlsx`]).toContain('**/*.csv');
      expect(left[`${prefix}-set/数数数.csv`]).toContain('cannot derive an id');
      expect(left[`${prefix}-link.csv`]).toContain('symbolic link');
      expect(left[`${prefix}-folder`]).toContain('symbolic link');
      expect(left[`${prefix}-pipe.csv`]).toContain('not a regular file');
    }
    expect(watched.claims()).toEqual([]);
    expect(existsSync(join(outside, 'secret.csv'))).toBe(true);
  });

  it('is a file whose name is not valid UTF-8', async () => {
    const folder = tempDir();
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/Stra`), Buffer.from([0xdf]), Buffer.from('e.csv')]), 'x\n');
    const watched = await openDrop(folder);
    await waitUntil('it is left', () => watched.inbox.state().left.length === 1);
    expect(watched.inbox.state().left[0]?.reason).toContain('not valid UTF-8');
  });

  it('is both of two names that give one id, until one of them goes', async () => {
    const folder = tempDir();
    drop(folder, 'City Budget/a.csv', 'one\n');
    drop(folder, 'city-budget/b.csv', 'two\n');
    drop(folder, 'parks/Trees.csv', 'three\n');
    drop(folder, 'parks/trees.csv', 'four\n');
    const watched = await openDrop(folder, { settleMs: 20 });
    await waitUntil('all are left', () => watched.inbox.state().left.length === 4);
    const left = Object.fromEntries(watched.inbox.state().left.map(({ path, reason }) => [path, reason]));
    expect(left['City Budget/a.csv']).toContain('the same id as city-budget/');
    expect(left['parks/Trees.csv']).toContain('the same id as parks/trees.csv');
    rmSync(join(folder, 'City Budget'), { recursive: true });
    rmSync(join(folder, 'parks/trees.csv'));
    await settled(watched, 2);
    expect(watched.claims().map(textOf).sort()).toEqual(['three\n', 'two\n']);
  });

  it('is the data of a faulty sidecar, with file, line and column, until that is fixed', async () => {
    const folder = tempDir();
    drop(folder, 'budget/dataset.yaml', 'title: Budget\ntag: [money]\n');
    drop(folder, 'budget/a.csv');
    drop(folder, 'parks/a.csv');
    const watched = await openDrop(folder, { settleMs: 20 });
    await settled(watched, 1);
    await waitUntil('it is left', () => watched.inbox.state().left.length === 1);
    expect(watched.inbox.state().left[0]).toMatchObject({
      path: 'budget/a.csv',
      reason: expect.stringContaining(`${join(folder, 'budget/dataset.yaml')}:2:1: tag: unknown key`),
    });
    drop(folder, 'budget/dataset.yaml', 'title: Budget\ntags: [money]\n');
    await settled(watched, 2);
    expect(watched.claims().map((claim) => claim.dropped)).toEqual(['parks/a.csv', 'budget/a.csv']);
  });

  it('is forgotten when it is taken away', async () => {
    const folder = tempDir();
    drop(folder, 'a.xlsx');
    const watched = await openDrop(folder);
    await waitUntil('it is left', () => watched.inbox.state().left.length === 1);
    rmSync(join(folder, 'a.xlsx'));
    await waitUntil('it is forgotten', () => watched.inbox.state().left.length === 0);
  });
});

it('a marker that comes unseen before its file is taken goes along', async () => {
  const folder = tempDir();
  drop(folder, 'a.csv');
  const watched = await openDrop(folder, { poll: true });
  await watched.inbox.scanned;
  writeFileSync(join(folder, 'a.csv.done'), '');
  await settled(watched, 1);
  expect(existsSync(join(folder, 'a.csv.done'))).toBe(false);
});

describe('openInbox', () => {
  it('makes the folder when it is missing', async () => {
    const folder = join(tempDir(), 'new/inbox');
    const watched = await openDrop(folder);
    drop(folder, 'a.csv');
    await settled(watched, 1);
  });

  it('warns of a folder that was missing, which may be misspelt, and of no other', async () => {
    const folder = join(tempDir(), 'inbxo');
    const lines: string[] = [];
    const destination = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    const log = createLog({ level: 'warn', destination });
    const { inbox } = await openDrop(folder, { log });
    await inbox.close();
    await openDrop(folder, { log });
    expect(lines.filter((line) => line.includes('was created') && line.includes(folder))).toHaveLength(1);
  });

  it('refuses a spool that belongs to another Redis, and takes nothing', async () => {
    const folder = tempDir();
    const first = await openDrop(folder, { spoolId: 'redis-1' });
    await first.inbox.close();
    drop(folder, 'a.csv');
    await expect(openDrop(folder, { spoolId: 'redis-2' })).rejects.toThrow(StateMismatchError);
    expect(existsSync(join(folder, 'a.csv'))).toBe(true);
  });

  it('refuses an inbox whose own folder leads elsewhere', async () => {
    const folder = tempDir();
    symlinkSync(tempDir(), join(folder, '.sluice'));
    await expect(openDrop(folder)).rejects.toThrow(SourceRefusedError);
  });

  it('leaves no sign of itself but the spool when closed twice', async () => {
    const folder = tempDir();
    const { inbox } = await openDrop(folder);
    await inbox.close();
    await inbox.close();
    expect(readdirSync(foldersOf(folder).spool)).toEqual(['.sluice-id']);
  });
});

describe('listed folders', () => {
  const folders = { transport: {}, 'transport/rail': {} };

  it('hold datasets, at any depth that is listed', async () => {
    const folder = tempDir();
    for (const path of ['transport/bikes/june.csv', 'transport/rail/delays/may.csv', 'transport/trams.csv', 'x/y.csv'])
      drop(folder, path, 'a\n1\n');
    const { claims, inbox } = await openDrop(folder, { drop: { folders } });
    await waitUntil('all four', () => claims().length === 4);
    expect(
      claims()
        .map(({ dataset, resource }) => `${dataset}/${resource}`)
        .sort(),
    ).toEqual(['transport.bikes/june', 'transport.rail.delays/may', 'transport.trams/trams', 'x/y']);
    drop(folder, 'transport/rail/delays/june.csv', 'a\n1\n'); // seen by an event, too
    await waitUntil('the fifth', () => claims().length === 5);
    expect(inbox.state().left).toEqual([]);
  });

  it('do not hide that two names give one id', async () => {
    const folder = tempDir();
    drop(folder, 'transport/bikes/june.csv', 'a\n1\n');
    drop(folder, 'transport.bikes/june.csv', 'a\n1\n');
    drop(folder, 'transport/Trams/a.csv', 'a\n1\n');
    drop(folder, 'transport/trams.csv', 'a\n1\n');
    drop(folder, 'transport.csv', 'a\n1\n'); // no dataset has its id
    const { claims, inbox } = await openDrop(folder, { drop: { folders } });
    await waitUntil('what is left', () => inbox.state().left.length === 4 && claims().length === 1);
    expect(claims().map(({ dropped }) => dropped)).toEqual(['transport.csv']);
    expect(
      inbox
        .state()
        .left.map(({ path, reason }) => `${path}: ${reason}`)
        .sort(),
    ).toEqual([
      expect.stringMatching(/^transport\.bikes\/june\.csv: gives the same id as transport\/bikes\//),
      expect.stringMatching(/^transport\/Trams\/a\.csv: gives the same id as transport\/trams\.csv/),
      expect.stringMatching(/^transport\/bikes\/june\.csv: gives the same id as transport\.bikes\//),
      expect.stringMatching(/^transport\/trams\.csv: gives the same id as transport\/Trams\//),
    ]);
  });
});
