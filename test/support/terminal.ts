// A command on a real terminal: a pseudo terminal that script(1) of util-linux opens, and a terminal emulator that shows what is on it.
import { spawn, spawnSync } from 'node:child_process';
import xterm from '@xterm/headless';
import { waitUntil } from './wait-until.ts';

const { stdout: version, error } = spawnSync('script', ['--version'], { encoding: 'utf8' });

/** False where no pseudo terminal can be opened: tests say so in their title. */
export const hasTerminals = !error && version.includes('util-linux');

/** A terminal with a command in it. */
export interface TestTerminal {
  /** What stands on it and what has left it at the top; lines that the terminal itself has broken are joined. */
  text(): string;
  /** Its rows as they stand; a row that the terminal has broken off the one above begins with `↩`. */
  rows(): string[];
  /** Presses keys. */
  type(keys: string): void;
  resize(columns: number): void;
  /** Called for each piece of output, once it is on the screen. */
  onShown(look: () => void): void;
  /** Exit code of the command, once all of its output is on the screen. */
  ended: Promise<number>;
  /** Ends the command. */
  close(): void;
}

/** Runs a command, as the shell takes it, on a terminal of 24 rows. */
export const openTerminal = async (
  command: string,
  { cwd, env, columns = 80 }: { cwd: string; env: NodeJS.ProcessEnv; columns?: number },
): Promise<TestTerminal> => {
  const screen = new xterm.Terminal({ cols: columns, rows: 24, scrollback: 10_000, allowProposedApi: true });
  const child = spawn('script', ['-qefc', `stty rows 24 cols ${columns}; tty; exec ${command}`, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let look = (): void => undefined;
  let tty = '';
  let shown = Promise.resolve();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    let told = text;
    if (!tty.endsWith('\n')) {
      tty += text;
      const end = tty.indexOf('\n') + 1;
      told = end === 0 ? '' : tty.slice(end);
      if (end > 0) tty = tty.slice(0, end);
    }
    shown = new Promise((done) => {
      screen.write(told, () => {
        look();
        done();
      });
    });
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => void shown.then(() => resolve(code ?? -1)));
  });
  // It stands ready, because the command must learn of another width before it writes again.
  const shell = spawn('sh', [], { stdio: ['pipe', 'ignore', 'inherit'] });
  ended.finally(() => shell.stdin.end()).catch(() => undefined);
  await Promise.race([waitUntil('the terminal to open', () => tty.endsWith('\n')), ended]);
  const rows = (): string[] => {
    const { active } = screen.buffer;
    const all = Array.from({ length: active.length }, (_, at) => active.getLine(at));
    return all.map((row) => `${row?.isWrapped ? '↩' : ''}${row?.translateToString(true) ?? ''}`);
  };
  return {
    rows,
    text: () => `${rows().join('\n').replaceAll('\n↩', '').trimEnd()}\n`,
    type: (keys) => void child.stdin.write(keys),
    resize: (to) => {
      screen.resize(to, 24);
      shell.stdin.write(`stty -F '${tty.trim()}' cols ${to}\n`);
    },
    onShown: (then) => {
      look = then;
    },
    ended,
    close: () => void child.kill('SIGKILL'),
  };
};
