// Keeps one Redis server alive for all processes that share a state folder.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage, RedisFailedError, SluiceError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { pingState, queryServer, withConnection } from '../state/redis/connection.ts';
import { userCache } from '../util/installation.ts';
import { LockFile } from '../util/lock-file.ts';
import { makeFolder } from '../util/make-folder.ts';
import { resolveBinary } from './resolve.ts';
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
import { compactData, startServer, stopServer } from './start.ts';

/** Where and how the server is kept. */
export interface SupervisorOptions {
  /** Absolute path of the folder of everything that is the server's: data, log, locks, `redis.pid`. */
  folder: string;
  /** `always` survives a power cut without loss, `everysec` may lose about its last second, on a slow disk by a kill too. */
  appendfsync: 'everysec' | 'always';
  /** False forbids the download of a server from the archive of the distribution. */
  allowFetch: boolean;
  env: NodeJS.ProcessEnv;
  log: Log;
  /** Tells the user what a start waits for, once that takes noticeable time. */
  report?: ((line: string) => void) | undefined;
}

/** How often the owner checks the server, and the others the owner, milliseconds. */
const watchMs = 200;
/** Pauses before restarts after so many failures; the last one repeats. */
const backoffMs = [0, 250, 500, 1_000, 2_000, 5_000];
/** A server that ran so long counts as sound: its next restart is immediate again. */
const soundMs = 10_000;
/** How long a server left to us may be silent: a running one, and one that may be about to answer. */
const graceMs = { running: 15_000, unknown: 2_000 };
/** How long another owner's server may be silent; while it is fetched or reads its data there is more time. */
const patienceMs = { silent: 30_000, busy: 300_000 };

/**
 * One process's hold on the server of a folder. The owner starts, watches and restarts it; the others try to become the
 * owner all the time, so that one takes over when the owner ends. Whoever leaves last stops the server.
 */
export class RedisSupervisor {
  readonly #options: SupervisorOptions;
  readonly #closing = new AbortController();
  /** Shared by all who use the server; the owner leads them. */
  #lock: LockFile | null = null;
  #owns = false;
  #server: ProcessMark | null = null;
  #socket = '';
  #binary: string | null = null;
  #failures = 0;
  #startedAt = 0;
  #nextTryAt = 0;
  #watching: Promise<void> = Promise.resolve();
  #closed: Promise<void> | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Path of the server's unix socket; the same over restarts. */
  get socket(): string {
    return this.#socket;
  }

  /** Path of the server's program, where it is known. */
  get binary(): string | null {
    return this.#binary;
  }

