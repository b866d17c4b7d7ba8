// `npm run survive -- --kills 200`: kills a portal amid mixed writes and checks that nothing was lost, half or left over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { survive } from '../test/support/survival.ts';

const { values } = parseArgs({ options: { kills: { type: 'string', default: '200' } } });
const dir = mkdtempSync(join(tmpdir(), 'sluice-survive-'));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const { kills, acknowledged, faults } = await survive(dir, { kills: Number(values.kills), say });
for (const fault of faults.slice(0, 20)) say(fault);
say(`${kills} kills amid ${acknowledged} acknowledged writes: ${faults.length} faults`);
if (faults.length === 0) rmSync(dir, { recursive: true, force: true });
else {
  say(`the store is kept in ${dir}`);
  process.exitCode = 1;
}
