// Real processes of `src/cli.ts`, with nothing of this machine in their environment.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { waitUntil } from '../../support/wait-until.ts';

const cli = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const compiled = fileURLToPath(new URL('../../../node_modules/.cache/sluice-compiled', import.meta.url));

/** How a process is started. */
export interface SluiceOptions {
  cwd: string;
  /** Added to an environment that holds nothing but PATH, HOME and the Redis server. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Module that is loaded first. */
  preload?: string | undefined;
}

/** A process of sluice. */
export interface Sluice {
  child: ChildProcess;
  pid: number;
  /** Everything written so far. */
  out(): string;
  err(): string;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
  hasEnded(): boolean;
  /** Waits until standard output holds the text. */
  said(text: string, timeoutMs?: number): Promise<void>;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

const running = new Set<ChildProcess>();
// Registered on import: a hook that a running test registers would never run.
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts `sluice` with these arguments. */
export const startSluice = (args: string[], { cwd, env = {}, preload }: SluiceOptions): Sluice => {
  const child = spawn(process.execPath, [...(preload === undefined ? [] : ['--import', preload]), cli, ...args], {
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
  const [out, err] = [textOf(child.stdout), textOf(child.stderr)];
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
    child,
    pid: child.pid ?? -1,
    out,
    err,
    ended,
    hasEnded: () => over,
    said: async (text, timeoutMs) => {
      await waitUntil(`sluice ${args.join(' ')} to say "${text}"`, () => over || out().includes(text), timeoutMs);
      if (!out().includes(text))
        throw new Error(`sluice ${args.join(' ')} ended before "${text}":\n${out()}\n${err()}`);
    },
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
};

const textOf = (stream: NodeJS.ReadableStream): (() => string) => {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
};

/** How a one-off command ended. */
export interface Ended {
  code: number | NodeJS.Signals;
  out: string;
  err: string;
}

/** Runs `sluice` to its end. */
export const runSluice = async (args: string[], options: SluiceOptions): Promise<Ended> => {
  const sluice = startSluice(args, options);
  const code = await sluice.ended;
  return { code, out: sluice.out(), err: sluice.err() };
};
