import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runNode } from '../../support/run-node.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openDatastore } from './open-datastore.ts';

const script = fileURLToPath(new URL('./attach-until-killed.ts', import.meta.url));

const lastAcknowledged = (dir: string): number => {
  try {
    return Number(readFileSync(join(dir, 'acknowledged'), 'utf8').trim().split('\n').at(-1));
  } catch {
    return 0;
  }
};

describe('after kill -9 at any moment of an import', () => {
  it('the old table or the new one is there, never half, and nothing else is left', async () => {
    const dir = tempDir();
    for (const [round, delay] of [150, 0, 4, 8, 12, 17, 23, 31, 42, 60].entries()) {
      expect(await runNode(script, { args: [dir, String(round % 4), String(delay)] })).toBe('killed');
      const d = openDatastore(dir);
      if (d.datastore.status('1')?.storage === 1) {
        const rows = await d.rows('1');
        expect(rows).toHaveLength(3000);
        expect(new Set(rows.map(([a]) => a)).size).toBe(1);
        expect(Number(rows[0]?.[0])).toBeGreaterThanOrEqual(lastAcknowledged(dir));
      } else expect(lastAcknowledged(dir)).toBe(0);
      await d.datastore.sweep();
      await waitUntil('what is owed to be imported', () => d.datastore.status('1')?.data_import !== 4);
      expect(d.tables()).toHaveLength(d.datastore.status('1')?.storage ?? 0);
      await d.close();
    }
    expect(lastAcknowledged(dir)).toBeGreaterThan(0);
  });
});
