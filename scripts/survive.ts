// `npm run survive -- --kills 200 [--profile NAME]`: kills a portal amid mixed writes and checks that nothing was lost,
// half or left over; on every profile where none is named.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { profiles } from '../src/embedded-portal/profiles/profiles.ts';
import { survive } from '../test/support/survival.ts';

const { values } = parseArgs({ options: { kills: { type: 'string', default: '200' }, profile: { type: 'string' } } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const chosen = Object.values(profiles).filter(({ name }) => values.profile === undefined || name === values.profile);
if (chosen.length === 0) {
  say(`no profile ${values.profile}; there are ${Object.keys(profiles).join(', ')}`);
  process.exitCode = 2;
}
for (const { name: profile } of chosen) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-survive-'));
  const { kills, acknowledged, faults } = await survive(dir, { kills: Number(values.kills), profile, say });
  for (const fault of faults.slice(0, 20)) say(fault);
  say(`${profile}: ${kills} kills amid ${acknowledged} acknowledged writes: ${faults.length} faults`);
  if (faults.length === 0) rmSync(dir, { recursive: true, force: true });
  else {
    say(`the store is kept in ${dir}`);
    process.exitCode = 1;
  }
}
