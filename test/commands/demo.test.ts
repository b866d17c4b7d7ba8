// `sluice demo` as people run it.
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runSluice } from '../support/sluice-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const folderOf = (out: string): string => /sluice demo in (\S+)/.exec(out)?.[1] ?? '';

it('publishes, drops, reads back, explains the planted fault, sends nothing twice, and cleans up', async () => {
  const { code, out, err } = await runSluice(['demo'], { cwd: tempDir() });
  expect(code, out + err).toBe(0);
  expect(out).toContain('table-ragged');
  expect(out).toMatch(/Street trees +60 +\/dataset\//);
  expect(out).toMatch(/boardings +5 +\/dataset\//i);
  expect(out).toContain('0 write requests counted at the portal');
  expect(out).toContain('Done: everything is live except the faulty table.');
  expect(existsSync(folderOf(out))).toBe(false);
});
