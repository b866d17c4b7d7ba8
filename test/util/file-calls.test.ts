import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSmall, smallBytes } from '../../src/util/file-calls.ts';
import { tempDir } from '../support/temp-dir.ts';

describe('readSmall', () => {
  const dir = tempDir();
  const fileOf = (text: string): string => {
    const path = join(dir, 'a.csv');
    writeFileSync(path, text);
    return path;
  };

  it('gives the bytes and what the system says of the file', () => {
    const { content, stats } = readSmall(fileOf('a\n1\n'), 4);
    expect(content.toString()).toBe('a\n1\n');
    expect(stats.size).toBe(4n);
  });

  it('shows that a file is shorter or longer than it was said to be', () => {
    expect(readSmall(fileOf('a\n'), 4).content.toString()).toBe('a\n');
    expect(readSmall(fileOf('a\n1\n2\n'), 4).content).toHaveLength(5);
    expect(readSmall(fileOf(''), 4).content).toHaveLength(0);
  });

  it('reads into memory that is lent, again and again', () => {
    const memory = Buffer.alloc(smallBytes + 1, 'x');
    expect(readSmall(fileOf('long enough'), 11, memory).content.toString()).toBe('long enough');
    expect(readSmall(fileOf('short'), 5, memory).content.toString()).toBe('short');
  });

  it('ends at once at a pipe that nobody writes into', () => {
    const path = join(dir, 'pipe');
    execFileSync('mkfifo', [path]);
    expect(readSmall(path, 10).content).toHaveLength(0);
  });
});
