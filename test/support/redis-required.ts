// Makes sure, before any test runs, that a Redis server can be had; without one `npm test` fails with the product's error.
// Processes that tests start keep what Node compiled from one to the next.
import { existsSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../src/model/log.ts';
import { resolveBinary } from '../../src/redis-server/resolve.ts';

const caches = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules/.cache');

/** Folders of tests are in memory where there is much of it. */
const memory = { path: '/dev/shm', leastBytes: 8 * 2 ** 30 };

const isRoomy = ({ path, leastBytes }: typeof memory): boolean => {
  if (!existsSync(path)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize >= leastBytes;
};

/** Vitest's global set-up: passes the server's path to all tests as `REDIS_SERVER_BIN`. One fetched is kept for next time. */
export const setup = async (): Promise<void> => {
  if (process.env.TMPDIR === undefined && isRoomy(memory)) process.env.TMPDIR = memory.path;
  process.env.NODE_COMPILE_CACHE ??= join(caches, 'sluice-compiled');
  const log = createLog({ level: 'info', destination: process.stderr });
  try {
    process.env.REDIS_SERVER_BIN = (
      await resolveBinary({ folder: join(caches, 'sluice-redis'), fetch: true, env: process.env, log })
    ).path;
  } catch (error) {
    const hint = error instanceof Error && 'hint' in error ? String(error.hint) : '';
    if (error instanceof Error && hint !== '') error.message = `${error.message}\nhint: ${hint}`;
    throw error;
  }
};
