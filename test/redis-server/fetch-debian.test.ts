import { expect, test } from 'vitest';
import { missingLibraries, packagesOf } from '../../src/redis-server/fetch-debian.ts';

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
