// Starts and stops the server process of the embedded Redis.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage, RedisFailedError } from '../model/errors.ts';
import { pingState, queryServer, withConnection } from '../state/redis/connection.ts';
import { makeFolder } from '../util/files.ts';
import { isRunning, markProcess, type ProcessMark } from './server-record.ts';

/** How the server is run; everything that is its own lies in `folder`. */
interface ServerSettings {
  folder: string;
  binary: string;
  socket: string;
  appendfsync: 'everysec' | 'always';
  env: NodeJS.ProcessEnv;
}

export const dataIn = (folder: string): string => join(folder, 'data');

const logIn = (folder: string): string => join(folder, 'redis.log');

/** The log of earlier starts is set aside (`redis.log.1`) when it has grown beyond this many bytes. */
const largestLog = 5 * 1024 * 1024;
/** A server that has given no sign for so many milliseconds after its start has failed. */
const silenceMs = 15_000;
/** A server has so many milliseconds to write its data and end. */
const stopMs = 5_000;
/** An append-only file of fewer bytes is never written anew, and a stop waits at most so many milliseconds for it. */
const [smallFile, compactMs] = [16 * 1024 * 1024, 3_000];

/**
 * Starts a server in a process group of its own, so that Ctrl-C does not reach it, and resolves when it answers; `spawned`
 * gets the process before. Throws {@link RedisFailedError} when it ends or stays silent; nothing is left running then.
 */
export const startServer = async (
  settings: ServerSettings,
  spawned: (server: ProcessMark) => Promise<void>,
  signal: AbortSignal,
): Promise<ProcessMark> => {
  const { folder, binary, socket, env } = settings;
  await makeFolder(dataIn(folder), 0o700);
  const { size = 0 } = (await stat(logIn(folder)).catch(() => null)) ?? {};
  if (size > largestLog) await rename(logIn(folder), `${logIn(folder)}.1`);
  await rm(socket, { force: true });
  const log = await open(logIn(folder), 'a', 0o600);
  const { size: logStart } = await log.stat();
  const child = spawn(binary, serverArguments(settings), {
    cwd: dataIn(folder),
    env,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  let ended: string | null = null;
  child.once('error', (error) => {
    ended ??= error.message;
  });
  child.once('exit', (code, by) => {
    ended ??= by === null ? `exit code ${code}` : by;
  });
  child.unref();
  await log.close();
  const first = child.pid === undefined ? null : markProcess(child.pid);
  try {
    if (first !== null) await spawned(first);
    await untilReady(socket, { silenceMs, ended: () => ended, signal });
    // A starter script that does not exec has another number than the server.
    const { pid } = await queryServer({ path: socket }, silenceMs);
    const server = (pid === null ? null : markProcess(pid)) ?? first;
    if (server === null) throw new Error('it exited right after starting');
    return server;
  } catch (cause) {
    if (first !== null) await stopGroup(first);
    if (signal.aborted) throw cause;
    throw await failure(settings, logStart, cause);
  }
};

const serverArguments = ({ socket, folder, appendfsync }: ServerSettings): string[] => [
  ...['--port', '0', '--unixsocket', socket, '--unixsocketperm', '700'],
  ...['--dir', dataIn(folder), '--appendonly', 'yes', '--appendfsync', appendfsync, '--save', ''],
  ...['--maxmemory-policy', 'noeviction'],
];

/** Waits until a server answers. Throws when it has ended, or gave no sign for so long; reading its data is one. */
export const untilReady = async (
  socket: string,
  { silenceMs, ended, signal }: { silenceMs: number; ended: () => string | null; signal: AbortSignal },
): Promise<void> => {
  let lastSign = performance.now();
  for (let wait = 5; ; wait = Math.min(wait * 2, 100)) {
    signal.throwIfAborted();
    const state = existsSync(socket) ? await pingState(socket) : 'silent';
    const end = ended();
    if (end !== null) throw new Error(`it exited with ${end}`);
    if (state === 'ready') return;
    if (state === 'loading') lastSign = performance.now();
    if (performance.now() - lastSign > silenceMs) throw new Error(`it did not answer for ${silenceMs} ms`);
    await pause(wait);
  }
};

/** Asks a server to end (SIGTERM: it writes its data first) and kills it when it does not within `patienceMs`. */
export const stopServer = async (server: ProcessMark, patienceMs = stopMs): Promise<void> => {
  for (const by of ['SIGTERM', 'SIGKILL'] as const) {
    if (!isRunning(server)) return;
    try {
      process.kill(server.pid, by);
    } catch {
      return; // it ended between the two lines
    }
    const deadline = performance.now() + patienceMs;
    while (isRunning(server) && performance.now() < deadline) await pause(10);
  }
};

/** Lets a server write its append-only file anew, in one step, where it has outgrown the data that the next start reads. */
export const compactData = (socket: string): Promise<void> =>
  withConnection({ path: socket }, compactMs, async (client) => {
    const fact = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await client.info())?.[1] ?? 0);
    const size = await fact('aof_current_size');
    if (size < smallFile || size < (await fact('used_memory_dataset'))) return;
    const deadline = performance.now() + compactMs;
    await client.bgrewriteaof();
    while ((await fact('aof_rewrite_in_progress')) === 1 && performance.now() < deadline) await pause(20);
  });

/** Stops a server that is not ready, and what a starter script that does not exec leaves in its process group. */
const stopGroup = async (leader: ProcessMark): Promise<void> => {
  await stopServer(leader);
  try {
    process.kill(-leader.pid, 'SIGKILL');
  } catch {
    // nothing was left
  }
};

const failure = async (settings: ServerSettings, logStart: number, cause: unknown): Promise<RedisFailedError> => {
  const logFile = logIn(settings.folder);
  const bytes = await readFile(logFile).catch(() => Buffer.alloc(0));
  const end = bytes.toString('utf8', Math.max(logStart, bytes.length - 4096)).trim();
  const tail = end.split('\n').slice(-8).join('\n');
  const why = errorMessage(cause);
  const shownTail = tail === '' ? 'its log is empty' : `the end of its log (${logFile}):\n${tail}`;
  return new RedisFailedError(`the embedded Redis (${settings.binary}) did not start: ${why}; ${shownTail}`, {
    hint: hintFor(`${why}\n${tail}`, settings),
    cause,
  });
};

const hintFor = (words: string, { binary, folder }: ServerSettings): string => {
  const dataDir = dataIn(folder);
  if (/no space left|EDQUOT/i.test(words)) return `free space on the disk that holds ${dataDir}, then start again`;
  if (/RDB format version|unknown RDB|newer version/i.test(words)) {
    return `the data in ${dataDir} was written by a newer Redis: run that version again (REDIS_SERVER_BIN)`;
  }
  if (/append only file|\bAOF\b/i.test(words)) {
    const name = basename(binary).startsWith('valkey') ? 'valkey-check-aof' : 'redis-check-aof';
    const beside = join(dirname(binary), name);
    const checker = existsSync(beside) ? beside : name;
    const manifest = join(dataDir, 'appendonlydir', 'appendonly.aof.manifest');
    return `copy ${dataDir} to a safe place, then repair its append-only file: ${checker} --fix ${manifest}`;
  }
  return `see ${logIn(folder)} and fix what it reports, or set REDIS_SERVER_BIN or REDIS_URL`;
};
