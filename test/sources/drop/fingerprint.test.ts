import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SourceChangedError, SourceMissingError, SourceRefusedError } from '../../../src/model/errors.ts';
import { fingerprintFile } from '../../../src/sources/drop/fingerprint.ts';
import { tempDir } from '../../support/temp-dir.ts';

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
const later = 10_000;

describe('fingerprintFile', () => {
  const dir = tempDir();

  it('holds the size and the sha256 of the bytes', async () => {
    const path = join(dir, 'a.csv');
    writeFileSync(path, 'a,b\n1,2\n');
    const made = await fingerprintFile(path, null);
    expect(made).toMatchObject({ bytes: 8, sha256: sha256('a,b\n1,2\n') });
  });

  it('hashes files larger than one chunk and empty files', async () => {
    const big = Buffer.alloc(3 * 1024 * 1024 + 17, 'x');
    writeFileSync(join(dir, 'big.csv'), big);
    writeFileSync(join(dir, 'empty.csv'), '');
    expect((await fingerprintFile(join(dir, 'big.csv'), null)).sha256).toBe(sha256(big));
    expect((await fingerprintFile(join(dir, 'empty.csv'), null)).sha256).toBe(sha256(''));
  });

  it('returns the known fingerprint unread when no stat fact moved and it was hashed well after the last change', async () => {
    const path = join(dir, 'quiet.csv');
    writeFileSync(path, 'a\n1\n');
    const first = await fingerprintFile(path, null);
    const known = { ...first, sha256: 'not read', hashedAt: first.hashedAt + later };
    expect(await fingerprintFile(path, known)).toBe(known);
  });

  it('reads again when the known hash was made within two seconds of the last change', async () => {
    const path = join(dir, 'fresh.csv');
    writeFileSync(path, 'a\n1\n');
    const first = await fingerprintFile(path, null);
    const changedMs = Number(BigInt(first.ctimeNs) / 1_000_000n);
    const known = { ...first, sha256: 'not read', hashedAt: changedMs + 1999 };
    expect((await fingerprintFile(path, known)).sha256).toBe(sha256('a\n1\n'));
  });

  it('reads again when the bytes changed under an equal size and a restored mtime', async () => {
    const path = join(dir, 'sly.csv');
    writeFileSync(path, 'a\n1\n');
    utimesSync(path, 1_700_000_000, 1_700_000_000);
    const first = await fingerprintFile(path, null);
    writeFileSync(path, 'a\n2\n');
    utimesSync(path, 1_700_000_000, 1_700_000_000);
    const second = await fingerprintFile(path, { ...first, hashedAt: first.hashedAt + later });
    expect(second.sha256).toBe(sha256('a\n2\n'));
  });

  it('reads again when another file was renamed over it', async () => {
    const path = join(dir, 'swap.csv');
    writeFileSync(path, 'a\n1\n');
    const first = await fingerprintFile(path, null);
    writeFileSync(join(dir, 'other.csv'), 'a\n9\n');
    renameSync(join(dir, 'other.csv'), path);
    const second = await fingerprintFile(path, { ...first, hashedAt: first.hashedAt + later });
    expect(second.sha256).toBe(sha256('a\n9\n'));
  });

  it('never trusts a hash of a file whose mtime lies in the future', async () => {
    const path = join(dir, 'future.csv');
    writeFileSync(path, 'a\n1\n');
    const future = Date.now() / 1000 + 86_400;
    utimesSync(path, future, future);
    const first = await fingerprintFile(path, null);
    const again = await fingerprintFile(path, { ...first, sha256: 'not read', hashedAt: first.hashedAt + later });
    expect(again.sha256).toBe(sha256('a\n1\n'));
  });

  it('says that the file changed when somebody writes while it is read', async () => {
    const path = join(dir, 'growing.csv');
    writeFileSync(path, Buffer.alloc(64 * 1024 * 1024, 'x'));
    const fd = openSync(path, 'a');
    const pending = fingerprintFile(path, null);
    const writer = setInterval(() => writeSync(fd, 'more\n'), 1);
    await expect(pending).rejects.toThrow(SourceChangedError);
    clearInterval(writer);
  });

  it('follows a symbolic link to a regular file', async () => {
    writeFileSync(join(dir, 'target.csv'), 'a\n1\n');
    symlinkSync(join(dir, 'target.csv'), join(dir, 'link.csv'));
    expect((await fingerprintFile(join(dir, 'link.csv'), null)).sha256).toBe(sha256('a\n1\n'));
  });

  it('names the path when there is no such file', async () => {
    const path = join(dir, 'none.csv');
    await expect(fingerprintFile(path, null)).rejects.toThrow(SourceMissingError);
    await expect(fingerprintFile(path, null)).rejects.toThrow(path);
  });

  it('refuses folders and pipes without hanging', async () => {
    mkdirSync(join(dir, 'folder'));
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    await expect(fingerprintFile(join(dir, 'folder'), null)).rejects.toThrow(SourceRefusedError);
    await expect(fingerprintFile(join(dir, 'pipe'), null)).rejects.toThrow(SourceRefusedError);
  });

  it('stops when its signal is aborted', async () => {
    const path = join(dir, 'aborted.csv');
    appendFileSync(path, 'a\n');
    await expect(fingerprintFile(path, null, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});
