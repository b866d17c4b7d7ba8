// Finds the Redis server program that the embedded default runs, or unpacks one from the archive of a Debian-like host, as any user.
import { execFile } from 'node:child_process';
import { constants, globSync } from 'node:fs';
import { access, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { RedisMissingError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { isNewEnough, oldestRedis, parseVersionLine, type ServerVersion } from '../state/redis/connection.ts';
import { isErrno, makeFolder } from '../util/files.ts';

/** A server program that is new enough. */
type RedisBinary = ServerVersion & { path: string };

export interface ResolveOptions {
  /** Absolute path of the folder that a server is fetched into (`<folder>/server`). */
  folder: string;
  /** False forbids the download of a server from the archive of the distribution; what was unpacked earlier is still used. */
  fetch: boolean;
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
  { folder, fetch: mayFetch, env, log, report }: ResolveOptions,
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
  const obstacle = mayFetch ? await debianObstacle(env) : 'disabled (redis.fetch: false)';
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

/** Where to fetch into (the server ends in `<folder>/server/redis-server`), and the environment of apt-get and dpkg. */
type FetchOptions = { folder: string; env: NodeJS.ProcessEnv };

/** It holds the server: its checkers and the server are one program that looks at the name it is run by. */
const serverPackage = 'redis-tools';

/** Why nothing can be fetched on this host; null where it can. */
export const debianObstacle = async (env: NodeJS.ProcessEnv): Promise<string | null> => {
  for (const name of ['apt-get', 'dpkg'])
    if ((await findOnPath(name, env)).length === 0) return `not a Debian-like host (${name} is not on PATH)`;
  return null;
};

/**
 * Downloads and unpacks the server, and the libraries that this host lacks, inside `folder`; apt checks the signatures of
 * the archive as ever. Resolves with the path of the program, or with what went wrong.
 */
export const fetchFromDebian = async (options: FetchOptions): Promise<{ path: string } | { failure: string }> => {
  await makeFolder(options.folder, 0o700);
  const work = await mkdtemp(join(options.folder, 'fetch-'));
  try {
    const apt = await privateApt(work, options);
    const updated = await apt(['update']);
    const failure = await download(work, apt, options);
    if (failure !== null) return { failure: updated.code === 0 ? failure : `${failure}; ${lastWords(updated)}` };
    await install(join(work, 'server'));
    return { path: await putInPlace(join(work, 'server'), options) };
  } finally {
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }
};

type Apt = (args: string[]) => Promise<ToolResult>;

/** An apt-get that writes below `work` only; hooks of the host are cleared, its sources, proxies and installed packages kept. */
const privateApt = async (work: string, { env }: FetchOptions): Promise<Apt> => {
  for (const name of ['lists/partial', 'archives/partial', 'log', 'server/root']) await makeFolder(join(work, name));
  // As root, apt would download as its own user, who cannot enter a private folder.
  const settings = `
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State::lists "${work}/lists";
Dir::State::extended_states "${work}/extended_states";
Dir::Cache "${work}";
Dir::Cache::archives "${work}/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "${work}/log";
Debug::NoLocking "true";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
`;
  await writeFile(join(work, 'apt.conf'), settings);
  return (args) =>
    runTool('apt-get', ['-q', '-c', join(work, 'apt.conf'), ...args], {
      cwd: work,
      env: { ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs: 180_000,
    });
};

/** Downloads the packages and unpacks them below `server/root`; null, or what failed. */
const download = async (work: string, apt: Apt, { env }: FetchOptions): Promise<string | null> => {
  const options = ['--download-only', '--reinstall', '--no-install-recommends', '--yes'];
  const got = await apt(['install', ...options, serverPackage]);
  const debs = (await readdir(join(work, 'archives'))).filter((name) => name.endsWith('.deb'));
  if (got.code !== 0 || debs.length === 0) return `apt-get install ${serverPackage}: ${lastWords(got)}`;
  for (const file of debs) {
    const paths = [join(work, 'archives', file), join(work, 'server/root')];
    // An empty entry of PATH is the folder it runs in, which is ours.
    const unpacked = await runTool('dpkg', ['-x', ...paths], { cwd: work, env, timeoutMs: 60_000 });
    if (unpacked.code !== 0) return `dpkg -x ${file}: ${lastWords(unpacked)}`;
  }
  return null;
};

/** Puts starters beside the unpacked tree, so that the server is one program that needs no environment. */
const install = async (server: string): Promise<void> => {
  await symlink('redis-check-rdb', join(server, 'root/usr/bin/redis-server'));
  const folders = globSync('{usr/,}lib/*', { cwd: join(server, 'root') }); // such as usr/lib/x86_64-linux-gnu
  const libraries = folders.map((folder) => `$here/root/${folder}`).join(':');
  for (const name of ['redis-server', 'redis-check-aof']) {
    const starter = `#!/bin/sh
# Runs the unpacked program with the libraries unpacked beside it.
# No subshell and no other program, so that one who ends this process ends all of it.
here="\${0%/*}"
LD_LIBRARY_PATH="${libraries}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "$here/root/usr/bin/${name}" "$@"
`;
    await writeFile(join(server, name), starter, { mode: 0o755 });
  }
};

/** Moves the unpacked server to its place. One that another process put there meanwhile stays, since it may be running. */
const putInPlace = async (server: string, { folder, env }: FetchOptions): Promise<string> => {
  const target = join(folder, 'server');
  const program = join(target, 'redis-server');
  try {
    await rename(server, target); // a folder that is not empty is never replaced
  } catch (error) {
    if (!isErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    if ((await runTool(program, ['--version'], { env, timeoutMs: 10_000 })).code === 0) return program;
    await rename(target, `${server}-broken`);
    await rename(server, target);
  }
  return program;
};

/** The lines in which apt and dpkg say what went wrong, or else their last line. */
const lastWords = ({ output }: ToolResult): string => {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => /^(E|dpkg.*error):/i.test(line));
  return (errors.length > 0 ? errors : lines.slice(-1)).slice(0, 3).join(' ').slice(0, 400);
};

/** What came of a program. `code` is null when it could not be started or was killed; `output` is stdout, then stderr. */
type ToolResult = { code: number | null; output: string };

/** Runs a program without a shell and collects what it prints; killed after `timeoutMs`; never rejects. */
export const runTool = (
  file: string,
  args: string[],
  { timeoutMs, ...options }: { env: NodeJS.ProcessEnv; cwd?: string; timeoutMs: number },
): Promise<ToolResult> =>
  new Promise((resolve) => {
    const settings = { ...options, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 * 1024 * 1024 } as const;
    execFile(file, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, output: `${stdout}${stderr}` });
      const code = typeof error.code === 'number' ? error.code : null;
      const why = error.killed === true ? `ended after ${timeoutMs} ms without a result` : error.message;
      resolve({ code, output: `${stdout}${stderr}` || why });
    });
  });

/** Every executable file of that name on the `PATH` of `env`, in its order; empty entries are passed over. */
export const findOnPath = async (name: string, env: NodeJS.ProcessEnv): Promise<string[]> => {
  const folders = new Set((env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''));
  const paths = [...folders].map((folder) => join(folder, name));
  const isProgram = async (path: string): Promise<boolean> =>
    (await Promise.all([stat(path), access(path, constants.X_OK)]).catch(() => null))?.[0].isFile() === true;
  const found = await Promise.all(paths.map(isProgram));
  return paths.filter((_, index) => found[index]);
};
