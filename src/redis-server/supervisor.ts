// Keeps one Redis server alive for all processes that share a state folder.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage, RedisFailedError, SluiceError } from '../model/errors.ts';
import { pingState, queryServer, withConnection } from '../state/redis/connection.ts';
import { makeFolder } from '../util/files.ts';
import { userCache } from '../util/installation.ts';
import { LockFile } from '../util/lock-file.ts';
import { type ResolveOptions, resolveBinary } from './resolve.ts';
import {
  chooseSocket,
  isRunning,
  makeSocketFolder,
  markProcess,
  type PidFile,
  type ProcessMark,
  readPidFile,
  removePidFile,
  writePidFile,
} from './server-record.ts';
import { compactData, startServer, stopServer, untilReady } from './start.ts';

/** How the server is kept; `folder` holds everything that is the server's: data, log, locks, `redis.pid`. */
export interface SupervisorOptions extends ResolveOptions {
  /** `always` survives a power cut without loss, `everysec` may lose about its last second, on a slow disk by a kill too. */
  appendfsync: 'everysec' | 'always';
}

/** How often each process checks the server, milliseconds. */
const watchMs = 200;
/** Pauses before restarts after so many failures; 5 s after more. */
const backoffMs = [0, 250, 500, 1_000, 2_000];
/** A server that ran so long counts as sound: its next restart is immediate again. */
const soundMs = 10_000;
/** How long a server left to us may be silent: a running one, and one that may be about to answer. */
const graceMs = { running: 15_000, unknown: 2_000 };
/** How long another process may take to stop the server, and to fetch, start or restart it. */
const patienceMs = { stop: 30_000, start: 300_000 };

/** Those whose server this process uses: an exit that waits for nothing must not leave it behind. */
const inUse = new Set<RedisSupervisor>();
process.on('exit', () => {
  for (const supervisor of inUse) supervisor.abandon();
});

/**
 * One process's hold on the server of a folder. Whoever finds no server starts one, under a lock so that there are never
 * two on the same data; whoever leaves last stops it.
 */
