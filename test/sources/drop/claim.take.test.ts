import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { takeFile } from '../../../src/sources/drop/claim.ts';
import { claimPaths } from '../../../src/sources/drop/spool.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** What happens right before and after a file, not a marker, is moved. */
let around = { before: () => {}, after: () => {} };
afterEach(() => {
  around = { before: () => {}, after: () => {} };
});

vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof import('node:fs/promises')>();
  const rename: typeof actual.rename = async (from, to) => {
    const isFile = String(to).includes('/one/file/');
    if (isFile) around.before();
    await actual.rename(from, to);
    if (isFile) around.after();
  };
  return { ...actual, rename };
});

const shared = '/dev/shm';
const twoFileSystems = existsSync(shared) && statSync(shared).dev !== statSync(tmpdir()).dev;

const setUp = (dropped: string) => {
  const inbox = tempDir();
  mkdirSync(join(inbox, dropped, '..'), { recursive: true });
  writeFileSync(join(inbox, dropped), 'x\n');
  const folder = join(inbox, '.sluice/spool/one');
  const { dev, ino } = statSync(join(inbox, dropped));
  return { inbox, dropped, settled: { dev: String(dev), ino: String(ino) }, folder, marker: null };
};

describe('takeFile', () => {
  it('moves the file itself: same inode, no copy', async () => {
    const options = setUp('budget/a.csv');
    const { ino } = statSync(join(options.inbox, options.dropped));
    expect(await takeFile(options)).toEqual({ outcome: 'taken' });
    expect(statSync(claimPaths(options.folder, options.dropped).file).ino).toBe(ino);
  });

  it('is lost, with nothing left behind, when the file is gone', async () => {
    const options = setUp('a.csv');
    renameSync(join(options.inbox, 'a.csv'), join(options.inbox, 'elsewhere'));
    expect(await takeFile(options)).toEqual({ outcome: 'lost' });
    expect(existsSync(options.folder)).toBe(false);
  });

  it('is lost when another watcher took the marker, and leaves the file to that one', async () => {
    const options = setUp('a.csv');
    expect(await takeFile({ ...options, marker: 'a.csv.done' })).toEqual({ outcome: 'lost' });
    expect(existsSync(join(options.inbox, 'a.csv'))).toBe(true);
  });

  it('takes one name of a file that has two, and leaves the other', async () => {
    const options = setUp('a.csv');
    linkSync(join(options.inbox, 'a.csv'), join(options.inbox, 'other.csv'));
    expect(await takeFile(options)).toEqual({ outcome: 'taken' });
    expect(existsSync(join(options.inbox, 'a.csv'))).toBe(false);
    expect(readFileSync(join(options.inbox, 'other.csv'), 'utf8')).toBe('x\n');
  });

  it('takes nothing out of a folder that has become a link out of the inbox', async () => {
    const options = setUp('budget/a.csv');
    const outside = tempDir();
    renameSync(join(options.inbox, 'budget'), join(outside, 'budget'));
    symlinkSync(join(outside, 'budget'), join(options.inbox, 'budget'));
    expect(await takeFile(options)).toMatchObject({ outcome: 'left' });
    expect(existsSync(join(outside, 'budget/a.csv'))).toBe(true);
  });

  it('puts the file of another folder back that was swapped in for the one that had settled', async () => {
    const options = setUp('budget/a.csv');
    renameSync(join(options.inbox, 'budget'), join(options.inbox, 'former'));
    mkdirSync(join(options.inbox, 'budget'));
    writeFileSync(join(options.inbox, 'budget/a.csv'), 'secret\n');
    expect(await takeFile(options)).toEqual({ outcome: 'lost' });
    expect(readFileSync(join(options.inbox, 'budget/a.csv'), 'utf8')).toBe('secret\n');
    expect(existsSync(options.folder)).toBe(false);
  });

  it('takes what had settled, and nothing from a folder that is swapped in right before the move and out after it', async () => {
    const options = setUp('budget/a.csv');
    const [outside, folder] = [tempDir(), join(options.inbox, 'budget')];
    writeFileSync(join(outside, 'a.csv'), 'secret\n');
    around = {
      before: () => {
        renameSync(folder, join(options.inbox, 'former'));
        symlinkSync(outside, folder);
      },
      after: () => {
        rmSync(folder);
        renameSync(join(options.inbox, 'former'), folder);
        if (!existsSync(join(folder, 'a.csv'))) writeFileSync(join(folder, 'a.csv'), 'next\n');
      },
    };
    expect(await takeFile(options)).toEqual({ outcome: 'taken' });
    expect(readFileSync(claimPaths(options.folder, options.dropped).file, 'utf8')).toBe('x\n');
    expect(readFileSync(join(outside, 'a.csv'), 'utf8')).toBe('secret\n');
  });

  it('leaves a file alone that has its number on another device', async () => {
    const options = setUp('a.csv');
    const settled = { ...options.settled, dev: '1' };
    expect(await takeFile({ ...options, settled })).toEqual({ outcome: 'lost' });
    expect(existsSync(join(options.inbox, 'a.csv'))).toBe(true);
  });

  it('puts a link back that was swapped in for the file', async () => {
    const options = setUp('a.csv');
    renameSync(join(options.inbox, 'a.csv'), join(options.inbox, 'real'));
    symlinkSync(join(options.inbox, 'real'), join(options.inbox, 'a.csv'));
    expect(await takeFile(options)).toMatchObject({ outcome: 'left' });
    expect(readFileSync(join(options.inbox, 'a.csv'), 'utf8')).toBe('x\n');
    expect(existsSync(options.folder)).toBe(false);
  });

  it.skipIf(!twoFileSystems)('never copies: a file on another file system stays (needs /dev/shm)', async () => {
    const options = setUp('a.csv');
    const elsewhere = mkdtempSync(join(shared, 'sl-'));
    try {
      const taken = await takeFile({ ...options, folder: join(elsewhere, 'one') });
      expect(taken).toMatchObject({ outcome: 'left', reason: expect.stringContaining('another file system') });
      expect(existsSync(join(options.inbox, 'a.csv'))).toBe(true);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });
});
