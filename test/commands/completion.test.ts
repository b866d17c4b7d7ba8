import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { completionScript } from '../../src/commands/completion.ts';
import { createProgram } from '../../src/commands/program.ts';
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
])('bash completes "sluice %s" to %j', async (typed, expected) => {
  const dir = tempDir();
  writeText(dir, 'table.csv', '');
  const words = `sluice ${typed}`.split(' ');
  const typedIn = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', `${script('bash')}\n${typedIn}`], {
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
