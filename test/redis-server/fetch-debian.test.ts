import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { missingLibraries, packagesOf } from '../../src/redis-server/fetch-debian.ts';
import { tempDir } from '../support/temp-dir.ts';
import { cleanPath, exists, isDebian, isRoot } from './debian-host.ts';

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

test.each([
  ['libssl.so.3', ['libssl3', 'libssl3t64']],
  ['libcrypto.so.3', ['libssl3', 'libssl3t64']],
  ['liblua5.4.so.0', ['liblua5.4-0', 'liblua5.4-0t64']],
  ['libgcc_s.so.1', ['libgcc-s1']],
  ['libstdc++.so.6', ['libstdc++6', 'libstdc++6t64']],
])('the package of %s is looked for as %j', (library, names) => {
  expect(packagesOf(library)).toEqual(names);
});

test('only the libraries that are not found count as missing', () => {
  const output = [
    '\tlinux-vdso.so.1 (0x00007f0211589000)',
    '\tlibsystemd.so.0 => not found',
    '\tlibssl.so.3 => /lib/x86_64-linux-gnu/libssl.so.3 (0x00007f0210d57000)',
  ];
  expect(missingLibraries(output.join('\n'))).toEqual(['libsystemd.so.0']);
});
