// A world to break: a portal process, the switchboard before it, workers, a publisher and the embedded Redis.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { openSwitchboard, type Seen, type Switchboard } from '../../../src/embedded-portal/faults/switchboard.ts';
import { redisKeys } from '../../../src/model/redis-keys.ts';
import { openReader, type Reader } from '../../flow/support/reader.ts';
import { isAlive } from '../../support/is-alive.ts';
import { itemLogs } from '../../support/item-logs.ts';
import { type Sluice, startSluice } from '../../support/sluice-process.ts';

const publisher = { name: 'publisher', password: 'correct-horse-battery', roles: ['administrator'] };

/** Settings of jobs in the configuration; those of the product when left out. */
export interface JobSettings {
  lock: string;
  stalledCheck: string;
}

/** See the head of this file. */
export class World {
  readonly dir: string;
  readonly keys = redisKeys('sluice');
  readonly switchboard: Switchboard;
  /** Requests that came to the switchboard. */
  requests = 0;
  /** Those that change nodes, files or datastores and were answered by the portal. */
  writes: string[] = [];
  onRequest: () => void = () => undefined;
  portal: Sluice;
  readonly #portalUrl: string;

  private constructor(dir: string, portal: Sluice, url: string, switchboard: Switchboard) {
    this.dir = dir;
    this.portal = portal;
    this.#portalUrl = url;
    this.switchboard = switchboard;
  }

  /** Opens portal and switchboard; nothing else runs yet. */
  static async open(): Promise<World> {
    const dir = mkdtempSync(join(tmpdir(), 'slx-'));
    writeFileSync(join(dir, 'users.yaml'), JSON.stringify({ users: [publisher] }), { mode: 0o600 });
    const portal = startPortal(dir, '0');
    await portal.said('portal ready at ');
    const url = /http:\/\/[\d.:]+/.exec(portal.out())?.[0] ?? '';
    let world: World | null = null;
    const switchboard = await openSwitchboard({
      target: url,
      plan: null,
      onBegin: () => world?.count(),
      onEnd: (seen) => world?.note(seen),
    });
    world = new World(dir, portal, url, switchboard);
    return world;
  }

  /** Writes the configuration. */
  configure(jobs: JobSettings | null): void {
    mkdirSync(join(this.dir, 'config'), { recursive: true });
    writeFileSync(join(this.dir, 'config', 'password'), `${publisher.password}\n`);
    chmodSync(join(this.dir, 'config', 'password'), 0o600);
    const config = {
      portals: {
        local: {
          kind: 'remote',
          url: this.switchboard.url,
          username: publisher.name,
          password: { file: 'password' },
          requestsPerSecond: 0,
          concurrency: 6,
          importTimeout: '3s',
        },
      },
      http: { connect: '2s', headers: '3s', body: '3s', upload: '5s', readRetries: 2 },
      retry: { attempts: 12, backoff: '100ms', maxBackoff: '1s' },
      web: { port: 0 },
      ...(jobs === null ? {} : { jobs }),
    };
    writeFileSync(join(this.dir, 'config', 'sluice.yaml'), JSON.stringify(config));
  }

  /** Starts `sluice` on the world's state folder. */
  start(...args: string[]): Sluice {
    return startSluice([...args, '--state', 'state'], { cwd: this.dir });
  }

  /** Starts the portal again on its port and store. */
  async restartPortal(): Promise<void> {
    this.portal = startPortal(this.dir, new URL(this.#portalUrl).port);
    await this.portal.said('portal ready at ');
  }

  /** Reads the portal itself, not through the switchboard. */
  reader(): Promise<Reader> {
    return openReader(this.#portalUrl, publisher.name, publisher.password);
  }

  /** Process number of the embedded Redis server, or null when none is known. */
  redisPid(): number | null {
    const path = join(this.dir, 'state', 'redis', 'redis.pid');
    if (!existsSync(path)) return null;
    try {
      return (JSON.parse(readFileSync(path, 'utf8')) as { server: { pid: number } | null }).server?.pid ?? null;
    } catch {
      return null; // being written
    }
  }

  /** Runs `work` with a connection to the embedded Redis, which must run. */
  async withRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const path = join(this.dir, 'state', 'redis', 'redis.pid');
    const { socket } = JSON.parse(readFileSync(path, 'utf8')) as { socket: string };
    const redis = new Redis({ path: socket });
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** Logs of all jobs of closed runs, by job id. */
  jobLogs(): Promise<Map<string, string[]>> {
    return this.withRedis((redis) => itemLogs(redis, this.keys));
  }

  /** Ends everything and removes the folder. */
  async close(): Promise<void> {
    await this.portal.end('SIGKILL');
    await this.switchboard.close();
    const redis = this.redisPid();
    if (redis !== null && isAlive(redis)) process.kill(redis, 'SIGKILL');
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  count(): void {
    this.requests += 1;
    this.onRequest();
  }

  note({ method, path, status }: Seen): void {
    const isSession = /\/user\/|\/session\/token/.test(path);
    if (method !== 'GET' && !isSession && status !== null) this.writes.push(`${method} ${path} ${status}`);
  }
}

const startPortal = (dir: string, port: string): Sluice =>
  startSluice(['portal', '--port', port, '--data', 'store', '--users', 'users.yaml'], { cwd: dir });
