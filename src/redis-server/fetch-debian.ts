// Unpacks a Redis server from the package archive of a Debian-like host, as any user, touching nothing of the system.

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { isErrno } from '../util/durable.ts';
import { makeFolder } from '../util/make-folder.ts';

/** The programs of the host that the route needs. */
interface DebianTools {
  aptGet: string;
  dpkg: string;
}

/** Where to fetch into (the server ends in `<folder>/server/redis-server`), and with what. */
interface FetchOptions {
  folder: string;
  env: NodeJS.ProcessEnv;
  tools: DebianTools;
}

/** One fetch: its own folder, removed in the end, and an apt-get whose every folder lies in it. */
interface Fetch extends FetchOptions {
  work: string;
  /** The unpacked packages. */
  root: string;
  apt: (args: string[], cwd: string) => Promise<ToolResult>;
}

/** `redis-tools` holds the server: its checkers and the server are one program that looks at the name it is run by. */
const packages = ['redis-tools', 'libjemalloc2', 'liblzf1'];

/** The tools of this host, or the sentence that says why the route is not open here. */
export const debianRoute = async (env: NodeJS.ProcessEnv): Promise<DebianTools | string> => {
  const [aptGet] = await findOnPath('apt-get', env);
  const [dpkg] = await findOnPath('dpkg', env);
  if (aptGet !== undefined && dpkg !== undefined) return { aptGet, dpkg };
  return `not a Debian-like host (${aptGet === undefined ? 'apt-get' : 'dpkg'} is not on PATH)`;
};

/**
 * Downloads and unpacks the server with package lists and caches of its own, all inside `folder`; apt checks the
 * signatures of the archive as ever. Resolves with the path of the program, or with what went wrong. Leaves nothing
 * but `<folder>/server` behind.
 */
export const fetchFromDebian = async (options: FetchOptions): Promise<{ path: string } | { failure: string }> => {
  await makeFolder(options.folder, 0o700);
  const work = await mkdtemp(join(options.folder, 'fetch-'));
  try {
    const fetch: Fetch = { ...options, work, root: join(work, 'server/root'), apt: await privateApt(work, options) };
    const updated = await fetch.apt(['update'], work);
    const failure = (await download(packages, fetch)) ?? (await addMissingLibraries(fetch));
    if (failure !== null) return { failure: updated.code === 0 ? failure : `${failure}; ${lastWords(updated)}` };
    await install(join(work, 'server'));
    return { path: await putInPlace(join(work, 'server'), options) };
  } finally {
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }
};

/** Hooks of the host are cleared, its sources and proxies kept. */
const privateApt = async (work: string, { env, tools }: FetchOptions): Promise<Fetch['apt']> => {
  const folders = ['state/lists/partial', 'cache/archives/partial', 'log', 'debs', 'server/root'];
  for (const name of folders) await makeFolder(join(work, name));
  await writeFile(join(work, 'status'), '');
  // As root, apt would download as its own user, who cannot enter a private folder: so the sandbox is that of root.
  const settings = `
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "${work}/state";
Dir::State::lists "${work}/state/lists";
Dir::State::status "${work}/status";
Dir::State::extended_states "${work}/extended_states";
Dir::Cache "${work}/cache";
Dir::Cache::archives "${work}/cache/archives";
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
  return (args, cwd) =>
    runTool(tools.aptGet, ['-q', '-c', join(work, 'apt.conf'), ...args], {
      cwd,
      env: { ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs: 180_000,
    });
};

/** Downloads packages and unpacks them; null, or what failed. */
const download = async (names: string[], { work, root, apt, env, tools }: Fetch): Promise<string | null> => {
  const debs = join(work, 'debs');
  const got = await apt(['download', ...names], debs);
  if (got.code !== 0) return `apt-get download ${names.join(' ')}: ${lastWords(got)}`;
  for (const file of (await readdir(debs)).filter((name) => name.endsWith('.deb'))) {
    const unpacked = await runTool(tools.dpkg, ['-x', join(debs, file), root], { env, timeoutMs: 60_000 });
    if (unpacked.code !== 0) return `dpkg -x ${file}: ${lastWords(unpacked)}`;
    await rm(join(debs, file));
  }
  return null;
};

/** Fetches the packages of libraries that the host lacks; each round may show libraries that the last one needs. */
const addMissingLibraries = async (fetch: Fetch): Promise<string | null> => {
  const { root, env } = fetch;
  const asked = new Set<string>();
  for (;;) {
    const libraries = (await libraryFolders(root)).map((folder) => join(root, folder)).join(':');
    const listed = await runTool('ldd', [join(root, 'usr/bin/redis-check-rdb')], {
      env: { ...env, LC_ALL: 'C', LD_LIBRARY_PATH: libraries },
      timeoutMs: 10_000,
    });
    const missing = missingLibraries(listed.output).filter((library) => !asked.has(library));
    if (missing.length === 0) return null; // what is still missing shows when the program is run
    for (const library of missing) {
      asked.add(library);
      let failure: string | null = '';
      for (const name of packagesOf(library)) if (failure !== null) failure = await download([name], fetch);
      if (failure !== null) return `${library} is missing; ${failure}`;
    }
  }
};

/** The libraries that the output of `ldd` calls missing. */
export const missingLibraries = (output: string): string[] =>
  [...output.matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1] ?? '');

/**
 * The names a library's package can have, likeliest first, by Debian policy 8.1: `libssl.so.3` is in `libssl3`, or
 * `libssl3t64` since the change to 64-bit times; a name that ends in a digit gets a hyphen.
 */
export const packagesOf = (library: string): string[] => {
  const [, stem = library, version = ''] = /^(.+)\.so\.(.+)$/.exec(library) ?? [];
  const name = `${stem}${/\d$/.test(stem) ? '-' : ''}${version}`.toLowerCase().replaceAll('_', '-');
  if (stem === 'libcrypto') return packagesOf(`libssl.so.${version}`);
  if (stem === 'libgcc_s') return ['libgcc-s1'];
  return [name, `${name}t64`];
};

/** Folders below `root` that hold libraries, such as `usr/lib/x86_64-linux-gnu`. */
const libraryFolders = async (root: string): Promise<string[]> => {
  const found: string[] = [];
  for (const base of ['usr/lib', 'lib']) {
    const entries = await readdir(join(root, base), { withFileTypes: true }).catch(() => []);
    found.push(...entries.filter((entry) => entry.isDirectory()).map((entry) => join(base, entry.name)));
  }
  return found;
};

/** Puts starters beside the unpacked tree, so that the server is one program that needs no environment. */
const install = async (server: string): Promise<void> => {
  await symlink('redis-check-rdb', join(server, 'root/usr/bin/redis-server'));
  const libraries = (await libraryFolders(join(server, 'root'))).map((folder) => `$here/root/${folder}`).join(':');
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
    const there = await runTool(program, ['--version'], { env, timeoutMs: 10_000 });
    if (there.code === 0) return program;
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
interface ToolResult {
  code: number | null;
  output: string;
}

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
  const isProgram = (path: string): Promise<boolean> =>
    Promise.all([access(path, constants.X_OK), stat(path)]).then(
      ([, facts]) => facts.isFile(),
      () => false,
    );
  const found = await Promise.all(paths.map(isProgram));
  return paths.filter((_, index) => found[index]);
};
