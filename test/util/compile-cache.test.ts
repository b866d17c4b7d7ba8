import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const cli = join(import.meta.dirname, '../../src/cli.ts');

const version = (env: NodeJS.ProcessEnv): string =>
  spawnSync(process.execPath, [cli, '--version'], { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' }).stdout;

it('keeps what was compiled in the cache folder of the user', () => {
  const home = tempDir();
  expect(version({ HOME: home })).toMatch(/^\d/);
  expect(existsSync(join(home, '.cache/sluice/compiled'))).toBe(true);
  const caches = tempDir();
  expect(version({ HOME: tempDir(), XDG_CACHE_HOME: caches })).toMatch(/^\d/);
  expect(existsSync(join(caches, 'sluice/compiled'))).toBe(true);
});

it('keeps nothing and says nothing where there is no home, or none that can be written', () => {
  const missing = join(tempDir(), 'missing');
  const taken = tempDir();
  mkdirSync(join(taken, '.cache'));
  writeFileSync(join(taken, '.cache/sluice'), 'a file');
  for (const env of [{}, { HOME: missing }, { HOME: '/proc/nobody' }, { HOME: taken }]) {
    expect(version(env)).toMatch(/^\d/);
  }
  expect(existsSync(missing)).toBe(false);
});
