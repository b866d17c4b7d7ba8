// One Redis for all tests that only need some Redis: each place has a database of its own in it. Starting one for each
// place would take longer than most of what they do.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from './wait-until.ts';

/** Vitest's global set-up: passes the folder of the server and of the claimed databases to all tests. */
export const setup = async (): Promise<() => Promise<void>> => {
  const dir = mkdtempSync(join(tmpdir(), 'slr-'));
  const settings = ['--port', '0', '--unixsocket', join(dir, 's'), '--databases', '10000', '--dir', dir];
  // What would change it for everybody is for servers of one's own.
  for (const command of ['CONFIG', 'FLUSHALL', 'SHUTDOWN', 'DEBUG']) settings.push('--rename-command', command, '');
  const server = spawn(
    process.env.REDIS_SERVER_BIN ?? '',
    [...settings, '--save', '', '--maxmemory-policy', 'noeviction'],
    { stdio: 'ignore' },
  );
  await once(server, 'spawn');
  process.once('exit', () => server.kill('SIGKILL'));
  await waitUntil('the shared Redis to listen', () => server.exitCode !== null || existsSync(join(dir, 's')));
  process.env.TEST_REDIS_DIR = dir;
  return async () => {
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
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
