// A command on a real terminal: a pseudo terminal that script(1) of util-linux opens, and a terminal emulator that shows what is on it.
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
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
  /** Changes its width while the command stands still and the rows are as `isReady` wants them. */
  resize(columns: number, isReady: (rows: string[]) => boolean): Promise<void>;
  /** Called for each piece of output, once it is on the screen. */
  onShown(look: () => void): void;
  /** Exit code of the command, once all of its output is on the screen. */
  ended: Promise<number>;
  /** Ends the command. */
  close(): void;
}

/** Number of an operating system command that no terminal knows. */
const mark = 7391;

const isWhole = (head: string): boolean => head.split('\n').length > 2;

/** Runs a command, as the shell takes it, on a terminal of 24 rows. */
export const openTerminal = async (
  command: string,
  { cwd, env, columns = 80 }: { cwd: string; env: NodeJS.ProcessEnv; columns?: number },
): Promise<TestTerminal> => {
  const screen = new xterm.Terminal({ cols: columns, rows: 24, scrollback: 10_000, allowProposedApi: true });
  // In a subshell, since `script` stops and continues together with its own child.
  const script = `stty rows 24 cols ${columns}; (tty; sh -c 'echo $PPID'; exec ${command}); exit $?`;
  const child = spawn('script', ['-qefc', script, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let look = (): void => undefined;
  let head = ''; // two lines: the name of the terminal and the process id of the command
  let shown = Promise.resolve();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    let told = text;
    if (!isWhole(head)) {
      const [, whole, rest] = /^([^\n]*\n[^\n]*\n)(.*)$/s.exec(head + text) ?? [];
      head = whole ?? head + text;
      told = rest ?? '';
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
  await Promise.race([waitUntil('the terminal to open', () => isWhole(head)), ended]);
  const [tty = '', pid = ''] = head.split(/\s+/);
  /** Resolves when everything that the command has written is on the screen: the mark comes after it. */
  const allShown = (): Promise<void> =>
    new Promise((resolve) => {
      const handler = screen.parser.registerOscHandler(mark, () => {
        handler.dispose();
        resolve();
        return true;
      });
      writeFileSync(tty, `\u001b]${mark};\u0007`);
    });
  const rows = (): string[] => {
    const { active } = screen.buffer;
    const all = Array.from({ length: active.length }, (_, at) => active.getLine(at));
    return all.map((row) => `${row?.isWrapped ? '↩' : ''}${row?.translateToString(true) ?? ''}`);
  };
  return {
    rows,
    text: () => `${rows().join('\n').replaceAll('\n↩', '').trimEnd()}\n`,
    type: (keys) => void child.stdin.write(keys),
    resize: async (to, isReady) => {
      for (;;) {
        process.kill(Number(pid), 'SIGSTOP');
        await allShown();
        if (isReady(rows())) break;
        process.kill(Number(pid), 'SIGCONT');
        await setTimeout(10);
      }
      screen.resize(to, 24);
      spawnSync('stty', ['-F', tty, 'cols', String(to)], { stdio: 'inherit' });
      process.kill(Number(pid), 'SIGCONT');
    },
    onShown: (then) => {
      look = then;
    },
    ended,
    close: () => void child.kill('SIGKILL'),
  };
};
