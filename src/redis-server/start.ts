// Starts and stops the server process of the embedded Redis.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage, RedisFailedError } from '../model/errors.ts';
import { pingState, queryServer, withConnection } from '../state/redis/connection.ts';
import { makeFolder } from '../util/make-folder.ts';
import { isRunning, markProcess, type ProcessMark } from './server-record.ts';

/** How the server is run. */
interface ServerSettings {
  binary: string;
  /** Where the append-only file lies. */
  dataDir: string;
  socket: string;
  logFile: string;
  appendfsync: 'everysec' | 'always';
  env: NodeJS.ProcessEnv;
}

/** The log of earlier starts is set aside (`redis.log.1`) when it has grown beyond this many bytes. */
const largestLog = 5 * 1024 * 1024;
/** A server that has given no sign for so many milliseconds after its start has failed. */
const silenceMs = 15_000;
/** A server has so many milliseconds to write its data and end. */
const stopMs = 5_000;
/** An append-only file of fewer bytes is never written anew, and a stop waits at most so many milliseconds for it. */
const [smallFile, compactMs] = [16 * 1024 * 1024, 3_000];

/**
 * Starts a server in a process group of its own, so that Ctrl-C does not reach it, and resolves when it answers PING;
 * reading its data may take as long as it needs. `spawned` gets the process before it answers. Throws
 * {@link RedisFailedError} with the tail of the server's log when it ends or stays silent; nothing is left running then.
 */
export const startServer = async (
  settings: ServerSettings,
  spawned: (server: ProcessMark) => Promise<void>,
  signal: AbortSignal,
): Promise<ProcessMark> => {
  await makeFolder(settings.dataDir, 0o700);
  await setLogAside(settings.logFile);
  await rm(settings.socket, { force: true });
  const log = await open(settings.logFile, 'a', 0o600);
  const { size: logStart } = await log.stat();
  const child = spawn(settings.binary, serverArguments(settings), {
    cwd: settings.dataDir,
    env: settings.env,
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
    await untilReady(settings.socket, () => ended, signal);
    // A starter script that does not exec has another number than the server.
    const { pid } = await queryServer({ path: settings.socket }, silenceMs);
    const server = (pid === null ? null : markProcess(pid)) ?? first;
    if (server === null) throw new Error('it exited right after starting');
    return server;
  } catch (cause) {
    if (first !== null) await stopGroup(first);
    if (signal.aborted) throw cause;
    throw await failure(settings, logStart, cause);
  }
};

const serverArguments = ({ socket, dataDir, appendfsync }: ServerSettings): string[] => [
  ...['--port', '0', '--unixsocket', socket, '--unixsocketperm', '700'],
  ...['--dir', dataDir, '--appendonly', 'yes', '--appendfsync', appendfsync, '--save', ''],
  ...['--maxmemory-policy', 'noeviction'],
];

const untilReady = async (socket: string, ended: () => string | null, signal: AbortSignal): Promise<void> => {
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

/**
 * Lets a server write its append-only file anew where it has outgrown the data, so that the next start reads no more than
 * that. The new file takes its place in one step: whatever ends the server before, the old one stays.
 */
export const compactData = async (socket: string): Promise<void> => {
  const deadline = performance.now() + compactMs;
  await withConnection({ path: socket }, compactMs, async (client) => {
    const facts = async (): Promise<Map<string, number>> =>
      new Map(
        (await client.info()).split('\r\n').map((line): [string, number] => {
          const [name = '', value] = line.split(':', 2);
          return [name, Number(value)];
        }),
      );
    const before = await facts();
    const size = before.get('aof_current_size') ?? 0;
    if (size < smallFile || size < (before.get('used_memory_dataset') ?? 0)) return;
    await client.bgrewriteaof();
    while ((await facts()).get('aof_rewrite_in_progress') === 1 && performance.now() < deadline) await pause(20);
  });
};

/** Stops a server that is not ready, and what a starter script that does not exec leaves in its process group. */
const stopGroup = async (leader: ProcessMark): Promise<void> => {
  await stopServer(leader);
  try {
    process.kill(-leader.pid, 'SIGKILL');
  } catch {
    // nothing was left
  }
};

const setLogAside = async (logFile: string): Promise<void> => {
  const size = await stat(logFile).then(
    (facts) => facts.size,
    () => 0,
  );
  if (size > largestLog) await rename(logFile, `${logFile}.1`);
};

const failure = async (settings: ServerSettings, logStart: number, cause: unknown): Promise<RedisFailedError> => {
  const tail = await readTail(settings.logFile, logStart);
  const why = errorMessage(cause);
  const shownTail = tail === '' ? 'its log is empty' : `the end of its log (${settings.logFile}):\n${tail}`;
  return new RedisFailedError(`the embedded Redis (${settings.binary}) did not start: ${why}; ${shownTail}`, {
    hint: hintFor(`${why}\n${tail}`, settings),
    cause,
  });
};

const hintFor = (words: string, { binary, dataDir, logFile }: ServerSettings): string => {
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
  return `see ${logFile} and fix what it reports, or set REDIS_SERVER_BIN or REDIS_URL`;
};

/** The last lines that were written after `from`. */
const readTail = async (path: string, from: number): Promise<string> => {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return '';
  try {
    const { size } = await file.stat();
    const start = Math.max(from, size - 4096);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(size - start, 0)), { position: start });
    return buffer.subarray(0, bytesRead).toString('utf8').trim().split('\n').slice(-8).join('\n');
  } finally {
    await file.close();
  }
};
