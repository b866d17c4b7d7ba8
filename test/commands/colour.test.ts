// Which words of a line are coloured, and where colours are shown at all.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { coloured } from '../../src/commands/colour.ts';
import { terminalLine } from '../../src/commands/terminal-line.ts';
import { bundled } from '../support/bundled.ts';
import { root } from '../support/pages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hasTerminals } from '../support/terminal.ts';

const names: Record<string, string> = { 1: 'bold', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan' };

/** Colours as `<red:failed>`. */
const marked = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them
  text.replaceAll(/\u001b\[(\d+)m(.*?)\u001b\[\d+m/g, (_, code: string, words: string) => `<${names[code]}:${words}>`);

describe('a line', () => {
  it.each([
    ['  a/b/c  new          live      2 rows  created', '  a/b/c  new          <green:live>      2 rows  created'],
    ['  a/b/d  quarantined  not live', '  a/b/d  <red:quarantined>  <red:not live>'],
    ['a/b (dataset "Failed live" on city): live', 'a/b (dataset "Failed live" on city): <green:live>'],
    ['city@local: 4 live, 0 stale, 1 not live', 'city@local: 4 <green:live>, 0 <yellow:stale>, 1 <red:not live>'],
    ['18:20:01  a/b/c  failed: portal-refused: no', '18:20:01  a/b/c  <red:failed>: portal-refused: no'],
    ['18:20:01  warn: the portal is slow', '18:20:01  <yellow:warn>: the portal is slow'],
    ['    -> give the column a name', '<cyan:    ->> give the column a name'],
    ['sluice: no such file', '<red:sluice>: no such file'],
    ['live: http://city/dataset/live', '<cyan:live>: http://city/dataset/live'],
    ['x.csv:1:2: the header cell is empty [table-header]', 'x.csv:1:2: the header cell is empty <red:[table-header]>'],
    ['x.csv: sound, 2 rows', 'x.csv: <green:sound>, 2 rows'],
    ['  attach 42% of 105.0 MB, 5 s left  a/b/c', '  attach <bold:42%> of 105.0 MB, 5 s left  a/b/c'],
    ['the failed live sound of 42 fixable titles', 'the failed live sound of 42 fixable titles'],
  ])('%s', (line, wanted) => {
    expect(marked(coloured(line))).toBe(wanted);
  });

  it('keeps its width on the last lines of a terminal', () => {
    const terminal = Object.assign(new PassThrough({ encoding: 'utf8' }), { columns: 20 });
    const line = terminalLine(terminal, true);
    line.show('city@local: 1/3 items, 1 failed and more');
    line.show('city@local: 3 live');
    const written: string = terminal.read();
    expect(marked(written)).toBe('\r\u001b[Jcity@local: 1/3 it…\r\u001b[Jcity@local: 3 <green:live>');
  });
});

describe('colours', () => {
  const dir = tempDir();
  const program = [
    bundled(new URL('../../src/cli.ts', import.meta.url)),
    'check',
    join(root, 'test/commands/colour.test.ts'),
  ];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const shown = (command: string, args: string[], env: NodeJS.ProcessEnv): boolean =>
    spawnSync(command, args, {
      cwd: dir,
      env: { PATH, NODE_COMPILE_CACHE, HOME: dir, ...env },
      encoding: 'utf8',
    }).stdout.includes('\u001b[3');
  const piped = (env: NodeJS.ProcessEnv) => shown(process.execPath, program, env);
  const onTerminal = (env: NodeJS.ProcessEnv) =>
    shown('script', ['-qec', [process.execPath, ...program].map((word) => `'${word}'`).join(' '), '/dev/null'], env);

  it('are in no pipe, unless FORCE_COLOR wants them', () => {
    expect(piped({ TERM: 'xterm-256color' })).toBe(false);
    expect(piped({ FORCE_COLOR: '1' })).toBe(true);
  });

  it.skipIf(!hasTerminals)(
    'are on a terminal that has them, unless NO_COLOR is set (needs script of util-linux)',
    () => {
      expect(onTerminal({ TERM: 'xterm-256color' })).toBe(true);
      expect(onTerminal({ TERM: 'xterm-256color', NO_COLOR: '1' })).toBe(false);
      expect(onTerminal({ TERM: 'dumb' })).toBe(false);
    },
  );
});