export class RedisSupervisor {
  readonly #options: SupervisorOptions;
  readonly #closing = new AbortController();
  /** `users` is shared by all who use the server: whoever can have it alone is the last one. `starts` is held by who starts it. */
  #locks: { users: LockFile; starts: LockFile } | null = null;
  #record: PidFile = { server: null, socket: '', binary: '' };
  #watching: Promise<void> = Promise.resolve();
  #closed: Promise<void> | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Uses the server that runs, or starts one, always at the same socket. Holds nothing when it throws. */
  async open(): Promise<{ how: 'adopted' | 'started'; socket: string; binary: string }> {
    const { folder } = this.#options;
    try {
      await makeFolder(folder, 0o700);
      const users = new LockFile(join(folder, 'users.lock'));
      this.#locks = { users, starts: new LockFile(join(folder, 'start.lock')) };
      inUse.add(this);
      await this.#waitFor(() => users.tryShared(), patienceMs.stop, 'is stopping it');
      const how = await this.#ensure();
      this.#watching = this.#watch();
      return { how, ...this.#record };
    } catch (error) {
      this.#closeLocks();
      throw error instanceof SluiceError ? error : unusable(folder, error);
    }
  }

  /** Leaves; stops the server when no other process uses it. May be called again. */
  close(): Promise<void> {
    this.#closed ??= this.#leave();
    return this.#closed;
  }

  /** Asks the server to end, unless another process uses it, and waits for nothing. */
  abandon(): void {
    const { server } = this.#record;
    try {
      this.#locks?.users.release();
      const isLast = this.#locks?.users.tryExclusive() ?? false;
      if (isLast && server !== null && isRunning(server)) process.kill(server.pid, 'SIGTERM');
    } catch {
      // It ended meanwhile, or the folder is gone. What still runs is taken over by the next start.
    }
  }

  #ensure(): Promise<'adopted' | 'started'> {
    const attempt = async (): Promise<'adopted' | 'started' | false> => {
      const record = await readPidFile(this.#options.folder);
      if (record !== null && (await pingState(record.socket)) === 'ready' && (await this.#adopts(record)))
        return 'adopted';
      if (this.#locks?.starts.tryExclusive() !== true) return false;
      try {
        return await this.#startUnlessRunning();
      } finally {
        this.#locks.starts.release();
      }
    };
    return this.#waitFor(attempt, patienceMs.start, 'is starting it');
  }

  async #waitFor<T>(attempt: () => T | false | Promise<T | false>, longestMs: number, what: string): Promise<T> {
    const { folder } = this.#options;
    for (const deadline = performance.now() + longestMs; ; await pause(25)) {
      const result = await attempt();
      if (result !== false) return result;
      this.#closing.signal.throwIfAborted();
      if (performance.now() < deadline) continue;
      throw new RedisFailedError(`the embedded Redis of ${folder} does not answer; another process ${what}`, {
        hint: `see ${join(folder, 'redis.log')} and the output of that process, or stop it and try again`,
      });
    }
  }

  /** False where the server ended meanwhile. */
  async #adopts(record: PidFile): Promise<boolean> {
    try {
      await this.#adopt(record);
      return true;
    } catch (error) {
      if ((await pingState(record.socket)) === 'ready') throw error;
      return false;
    }
  }

  async #adopt(record: PidFile): Promise<void> {
    const reach = { path: record.socket };
    const { pid } = await queryServer(reach, graceMs.running); // a kill may come before it is recorded
    this.#record = { ...record, server: pid === null ? null : markProcess(pid) };
    // The strictest of all who use it.
    if (this.#options.appendfsync === 'always') {
      await withConnection(reach, graceMs.running, (client) => client.config('SET', 'appendfsync', 'always'));
    }
  }

  /** Under the lock: waits for a server that may be about to answer, stops one that does not, and starts another. */
  async #startUnlessRunning(): Promise<'adopted' | 'started'> {
    const { folder, log } = this.#options;
    const record = await readPidFile(folder);
    if (record !== null && (await this.#answers(record)) && (await this.#adopts(record))) return 'adopted';
    if (record?.server && isRunning(record.server)) {
      log.warn({ pid: record.server.pid }, 'stopping an embedded Redis that does not answer');
      await stopServer(record.server);
    }
    return this.#start(record?.socket ?? (await chooseSocket(folder)));
  }

  /** Waits for a server that was left to us; one that is reading its data has all the time it needs. */
  #answers({ server, socket }: PidFile): Promise<boolean> {
    const { signal } = this.#closing;
    const isGone = (): boolean => server !== null && !(isRunning(server) && existsSync(socket));
    const silenceMs = server === null ? graceMs.unknown : graceMs.running;
    return untilReady(socket, { silenceMs, ended: () => (isGone() ? 'nothing' : null), signal }).then(
      () => true,
      () => {
        signal.throwIfAborted();
        return false;
      },
    );
  }

  async #start(socket: string): Promise<'started'> {
    const { folder, env, log } = this.#options;
    // A server is fetched once for each user, into the state folder where the user has no cache.
    const cache = userCache(env);
    const place = cache === null ? folder : join(cache, 'redis');
    const { path: binary, name, version } = await resolveBinary({ ...this.#options, folder: place });
    await makeSocketFolder(socket, folder);
    const record = async (server: ProcessMark | null): Promise<void> => {
      this.#record = { server, socket, binary };
      await writePidFile(folder, this.#record);
    };
    await record(null); // a successor then knows that a server may be about to answer
    try {
      await record(await startServer({ ...this.#options, socket, binary }, record, this.#closing.signal));
    } catch (error) {
      if (this.#record.server === null || !isRunning(this.#record.server)) await removePidFile(folder);
      throw error;
    }
    const { pid } = this.#record.server ?? {};
    log.info({ folder, pid, binary, version: `${name} ${version}` }, 'started the embedded Redis');
    return 'started';
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    const { log } = this.#options;
    let failures = 0;
    let since = performance.now();
    while (!signal.aborted) {
      await pause(watchMs, undefined, { ref: false, signal }).catch(() => undefined);
      const gone = signal.aborted ? null : this.#whatIsGone();
      if (gone === null) continue;
      if (performance.now() - since > soundMs) failures = 0;
      log.error({ pid: this.#record.server?.pid }, `${gone}: restarting it`);
      await pause(backoffMs[failures] ?? 5_000, undefined, { signal }).catch(() => undefined);
      failures += 1; // taken back by a sound life; a server that dies at once is not restarted in a tight loop
      try {
        await this.#ensure();
        since = performance.now();
      } catch (error) {
        if (!signal.aborted) log.error({ err: error, attempt: failures }, 'could not restart the embedded Redis');
      }
    }
  }

  #whatIsGone(): string | null {
    const { server, socket } = this.#record;
    if (server === null || !isRunning(server)) return 'the embedded Redis ended';
    return existsSync(socket) ? null : 'the socket of the embedded Redis was removed';
  }

  async #leave(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    if (this.#locks === null) return;
    this.#locks.users.release();
    try {
      if (await isLast(this.#locks.users)) await this.#stop();
      else this.#options.log.info('left the embedded Redis running: another process uses it');
    } finally {
      this.#closeLocks();
    }
  }

  #closeLocks(): void {
    inUse.delete(this);
    this.#locks?.users.close();
    this.#locks?.starts.close();
  }

  async #stop(): Promise<void> {
    const { folder, log } = this.#options;
    const { socket } = this.#record;
    const recorded = (await readPidFile(folder))?.server ?? null;
    const server = recorded !== null && isRunning(recorded) ? recorded : this.#record.server;
    if (server !== null) {
      await compactData(socket).catch((error: unknown) => log.debug({ err: error }, 'Redis kept its file'));
      await stopServer(server);
    }
    await rm(socket, { force: true });
    await removePidFile(folder);
    log.info({ folder }, 'stopped the embedded Redis');
  }
}

/** True when no other process uses the server. Asked several times: two who leave at once can hide each other from both. */
const isLast = async (lock: LockFile): Promise<boolean> => {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if (lock.tryExclusive()) return true;
    await pause(5 + Math.random() * 20);
  }
  return false;
};

const unusable = (folder: string, cause: unknown): RedisFailedError => {
  const why = errorMessage(cause);
  const hint = /ENOSPC|EDQUOT/.test(why)
    ? 'free space on its disk, then start again'
    : 'choose a state folder (--state) on a local disk, where this user can write';
  return new RedisFailedError(`the embedded Redis cannot use its folder ${folder}: ${why}`, { hint, cause });
};
