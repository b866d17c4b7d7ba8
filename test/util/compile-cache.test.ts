import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { bundled } from '../support/bundled.ts';
import { sampled } from '../support/extent.ts';
import { tempDir } from '../support/temp-dir.ts';

const cli = bundled(new URL('../../src/cli.ts', import.meta.url));

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

it('keeps what worker threads compile there, too', () => {
  const home = tempDir();
  const script = join(home, 'script.mjs');
  const installation = pathToFileURL(join(import.meta.dirname, '../../src/util/installation.ts')).href;
  const thread = "console.log(require('node:module').getCompileCacheDir())";
  writeFileSync(
    script,
    `import { Worker } from 'node:worker_threads';
    import { keepCompiled } from ${JSON.stringify(installation)};
    keepCompiled(process.env);
    new Worker(${JSON.stringify(thread)}, { eval: true });`,
  );
  const env = { PATH: process.env.PATH, HOME: home };
  const { stdout } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' });
  expect(stdout).toContain(join(home, '.cache/sluice/compiled'));
});

it('keeps nothing and says nothing where there is no home, or none that can be written', () => {
  const missing = join(tempDir(), 'missing');
  const taken = tempDir();
  mkdirSync(join(taken, '.cache'));
  writeFileSync(join(taken, '.cache/sluice'), 'a file');
  for (const env of sampled([{}, { HOME: missing }, { HOME: '/proc/nobody' }, { HOME: taken }], 3)) {
    expect(version(env)).toMatch(/^\d/);
  }
  expect(existsSync(missing)).toBe(false);
});
