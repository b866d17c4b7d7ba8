// Tables as files, each in a folder of its own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './temp-dir.ts';

/** Writes a table to a new file, removed after the test file; returns its path. */
export const fileOf = (content: string | Buffer): string => {
  const path = join(tempDir(), 'table.csv');
  writeFileSync(path, content);
  return path;
};
