import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { completionScript } from '../../src/commands/completion.ts';
import { createProgram, runProgram } from '../../src/commands/program.ts';
import { publishCommand } from '../../src/commands/publish.ts';
import { commandIo } from '../support/command-io.ts';
import { commandPlace } from '../support/command-place.ts';
import { tempDir } from '../support/temp-dir.ts';
import { writeText } from '../support/yaml-file.ts';

const program = await createProgram({ isLoaded: () => true, run: async () => undefined });
const script = (shell: 'bash' | 'zsh' | 'fish'): string => completionScript(shell, program);

it.each([
  ['pub', ['publish']],
  ['publish --on', ['--on-drift']],
  ['publish tab', ['table.csv']],
  ['report x --fo', ['--format']],
  ['portal to', ['token']],
  ['remove city/k --how d', ['delete']],
  ['completion z', ['zsh']],
  ['help man', ['manifest']],
  ['release city/', ['city/of-release']],
  ['publish --portal c', ['city/of---portal']],
  ['report --config tab', ['table.csv']],
])('bash completes "sluice %s" to %j', async (typed, expected) => {
  const dir = tempDir();
  writeText(dir, 'table.csv', '');
  const words = `sluice ${typed}`.split(' ');
  const known = `sluice() { [[ "$1 $2" == "completion bash" ]] && echo "city/of-\${3#--words=}"; }`; // what it asks
  const typedIn = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', `${known}\n${script('bash')}\n${typedIn}`], {
    cwd: dir,
    encoding: 'utf8',
  });
  expect([stderr, stdout.trim().split('\n')]).toEqual(['', expected]);
});

it('describes commands, options and their values to zsh and fish', async () => {
  expect(script('zsh')).toContain(`'--format[how to print it (default  text)]:value:(text html csv md json)'`);
  expect(script('fish')).toContain(
    `complete -c sluice -n '__fish_seen_subcommand_from report' -l format -xa 'text html csv md json' -d`,
  );
  expect(script('fish')).toContain('complete -c sluice -f -n __fish_use_subcommand -a publish -d');
});

it('prints the keys, runs and portals that a command may take', async () => {
  const place = commandPlace();
  place.manifest('city', { a: 'id\n1\n' });
  expect(await publishCommand(['city.yaml'], place.options, place.io().io)).toBe(0);
  const words = async (of: string): Promise<string> => {
    const { io, out } = place.io();
    const { config = '', state = '' } = place.options;
    const typed = ['completion', 'bash', `--words=${of}`, '--config', config, '--state', state];
    expect(await runProgram(typed, io)).toBe(0);
    return out();
  };
  expect(await words('history')).toBe('city/one\ncity/one/a\n');
  expect(await words('retry')).toMatch(/^city\/one\ncity\/one\/a\n\d{8}-\d{6}-\w+\n$/);
  expect(await words('pause')).toBe('local\n');
  expect(await words('--portal')).toBe('local\n');
  expect(await words('init')).toBe('');
});

it('begins no state for what a command may take', async () => {
  const { io, out } = commandIo(tempDir());
  expect(await runProgram(['completion', 'bash', '--words=retry'], io)).toBe(0);
  expect(out()).toBe('');
  expect(readdirSync(io.cwd)).toEqual([]);
});
