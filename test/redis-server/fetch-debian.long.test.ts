// A Debian host that has no server, or lacks a library of it.
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { resolveBinary, runTool } from '../../src/redis-server/resolve.ts';
import { tempDir } from '../support/temp-dir.ts';
import { cleanPath, exists, isDebian, isRoot } from './debian-host.ts';
import { keptLog } from './embedded-support.ts';

const run = promisify(execFile);
const systemState = (): string[] =>
  ['/var/lib/apt/lists', '/var/cache/apt', '/var/cache/apt/archives', '/var/lib/dpkg', '/var/lib/dpkg/status']
    .filter(exists)
    .map((path) => `${path} ${statSync(path).mtimeMs} ${statSync(path).ctimeMs}`);

test.skipIf(!isDebian || !isRoot)(
  `nobody, with empty package lists, gets a server that works and the system is not touched${isDebian && isRoot ? '' : ' (skipped: needs root and apt)'}`,
  async () => {
    const dir = tempDir();
    const state = join(dir, 'state');
    const programs = join(dir, 'bin');
    mkdirSync(state);
    mkdirSync(programs);
    chmodSync(dir, 0o755);
    chownSync(state, 65534, 65534);
    const before = systemState();
    const program = fileURLToPath(new URL('./programs/fetch-as-nobody.ts', import.meta.url));
    const { stdout, stderr } = await run(process.execPath, [program, state, cleanPath(programs)], {
      cwd: dir,
      env: {},
    });
    expect(JSON.parse(stdout)).toEqual({
      uid: 65534,
      binary: join(state, 'redis', 'server', 'redis-server'),
      read: 'value',
    });
    expect(stderr.split('\n').filter((line) => line.includes('fetching one from the Debian archive'))).toHaveLength(1);
    expect(systemState()).toEqual(before);
    expect(readdirSync(state)).toEqual(['redis']);
    expect(readdirSync(join(state, 'redis')).filter((name) => name.startsWith('fetch-'))).toEqual([]);
  },
);

test.skipIf(!isDebian)(
  `libraries that the host lacks are fetched too, and the checker of the data is there${isDebian ? '' : ' (skipped: needs apt)'}`,
  async () => {
    const dir = tempDir();
    const programs = join(dir, 'bin');
    mkdirSync(programs);
    const env = { PATH: cleanPath(programs) };
    const folder = join(dir, 'redis');
    const { path } = await resolveBinary({ folder, fetch: true, env, log: keptLog().log });
    expect(path).toBe(join(folder, 'server', 'redis-server'));
    const root = join(folder, 'server', 'root');
    const { output } = await runTool('ldd', [join(root, 'usr/bin/redis-check-rdb')], { env, timeoutMs: 10_000 });
    const lacked = [...output.matchAll(/^\s*(\S+) => not found/gm)].map(([, library]) => library);
    const fetched = readdirSync(root, { recursive: true }).map((name) => basename(String(name)));
    expect(fetched).toEqual(expect.arrayContaining(lacked));
    const checker = await runTool(join(folder, 'server', 'redis-check-aof'), [], { env: {}, timeoutMs: 10_000 });
    expect(checker.output).toContain('Usage');
  },
);
