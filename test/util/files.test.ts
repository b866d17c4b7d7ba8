// Folders are made with those above them, or there is an error; never a loop.
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../../src/util/files.ts';
import { tempDir } from '../support/temp-dir.ts';

describe('makeFolder', () => {
  it('makes what is missing and returns the topmost of it', async () => {
    const dir = tempDir();
    expect(await makeFolder(join(dir, 'a/b/c'), 0o700)).toBe(join(dir, 'a'));
    expect(statSync(join(dir, 'a/b/c')).mode & 0o777).toBe(0o700);
    expect(await makeFolder(join(dir, 'a/b/d'))).toBe(join(dir, 'a/b/d'));
    expect(await makeFolder(join(dir, 'a/b'))).toBeUndefined();
  });

  it('may be called many times at once', async () => {
    const dir = tempDir();
    await Promise.all(Array.from({ length: 20 }, (_, at) => makeFolder(join(dir, 'p/q/r', String(at % 3)))));
    expect(existsSync(join(dir, 'p/q/r/2'))).toBe(true);
  });

  it('fails where a file is in the way', async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'file'), '');
    await expect(makeFolder(join(dir, 'file'))).rejects.toThrow('EEXIST');
    await expect(makeFolder(join(dir, 'file/below'))).rejects.toThrow('ENOTDIR');
  });

  // There a folder that exists says of each new one that it does not exist, to which Node's `recursive` has no end.
  it.runIf(process.platform === 'linux')('fails below /proc', async () => {
    await expect(makeFolder('/proc/sluice-test/below')).rejects.toThrow('ENOENT');
  });
});
