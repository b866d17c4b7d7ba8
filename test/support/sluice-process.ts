// Real processes of `src/cli.ts`, or of the bundle that the tests make of it, with nothing of this machine in their
// environment; in tests and outside of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bundled } from './bundled.ts';

const cli = new URL('../../src/cli.ts', import.meta.url);
const compiled = fileURLToPath(new URL('../../node_modules/.cache/sluice-compiled', import.meta.url));
const quickPasswords = fileURLToPath(new URL('./quick-passwords.ts', import.meta.url));

/** How a process is started. */
export interface SluiceOptions {
  cwd: string;
  /** Added to an environment that holds nothing but PATH, HOME and the Redis server. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Module that is loaded first. */
  preload?: string | undefined;
  /** True where that module reaches into others, which the bundle hides. */
  fromSources?: boolean | undefined;
  /** Command with arguments that starts it, such as one that enters another network. */
  through?: string[] | undefined;
}

/** A command that was started. */
export interface Started {
  /** Everything written so far, the oldest lines forgotten above some megabytes. */
  out(): string;
  err(): string;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
  hasEnded(): boolean;
  /** Waits until standard output has held the text; rejects when the command ends before, or after some minutes. */
  said(text: string, timeoutMs?: number): Promise<void>;
  /** Sends a signal and waits for the end. */
  end(signal: 'SIGINT' | 'SIGTERM'): Promise<number | NodeJS.Signals>;
}

/** A process of sluice. */
export interface Sluice extends Started {
  child: ChildProcess;
  pid: number;
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

const running = new Set<ChildProcess>();

/** Ends every process that is left. */
export const endSluices = (): void => {
  for (const child of running) child.kill('SIGKILL');
};
process.once('exit', endSluices);

/** Starts `sluice` with these arguments. */
export const startSluice = (
  args: string[],
  { cwd, env = {}, preload, fromSources = false, through = [] }: SluiceOptions,
): Sluice => {
  const imports = [quickPasswords, ...(preload === undefined ? [] : [preload])].flatMap((path) => ['--import', path]);
  const program = fromSources ? fileURLToPath(cli) : bundled(cli);
  const node = [process.execPath, ...imports, program, ...args];
  const [command = '', ...rest] = [...through, ...node];
  const child = spawn(command, rest, {
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
  const said: Sluice['said'] = async (text, timeoutMs = 200_000) => {
    const failed = (how: string): Error =>
      new Error(`sluice ${args.join(' ')} ${how} before "${text}":\n${out()}\n${err()}`);
    let timer: NodeJS.Timeout | undefined;
    const heard = new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(failed(`took ${timeoutMs} ms`)), timeoutMs);
      waiting.set(text, resolve);
      if (out().includes(text)) resolve();
    });
    const silent = ended.then((how) => {
      if (!out().includes(text)) throw failed(`ended with ${how}`);
    });
    try {
      await Promise.race([heard, silent]);
    } finally {
      clearTimeout(timer);
      waiting.delete(text);
    }
  };
  return {
    child,
    pid: child.pid ?? -1,
    out,
    err,
    ended,
    hasEnded: () => over,
    said,
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
};

const kept = 4_000_000;

const textOf = (stream: NodeJS.ReadableStream, changed: (text: string) => void): (() => string) => {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text = (text + chunk).slice(-kept);
    changed(text);
  });
  return () => text;
};

/** Without what a command says only where it takes long: that Redis starts, and how far a run is that nothing stops. */
export const withoutSlowness = (err: string): string =>
  err
    .replace('sluice: starting Redis\n', '')
    .replaceAll(/^\S+@\S+: (?:planning|waiting to start|\d+\/\d+ items)(?!.*, (?:paused|waits)).*\n/gm, '');

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
  return { code, out: sluice.out(), err: withoutSlowness(sluice.err()) };
};
