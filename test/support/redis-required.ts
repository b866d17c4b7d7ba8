// Makes sure, before any test runs, that a Redis server can be had; without one `npm test` fails with the product's error.
// Workers, and processes that tests start, keep what Node compiled from one to the next.
import { existsSync, readdirSync, rmSync, statfsSync } from 'node:fs';
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

const mostCompiled = 20_000;

const filesBelow = (folder: string): number =>
  existsSync(folder) ? readdirSync(folder, { recursive: true }).length : 0;

/** Vitest's global set-up: passes the server's path to all tests as `REDIS_SERVER_BIN`. One fetched is kept for next time. */
export const setup = async (): Promise<void> => {
  if (process.env.TMPDIR === undefined && isRoomy(memory)) process.env.TMPDIR = memory.path;
  const compiled = join(caches, 'sluice-compiled');
  // Test files have another name in each run, and nobody else removes what was compiled of them.
  if (filesBelow(compiled) > mostCompiled) rmSync(compiled, { recursive: true, force: true });
  process.env.NODE_COMPILE_CACHE ??= compiled;
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
