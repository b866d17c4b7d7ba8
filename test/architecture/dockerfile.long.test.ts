// No container engine runs here, so the steps of the Dockerfile are done by hand in an empty folder.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const root = join(import.meta.dirname, '../..');
const [, build = '', image = ''] = readFileSync(join(root, 'Dockerfile'), 'utf8').split(/^FROM .*$/m);

/** `COPY from… to` of a stage, without those from another stage. */
const copies = (stage: string): { from: string[]; to: string }[] =>
  [...stage.matchAll(/^COPY (?!--)(.+)$/gm)].map(([, words = '']) => {
    const from = words.split(' ');
    return { to: from.pop() ?? '', from };
  });

it('the Dockerfile builds from what it copies, and copies what its image needs', () => {
  const app = tempDir();
  for (const { from, to } of copies(build)) {
    for (const each of from) {
      const target = to.endsWith('/') ? join(app, to, each) : join(app, to);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(join(root, each), target, { recursive: true, filter: (path) => !path.includes('jobs/inbox/') });
    }
  }
  symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'));
  const made = spawnSync(process.execPath, ['scripts/build.ts'], { cwd: app, encoding: 'utf8' });
  expect(made.stderr).toBe('');
  expect(made.status).toBe(0);
  for (const [, path = ''] of image.matchAll(/^COPY --from=build \/app\/(\S+) /gm)) {
    expect(existsSync(join(app, path)), path).toBe(true);
  }
  for (const { from } of copies(image)) for (const each of from) expect(existsSync(join(root, each)), each).toBe(true);
  const said = spawnSync(join(app, 'dist/cli.js'), ['check', join(app, 'jobs/demo.yaml')], {
    cwd: app,
    encoding: 'utf8',
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: tempDir() },
  });
  expect(said.stdout).toContain('jobs/demo.yaml: sound');
});
