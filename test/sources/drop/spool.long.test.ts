// A process killed before each file system call on the way out of the spool.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runNode } from '../../support/run-node.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { csvBelow, spooled } from './support/spooled.ts';

const at = Date.UTC(2026, 10, 30, 11, 33, 44, 123);
const wayOut = fileURLToPath(new URL('./support/way-out.ts', import.meta.url));

describe('a process killed on the way out of the spool', () => {
  it.each(['archive', 'quarantine'])('loses and doubles nothing at any step of %s', async (way) => {
    for (let step = 1, outcome = 'killed'; outcome === 'killed'; step += 1) {
      const inbox = tempDir();
      await spooled(inbox, 'budget/a.csv', 'x\n', at);
      outcome = await runNode(wayOut, { args: [way, inbox], kill: { at: step, below: inbox } });
      const copies = Object.values(csvBelow(inbox));
      expect(copies.length, `step ${step}`).toBeGreaterThanOrEqual(1);
      if (outcome === 'ended') expect(step, 'the kills have hit').toBeGreaterThan(4);
      await runNode(wayOut, { args: [way, inbox] });
      expect(Object.values(csvBelow(inbox)), `step ${step}`).toEqual(['x\n']);
      expect(Object.keys(csvBelow(inbox))[0], `step ${step}`).toMatch(
        way === 'archive' ? /^\.sluice\/archive/ : /^_faulty/,
      );
      const names = readdirSync(inbox, { recursive: true, encoding: 'utf8' });
      expect(
        names.filter((name) => name.endsWith('.tmp')),
        `step ${step}`,
      ).toEqual([]);
    }
  });
});
