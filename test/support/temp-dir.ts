// Temporary folders that go when the test file ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const made: string[] = [];
// Registered on import: a hook that a running test registers would never run.
afterAll(() => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

/** Makes an empty folder (short path, so that a socket fits in it), removed after the test file. */
export const tempDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'sl-'));
  made.push(dir);
  return dir;
};
