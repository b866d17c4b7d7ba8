// One Redis for all tests that only need some Redis: each place has a database of its own in it. Starting one for each
// place would take longer than most of what they do.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killRedis, redisArguments, spawnRedis } from './redis-process.ts';
import { waitUntil } from './wait-until.ts';

/** Vitest's global set-up: passes the folder of the server and of the claimed databases to all tests. */
export const setup = async (): Promise<() => Promise<void>> => {
  const dir = mkdtempSync(join(tmpdir(), 'slr-'));
  const socket = join(dir, 's');
  const settings = { port: 0, unixsocket: socket, databases: 10_000, dir, save: '', 'maxmemory-policy': 'noeviction' };
  // What would change it for everybody is for servers of one's own.
  const refused = ['CONFIG', 'FLUSHALL', 'SHUTDOWN', 'DEBUG'].flatMap((command) => ['--rename-command', command, '']);
  const server = spawnRedis([...redisArguments(settings), ...refused]);
  await waitUntil('the shared Redis to listen', () => server.exitCode !== null || existsSync(socket));
  if (server.exitCode !== null) throw new Error(`the shared Redis ended with code ${server.exitCode}`);
  process.env.TEST_REDIS_DIR = dir;
  return async () => {
    await killRedis(server);
    rmSync(dir, { recursive: true, force: true });
  };
};

/** An empty database: its address, and how ioredis connects to it. */
export interface Database {
  url: string;
  options: { path: string; db: number };
}

let last = -1;

/** A database of the shared server that nobody else gets. */
export const claimDatabase = (): Database => {
  const dir = process.env.TEST_REDIS_DIR;
  if (dir === undefined) throw new Error('TEST_REDIS_DIR is not set: run the tests through vitest');
  for (;;) {
    last += 1;
    try {
      mkdirSync(join(dir, `db-${last}`));
      const path = join(dir, 's');
      return { url: `unix://${path}?db=${last}`, options: { path, db: last } };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
};
