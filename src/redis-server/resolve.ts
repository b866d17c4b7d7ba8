// Finds the Redis server program that the embedded default runs.
import { join, resolve } from 'node:path';
import { RedisMissingError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { isNewEnough, oldestRedis, parseVersionLine, type ServerVersion } from '../state/redis/connection.ts';
import { debianObstacle, fetchFromDebian, findOnPath, runTool } from './fetch-debian.ts';

/** A server program that is new enough. */
type RedisBinary = ServerVersion & { path: string };

export interface ResolveOptions {
  /** Absolute path of the folder that a server is fetched into (`<folder>/server`). */
  folder: string;
  /** False forbids the download of a server from the archive of the distribution; what was unpacked earlier is still used. */
  allowFetch: boolean;
  env: NodeJS.ProcessEnv;
  log: Log;
  /** Tells the user what a start waits for: the download, or noticeable time. */
  report?: ((line: string) => void) | undefined;
}

/**
 * The first usable server, in this order: `REDIS_SERVER_BIN`; `redis-server`, then `valkey-server` on PATH; one
 * unpacked earlier; one fetched from the archive of a Debian-like host. Throws {@link RedisMissingError}, which names
 * everything tried and what was wrong with it.
 */
export const resolveBinary = async (options: ResolveOptions): Promise<RedisBinary> => {
  const tried: string[] = [];
  for await (const { path, what = path } of candidates(options, tried)) {
    const verdict = await judge(path, options.env);
    if (typeof verdict !== 'string') return verdict;
    tried.push(`${what}: ${verdict}`);
  }
  throw new RedisMissingError(
    [`no Redis server (${oldestRedis} or newer) was found; tried:`, ...tried.map((line) => `  - ${line}`)].join('\n'),
    { hint: `${howToInstall()}, or set REDIS_URL to a running Redis, or REDIS_SERVER_BIN to a redis-server program` },
  );
};

/** The programs to try, in their order; goes on where one cannot be used. Notes in `tried` where there is none. */
async function* candidates(
  { folder, allowFetch, env, log, report }: ResolveOptions,
  tried: string[],
): AsyncGenerator<{ path: string; what?: string }> {
  const given = env.REDIS_SERVER_BIN;
  if (given) {
    yield { path: resolve(given), what: `REDIS_SERVER_BIN (${given})` };
    log.warn({ path: given, reason: tried.at(-1) }, 'ignored REDIS_SERVER_BIN');
  } else tried.push('REDIS_SERVER_BIN: not set');
  for (const name of ['redis-server', 'valkey-server']) {
    const paths = await findOnPath(name, env);
    if (paths.length === 0) tried.push(`${name}: not on PATH`);
    for (const path of paths) yield { path };
  }
  yield { path: join(folder, 'server', 'redis-server'), what: `unpacked earlier in ${folder}` };
  const obstacle = allowFetch ? await debianObstacle(env) : 'disabled (redis.fetch: false)';
  if (obstacle !== null) return void tried.push(`fetching one: ${obstacle}`);
  log.info({ folder }, 'no redis-server on this host: fetching one from the Debian archive');
  report?.(`no redis-server on this host: fetching one from the Debian archive into ${folder}, once`);
  const fetched = await fetchFromDebian({ folder, env });
  if ('failure' in fetched) return void tried.push(`fetching one with apt-get: ${fetched.failure}`);
  log.info({ path: fetched.path }, 'fetched a Redis server');
  yield { path: fetched.path, what: 'fetching one with apt-get' };
}

const howToInstall = (): string => {
  if (process.platform === 'darwin') return 'install Redis with `brew install redis`';
  if (process.platform === 'win32')
    return 'run sluice in WSL or in Docker, because Redis does not run on Windows itself';
  return 'install the package redis-server (valkey-server, redis) of your distribution';
};

const judge = async (path: string, env: NodeJS.ProcessEnv): Promise<RedisBinary | string> => {
  const { code, output } = await runTool(path, ['--version'], { env, timeoutMs: 10_000 });
  const version = parseVersionLine(output);
  if (version !== null && isNewEnough(version)) return { path, ...version };
  if (version !== null) return `is ${version.name} ${version.version}, older than ${oldestRedis}`;
  if (code === null && output.includes('ENOENT')) return 'does not exist';
  return `does not report its version (${output.trim().split('\n').at(-1)?.slice(0, 200) ?? ''})`;
};
