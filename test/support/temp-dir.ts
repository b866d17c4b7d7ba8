// Temporary folders that go when the test file ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atFileEnd } from './file-end.ts';

/** Makes an empty folder (short path, so that a socket fits in it), removed after the test file. */
export const tempDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'sl-'));
  atFileEnd(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
};
