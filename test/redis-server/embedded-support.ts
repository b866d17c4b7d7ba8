// What the tests of the embedded Redis share: options, a log to look into, holders in processes of their own.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { createLog, type Log } from '../../src/model/log.ts';
import type { RedisOptions } from '../../src/redis-server/embedded.ts';
import { LockFile } from '../../src/util/lock-file.ts';
import { bundled } from '../support/bundled.ts';
import { atFileEnd } from '../support/file-end.ts';

/** A log that keeps its lines. */
export const keptLog = (): { log: Log; lines: string[] } => {
  const lines: string[] = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  return { lines, log: createLog({ level: 'info', destination }) };
};

/** Options for the embedded default with the server that the tests were given. */
export const embedded = (stateDir: string, more: Partial<RedisOptions> = {}): RedisOptions => ({
  url: undefined,
  prefix: 'sluice',
  stateDir,
  appendfsync: 'everysec',
  fetch: false,
  env: { PATH: process.env.PATH, REDIS_SERVER_BIN: process.env.REDIS_SERVER_BIN },
  log: keptLog().log,
  ...more,
});

/** Numbers of the server processes that work in the data folder of a state folder. */
export const serversOf = (stateDir: string): number[] => {
  const data = join(stateDir, 'redis', 'data');
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && workingFolder(pid) === data);
};

const workingFolder = (pid: number): string | null => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, ''); // the folder may take precedence over its server
  } catch {
    return null; // it ended, or is a zombie
  }
};

/** Kills every server of a state folder when the test file ends, whatever became of its tests. */
export const killServersAfterwards = (stateDir: string): void => {
  atFileEnd(() => {
    for (const pid of serversOf(stateDir)) process.kill(pid, 'SIGKILL');
  });
};

/**
 * Uses the embedded Redis of a state folder as another process does, until the test file ends: commands leave it running,
 * and the next one finds it.
 */
export const keepServer = (stateDir: string): void => {
  const folder = join(stateDir, 'redis');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = new LockFile(join(folder, 'users.lock'));
  if (!lock.tryShared()) throw new Error(`the embedded Redis of ${stateDir} is being stopped`);
  atFileEnd(() => lock.close());
};

/** A process that holds the embedded Redis of a state folder. */
export interface Holder {
  child: ChildProcess;
  how: string;
  path: string;
  /** Ends it by that signal and resolves with its exit code, null when the signal killed it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const program = bundled(new URL('./programs/hold-redis.ts', import.meta.url));

/** Starts a process that opens the embedded Redis; resolves once it has. */
export const startHolder = async (stateDir: string): Promise<Holder> => {
  const child = spawn(process.execPath, [program, stateDir], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  ended.finally(() => process.removeListener('exit', kill)).catch(() => {});
  for await (const line of createInterface({ input: child.stdout })) {
    const said: { how: string; path: string } = JSON.parse(line);
    return {
      child,
      ...said,
      end: (signal) => {
        child.kill(signal);
        return ended;
      },
    };
  }
  throw new Error(`the holder ended with ${await ended}: ${complaints}`);
};
