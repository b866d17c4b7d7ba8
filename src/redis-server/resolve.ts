// Finds the Redis server program that the embedded default runs.
import { join, resolve } from 'node:path';
import { RedisMissingError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { isNewEnough, oldestRedis, parseVersionLine, type ServerVersion } from '../state/redis/connection.ts';
import { debianRoute, fetchFromDebian, findOnPath, runTool } from './fetch-debian.ts';

/** A server program that is new enough. */
interface RedisBinary extends ServerVersion {
  path: string;
}

/** Where to look. */
export interface ResolveOptions {
  /** Folder that a server is fetched into (`<folder>/server`). */
  folder: string;
  /** False forbids the download; what was unpacked earlier is still used. */
  allowFetch: boolean;
  env: NodeJS.ProcessEnv;
  log: Log;
  /** Tells the user that a server is being fetched. */
  report?: ((line: string) => void) | undefined;
}

/**
 * The first usable server, in this order: `REDIS_SERVER_BIN`; `redis-server`, then `valkey-server` on PATH; one
 * unpacked earlier; one fetched from the archive of a Debian-like host. Throws {@link RedisMissingError}, which names
 * everything tried and what was wrong with it.
 */
export const resolveBinary = async (options: ResolveOptions): Promise<RedisBinary> => {
  const tried: string[] = [];
  const found =
    (await fromVariable(options, tried)) ??
    (await fromPath('redis-server', options, tried)) ??
    (await fromPath('valkey-server', options, tried)) ??
    (await unpackedEarlier(options, tried)) ??
    (await fetched(options, tried));
  if (found !== null) return found;
  throw new RedisMissingError(
    [`no Redis server (${oldestRedis} or newer) was found; tried:`, ...tried.map((line) => `  - ${line}`)].join('\n'),
    { hint: `${howToInstall()}, or set REDIS_URL to a running Redis, or REDIS_SERVER_BIN to a redis-server program` },
  );
};

const howToInstall = (): string => {
  if (process.platform === 'darwin') return 'install Redis with `brew install redis`';
  if (process.platform === 'win32')
    return 'run sluice in WSL or in Docker, because Redis does not run on Windows itself';
  return 'install the package redis-server (valkey-server, redis) of your distribution';
};

const fromVariable = async ({ env, log }: ResolveOptions, tried: string[]): Promise<RedisBinary | null> => {
  const path = env.REDIS_SERVER_BIN;
  if (path === undefined || path === '') {
    tried.push('REDIS_SERVER_BIN: not set');
    return null;
  }
  const verdict = await judge(resolve(path), env);
  if (typeof verdict !== 'string') return verdict;
  log.warn({ path, reason: verdict }, 'ignored REDIS_SERVER_BIN');
  tried.push(`REDIS_SERVER_BIN (${path}): ${verdict}`);
  return null;
};

const fromPath = async (name: string, { env }: ResolveOptions, tried: string[]): Promise<RedisBinary | null> => {
  const paths = await findOnPath(name, env);
  if (paths.length === 0) tried.push(`${name}: not on PATH`);
  for (const path of paths) {
    const verdict = await judge(path, env);
    if (typeof verdict !== 'string') return verdict;
    tried.push(`${path}: ${verdict}`);
  }
  return null;
};

const unpackedEarlier = async ({ folder, env }: ResolveOptions, tried: string[]): Promise<RedisBinary | null> => {
  const verdict = await judge(join(folder, 'server', 'redis-server'), env);
  if (typeof verdict !== 'string') return verdict;
  tried.push(`unpacked earlier in ${folder}: ${verdict}`);
  return null;
};

const fetched = async (
  { folder, allowFetch, env, log, report }: ResolveOptions,
  tried: string[],
): Promise<RedisBinary | null> => {
  if (!allowFetch) {
    tried.push('fetching one: disabled (redis.fetch: false)');
    return null;
  }
  const route = await debianRoute(env);
  if (typeof route === 'string') {
    tried.push(`fetching one: ${route}`);
    return null;
  }
  log.info({ folder }, 'no redis-server on this host: fetching one from the Debian archive');
  report?.(`no redis-server on this host: fetching one from the Debian archive into ${folder}, once`);
  const outcome = await fetchFromDebian({ folder, env, tools: route });
  const verdict = 'failure' in outcome ? outcome.failure : await judge(outcome.path, env);
  if (typeof verdict !== 'string') {
    log.info({ path: verdict.path, version: verdict.version }, 'fetched a Redis server');
    return verdict;
  }
  tried.push(`fetching one with apt-get: ${verdict}`);
  return null;
};

/** The binary when it can be used, else what is wrong with it. */
const judge = async (path: string, env: NodeJS.ProcessEnv): Promise<RedisBinary | string> => {
  const { code, output } = await runTool(path, ['--version'], { env, timeoutMs: 10_000 });
  const version = parseVersionLine(output);
  if (version !== null && isNewEnough(version)) return { path, ...version };
  if (version !== null) return `is ${version.name} ${version.version}, older than ${oldestRedis}`;
  if (code === null && output.includes('ENOENT')) return 'does not exist';
  return `does not report its version (${output.trim().split('\n').at(-1)?.slice(0, 200) ?? ''})`;
};