  /**
   * Uses the server that runs for this folder, or starts one, and supervises it from then on. Throws
   * RedisMissingError and {@link RedisFailedError}; holds nothing then.
   */
  async open(): Promise<'adopted' | 'started'> {
    try {
      await makeFolder(this.#options.folder, 0o700);
      this.#lock = new LockFile(join(this.#options.folder, 'users.lock'));
      const how = await this.#enter(this.#lock);
      this.#watching = this.#watch(this.#lock);
      return how;
    } catch (error) {
      if (this.#owns) await this.#forgetDead();
      this.#lock?.close();
      throw error instanceof SluiceError ? error : unusable(this.#options.folder, error);
    }
  }

  /** Leaves; stops the server when no other process uses it. May be called again. */
  close(): Promise<void> {
    this.#closed ??= this.#leave();
    return this.#closed;
  }

  /** Becomes the owner, or waits for the owner's server to answer. */
  async #enter(lock: LockFile): Promise<'adopted' | 'started'> {
    const deadline = performance.now() + patienceMs.silent;
    while (!lock.tryShared()) {
      if (performance.now() > deadline) throw await this.#blocked('is stopping it');
      await pause(20);
    }
    const begun = performance.now();
    let lastSign = begun;
    while (!this.#tryOwn(lock)) {
      const record = await readPidFile(this.#options.folder);
      const state = record === null ? 'loading' : await pingState(record.socket);
      if (record !== null && state === 'ready') {
        this.#server = record.server;
        this.#socket = record.socket;
        this.#binary = record.binary;
        return 'adopted';
      }
      const now = performance.now();
      if (state === 'loading') lastSign = now;
      if (now - lastSign > patienceMs.silent || now - begun > patienceMs.busy) throw await this.#blocked('owns it');
      await pause(25);
    }
    return await this.#takeOver();
  }

  /** Becomes the owner if there is none; true when this process is the owner afterwards. */
  #tryOwn(lock: LockFile): boolean {
    this.#owns ||= lock.tryLead();
    return this.#owns;
  }

  /** As the owner: adopts the server that runs, or starts one. Never leaves two on the same data. */
  async #takeOver(): Promise<'adopted' | 'started'> {
    const { folder, log } = this.#options;
    const record = await readPidFile(folder);
    this.#socket = record?.socket ?? (await chooseSocket(folder));
    if (await this.#answers(record)) {
      await this.#adopt(record);
      return 'adopted';
    }
    if (record?.server && isRunning(record.server)) {
      log.warn({ pid: record.server.pid }, 'stopping an embedded Redis that does not answer');
      await stopServer(record.server);
    }
    await this.#start();
    return 'started';
  }

  /** Waits for a server that was left to us; one that is reading its data has all the time it needs. */
  async #answers(record: PidFile | null): Promise<boolean> {
    const patience = record === null ? 0 : record.server === null ? graceMs.unknown : graceMs.running;
    const deadline = performance.now() + patience;
    for (;;) {
      this.#closing.signal.throwIfAborted();
      const state = await pingState(this.#socket);
      if (state === 'ready') return true;
      if (record?.server && !isRunning(record.server)) return false;
      if (state === 'silent' && performance.now() >= deadline) return false;
      await pause(25);
    }
  }

  async #adopt(record: PidFile | null): Promise<void> {
    const { folder, appendfsync, log } = this.#options;
    const reach = { path: this.#socket };
    const { pid } = await queryServer(reach, graceMs.running);
    const recorded = record?.server && isRunning(record.server) ? record.server : null;
    this.#server = recorded ?? (pid === null ? null : markProcess(pid));
    this.#binary = record?.binary ?? null;
    this.#startedAt = performance.now();
    await withConnection(reach, graceMs.running, (client) => client.config('SET', 'appendfsync', appendfsync));
    await this.#record(this.#server);
    log.info({ folder, pid: this.#server?.pid }, 'adopted a running embedded Redis');
  }

  async #start(): Promise<void> {
    const { folder, allowFetch, appendfsync, env, log, report } = this.#options;
    const {
      path: binary,
      name,
      version,
    } = await resolveBinary({ folders: programFolders(env, folder), allowFetch, env, log, report });
    this.#binary = binary;
    await makeSocketFolder(this.#socket, folder);
    await this.#record(null); // a successor then knows that a server may be about to answer
    const settings = {
      binary,
      dataDir: join(folder, 'data'),
      socket: this.#socket,
      logFile: join(folder, 'redis.log'),
      appendfsync,
      env,
    };
    this.#server = await startServer(settings, (server) => this.#record(server), this.#closing.signal);
    await this.#record(this.#server);
    this.#startedAt = performance.now();
    log.info({ folder, pid: this.#server.pid, binary, version: `${name} ${version}` }, 'started the embedded Redis');
  }

  async #record(server: ProcessMark | null): Promise<void> {
    const owner = markProcess(process.pid) ?? { pid: process.pid, startedAt: '' };
    const content = { server, owner, socket: this.#socket, binary: this.#binary ?? '' };
    await writePidFile(this.#options.folder, content);
  }

  async #watch(lock: LockFile): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await pause(watchMs, undefined, { ref: false, signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#check(lock);
      } catch (error) {
        if (signal.aborted) return;
        this.#failures += 1;
        this.#delay();
        this.#options.log.error({ err: error, attempt: this.#failures }, 'could not restart the embedded Redis');
      }
    }
  }

  /** One round of the watch. */
  async #check(lock: LockFile): Promise<void> {
    const { log } = this.#options;
    if (!this.#owns) {
      if (!this.#tryOwn(lock)) return;
      log.info('took over the embedded Redis: its former owner is gone');
      await this.#takeOver();
      return;
    }
    if (this.#server !== null && isRunning(this.#server)) {
      if (existsSync(this.#socket)) return;
      log.warn({ socket: this.#socket }, 'the socket of the embedded Redis was removed: restarting it');
      await stopServer(this.#server);
    }
    if (this.#server !== null) {
      log.error({ pid: this.#server.pid }, 'the embedded Redis ended: restarting it');
      this.#server = null;
      if (performance.now() - this.#startedAt > soundMs) this.#failures = 0;
      this.#delay();
      this.#failures += 1; // taken back by a sound life; a server that dies at once is not restarted in a tight loop
    }
    if (performance.now() >= this.#nextTryAt) await this.#takeOver();
  }

  #delay(): void {
    this.#nextTryAt = performance.now() + (backoffMs[Math.min(this.#failures, backoffMs.length - 1)] ?? 0);
  }

  async #leave(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    const lock = this.#lock;
    if (lock === null) return;
    lock.release();
    try {
      if (await isLast(lock)) await this.#stop();
      else if (this.#owns) this.#options.log.info('left the embedded Redis running: another process uses it');
    } finally {
      lock.close();
    }
  }

  async #stop(): Promise<void> {
    const { folder, log } = this.#options;
    const server = (await readPidFile(folder))?.server ?? this.#server;
    if (server !== null) {
      await compactData(this.#socket).catch((error: unknown) => log.debug({ err: error }, 'Redis kept its file'));
      await stopServer(server);
    }
    await rm(this.#socket, { force: true });
    await removePidFile(folder);
    log.info({ folder }, 'stopped the embedded Redis');
  }

  /** Removes `redis.pid` after a start that failed. */
  async #forgetDead(): Promise<void> {
    const { folder } = this.#options;
    const server = (await readPidFile(folder))?.server ?? null;
    if (server === null || !isRunning(server)) await removePidFile(folder);
  }

  async #blocked(what: string): Promise<RedisFailedError> {
    const { folder } = this.#options;
    const record = await readPidFile(folder);
    const who = record === null ? 'another process' : `process ${record.owner.pid}`;
    return new RedisFailedError(`the embedded Redis of ${folder} does not answer; ${who} ${what}`, {
      hint: `see ${join(folder, 'redis.log')} and the output of that process, or stop it and try again`,
    });
  }
}

/**
 * True when no other process uses the server: none can join then before the lock is closed. Asks several times, because two
 * who leave at the same moment can hide each other from both.
 */
const isLast = async (lock: LockFile): Promise<boolean> => {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if (lock.tryExclusive()) return true;
    await pause(5 + Math.random() * 20);
  }
  return false;
};

/** A server is fetched once for each user; earlier releases fetched one for each state folder. */
const programFolders = (env: NodeJS.ProcessEnv, folder: string): [string, ...string[]] => {
  const cache = userCache(env);
  return cache === null ? [folder] : [join(cache, 'redis'), folder];
};

const unusable = (folder: string, cause: unknown): RedisFailedError => {
  const why = errorMessage(cause);
  const hint = /ENOSPC|EDQUOT/.test(why)
    ? 'free space on its disk, then start again'
    : 'choose a state folder (--state) on a local disk, where this user can write';
  return new RedisFailedError(`the embedded Redis cannot use its folder ${folder}: ${why}`, { hint, cause });
};
