// The tutorial, typed as it stands: its commands are run in their order on a terminal of 80 columns and 24 rows, and each
// screen is compared with what stands there.
// TUTORIAL=write puts what they print into the page instead. TUTORIAL=install types all of it in a fresh copy, beginning with
// `npm ci`, which needs the npm registry or its cache.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { blocksOf, pageText, root } from '../support/pages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hasTerminals, openTerminal } from '../support/terminal.ts';
import { waitUntil } from '../support/wait-until.ts';
import { publisher, startPortal } from './support/server.ts';
import { slowLineTo } from './support/slow-line.ts';

const page = 'docs/tutorial.md';
const home = tempDir();
const folder = join(home, 'my-city');
const bin = join(home, 'bin');
mkdirSync(bin);
// What the alias of the tutorial stands for.
const aliasTo = (node: string, program: string): void => {
  writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec '${node}' '${program}' "$@"\n`);
  chmodSync(join(bin, 'sluice'), 0o755);
};
aliasTo(process.execPath, join(root, 'src/cli.ts'));
const { REDIS_URL: _unused, npm_command: _how, ...surroundings } = process.env;
const env = { ...surroundings, HOME: home, clone: root, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` };

/** Commands, and the screen that is shown below them; the others are for the reader alone. */
const steps = blocksOf(page).flatMap(({ language, text }, at, all) => {
  const next = all[at + 1];
  return language === 'sh' ? [{ commands: text, screen: next?.language === 'text' ? next.text : null }] : [];
});
const starts = steps.findIndex(({ commands }) => commands.startsWith('sluice start'));
const typedHere = steps.slice(0, starts).filter(({ commands }) => !/npm ci|^cd /.test(commands));

/** Presses Enter at the question for the portal. */
const type = async (
  commands: string,
  cwd: string,
  around: NodeJS.ProcessEnv = env,
): Promise<{ code: number; out: string }> => {
  const script = join(home, 'typed');
  writeFileSync(script, commands);
  const terminal = await openTerminal(`bash ${script}`, { cwd, env: around });
  if (commands.startsWith('sluice init')) {
    await waitUntil('the question', () => terminal.text().includes('Address of the portal:'));
    terminal.type('\r');
  }
  return { code: await terminal.ended, out: terminal.text().replaceAll(home, '~') };
};

/** Without what differs from run to run: names of runs, times, the port of the portal, and line breaks that times move. */
const lasting = (text: string): string =>
  text
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/\d{8}-\d{6}-\w+/g, 'RUN')
    .replaceAll(/in \d+\.\d s/g, 'in N s')
    .replaceAll(/20\d\d-\d\d-\d\dT[\d:.]+Z|20\d{6}T\d{6}\.\d{3}Z/g, 'TIME')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'PORTAL')
    .replaceAll(/(?<=admin is )\S+/g, 'PASSWORD');

const shows = (screen: string | null, out: string): void => {
  if (screen === null) return;
  if (process.env.TUTORIAL === 'write') {
    const file = join(root, page);
    writeFileSync(
      file,
      pageText(page).replace(`\`\`\`text\n${screen}\`\`\``, () => `\`\`\`text\n${out}\`\`\``),
    );
  } else expect(lasting(out)).toBe(lasting(screen));
};

/** Exit codes that are not 0: what the tutorial shows to be wrong. */
const codes: Record<string, number> = { 'sluice check': 3, 'sluice publish tables --save': 3, 'sluice status\n': 3 };

let service: ChildProcess | null = null;
afterAll(() => service?.kill('SIGKILL'));

describe.skipIf(!hasTerminals)('the tutorial (needs script of util-linux)', () => {
  it.runIf(process.env.TUTORIAL === 'install')('is installed into a fresh copy', async () => {
    const copy = join(home, 'clone');
    const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trimEnd().split('\n');
    for (const file of files) cpSync(join(root, file), join(copy, file));
    const [install] = steps;
    const own = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(?:registry|cache)$)/.test(name));
    const typed = await type(install?.commands ?? '', copy, Object.fromEntries(own));
    expect(typed.code, typed.out).toBe(0);
    expect(install?.commands).toContain('alias sluice="$PWD/node_modules/.bin/node $PWD/bin/sluice.cjs"');
    aliasTo(join(copy, 'node_modules/.bin/node'), join(copy, 'bin/sluice.cjs'));
  });

  it('has its screens', () => {
    expect(typedHere.filter(({ screen }) => screen !== null).length).toBeGreaterThan(6);
  });

  it.each(typedHere.map((step) => [step.commands.split('\n', 1)[0], step] as const))(
    '%s',
    async (_, { commands, screen }) => {
      const typed = await type(commands, commands.startsWith('sluice init') ? home : folder);
      const [, code = 0] = Object.entries(codes).find(([part]) => commands.startsWith(part)) ?? [];
      expect(typed.code, typed.out).toBe(code);
      shows(screen, typed.out);
    },
  );

  it('follows an upload of 100 MB', async () => {
    const portal = await startPortal();
    const line = await slowLineTo(portal.url, { piece: 2_000_000, pauseMs: 50 });
    mkdirSync(join(folder, 'plans'));
    writeFileSync(join(folder, 'plans/harbour.pdf'), Buffer.alloc(100_000_000, '%PDF-1.7 '));
    const login = { ...env, SLUICE_USERNAME: publisher.username, SLUICE_PASSWORD: publisher.password };
    const terminal = await openTerminal(`sluice publish plans --portal ${line}`, { cwd: folder, env: login });
    const rows = new Set<string>();
    terminal.onShown(() => {
      for (const row of terminal.rows()) rows.add(row);
    });
    expect(await terminal.ended, terminal.text()).toBe(0);
    const shares = [...rows].flatMap((row) => {
      const [, share] =
        /^ {2}attach (\d+)% of 100\.0 MB, \d+\.\d MB\/s, \d+ s left {2}plans\/plans\/harbour$/.exec(row) ?? [];
      return share === undefined ? [] : [Number(share)];
    });
    expect(shares.length, [...rows].join('\n')).toBeGreaterThan(0);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(terminal.text()).toMatch(/^ {2}plans\/plans\/harbour +live +new$/m);
  });

  it('leaves the service running, and drops a workbook, a faulty file, and that file fixed', async () => {
    appendFileSync(join(folder, 'config/sluice.yaml'), '\nweb: { port: 0 }\n'); // other tests run beside it
    const running = spawn(join(bin, 'sluice'), ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    service = running;
    let log = '';
    running.stdout.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    await waitUntil('the service to run', () => log.includes('sluice is running'));
    let ended = 0;
    for (const { commands, screen } of steps.slice(starts + 1)) {
      const typed = await type(commands, commands.startsWith('cd ') ? home : folder);
      expect(typed.code, typed.out).toBe(screen?.includes('not live') ? 3 : 0);
      shows(screen, typed.out);
      if (screen !== null) continue;
      ended += 1; // what was dropped
      await waitUntil('the run to end', () => log.match(/"msg":"ended: /g)?.length === ended);
    }
    expect(ended).toBe(3);
    running.kill('SIGINT');
    expect(await once(running, 'exit')).toEqual([0, null]);
  });
});
