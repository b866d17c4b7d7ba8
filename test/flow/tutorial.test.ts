// The tutorial, typed as it stands: its commands are run, and what it shows is compared with what they print.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { blocksOf, root } from '../support/pages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const home = tempDir();
const folder = join(home, 'my-city');
const bin = join(home, 'bin');
mkdirSync(bin);
// What the alias of the tutorial stands for.
writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'src/cli.ts')}' "$@"\n`);
chmodSync(join(bin, 'sluice'), 0o755);
const { REDIS_URL: _unused, ...surroundings } = process.env;
const env = { ...surroundings, HOME: home, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` };

const blocks = blocksOf('docs/tutorial.md');

/** The commands of the n-th block that holds `part`, and the output shown below them (null where none is). */
const step = (part: string, n = 0): { commands: string; shown: string | null } => {
  const found = blocks.flatMap((block, at) => (block.language === 'sh' && block.text.includes(part) ? [at] : []))[n];
  if (found === undefined) throw new Error(`the tutorial has no block number ${n + 1} with ${part}`);
  const next = blocks[found + 1];
  return { commands: blocks[found]?.text ?? '', shown: next?.language === 'text' ? next.text : null };
};

const type = (commands: string, cwd = folder): { code: number | null; out: string; err: string } => {
  const { status, stdout, stderr } = spawnSync('bash', ['-c', commands], { cwd, env, encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
};

/** Without what differs from run to run: names of runs and times. */
const lasting = (text: string | null): string =>
  (text ?? '')
    .replaceAll(/\d{8}-\d{6}-\w+/g, 'RUN')
    .replaceAll(/in \d+\.\d s/g, 'in N s')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'PORTAL');

let service: ChildProcess | null = null;
afterAll(() => service?.kill('SIGKILL'));

describe('the tutorial', () => {
  it('sets up a folder', () => {
    const { commands } = step('sluice init');
    expect(type(commands, home)).toMatchObject({ code: 0, err: '' });
  });

  it.each([
    ['checks it', 'sluice check', 0, 0],
    ['publishes it', 'sluice publish', 0, 0],
    ['publishes it again and sends nothing', 'sluice publish', 1, 0],
    ['breaks a table, and the older version stays', 'sluice publish', 2, 3],
  ])('%s', (_, part, n, code) => {
    const { commands, shown } = step(part, n);
    const typed = type(commands);
    expect(typed.code, typed.err).toBe(code);
    expect(lasting(typed.out)).toBe(lasting(shown));
  });

  it('asks why, mends the table and tries again', () => {
    expect(type(step('sluice status data/').commands)).toMatchObject({
      code: 3,
      out: expect.stringContaining('line 7'),
    });
    const table = join(folder, 'data/first.csv');
    writeFileSync(table, readFileSync(table, 'utf8').replace('Old Mill,Friday\n', 'Old Mill,Friday,09:00,13:00\n'));
    expect(type(step('sluice retry').commands)).toMatchObject({ code: 0, out: expect.stringContaining('6 rows') });
  });

  it('leaves the service running and drops a file', async () => {
    expect(step('sluice start').commands.trim()).toBe('sluice start');
    appendFileSync(join(folder, 'config/sluice.yaml'), '\nweb: { port: 0 }\n'); // other tests run beside it
    const running = spawn(join(bin, 'sluice'), ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    service = running;
    let log = '';
    running.stdout.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    await waitUntil('the service to run', () => log.includes('sluice is running'));
    expect(type(step('inbox/bike-counts').commands)).toMatchObject({ code: 0 });
    await waitUntil('the run to end', () => /"msg":"ended: .*imported\\":1/.test(log));
    const status = type(step('sluice status inbox/').commands);
    expect(status).toMatchObject({ code: 0, out: expect.stringMatching(/: live$/m) });
    running.kill('SIGINT');
    expect(await once(running, 'exit')).toEqual([0, null]);
  });
});
