// Real processes of `src/cli.ts` for chaos, in tests and outside of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const compiled = fileURLToPath(new URL('../../../node_modules/.cache/sluice-compiled', import.meta.url));

/** A process of sluice. */
export interface Sluice {
  pid: number;
  /** Everything written so far, the oldest lines forgotten above a megabyte. */
  out(): string;
  err(): string;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
  hasEnded(): boolean;
  /** Waits until standard output has held the text; rejects when the process ends before. */
  said(text: string): Promise<void>;
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts `sluice` in a folder, with nothing of this machine in its environment. */
export const startSluice = (args: string[], cwd: string, env: NodeJS.ProcessEnv = {}): Sluice => {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      REDIS_SERVER_BIN: process.env.REDIS_SERVER_BIN,
      NODE_COMPILE_CACHE: compiled,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const waiting = new Map<string, () => void>();
  const out = textOf(child.stdout, (text) => {
    for (const [wanted, tell] of waiting) if (text.includes(wanted)) tell();
  });
  const err = textOf(child.stderr, () => undefined);
  let over = false;
  const ended = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      over = true;
      running.delete(child);
      resolve(signal ?? code ?? -1);
    });
  });
  return {
    pid: child.pid ?? -1,
    out,
    err,
    ended,
    hasEnded: () => over,
    said: async (text) => {
      const heard = new Promise<void>((resolve) => {
        waiting.set(text, resolve);
        if (out().includes(text)) resolve();
      });
      const silent = ended.then((how) => {
        throw new Error(`sluice ${args.join(' ')} ended with ${how} before "${text}":\n${out()}\n${err()}`);
      });
      await Promise.race([heard, silent]);
      waiting.delete(text);
    },
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
};

const kept = 1_000_000;

const textOf = (stream: NodeJS.ReadableStream, changed: (text: string) => void): (() => string) => {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text = (text + chunk).slice(-kept);
    changed(text);
  });
  return () => text;
};
