// The sources and most of their packages in few files, made before the tests when something has changed: a process that
// starts from them, of `sluice` or of a program for tests, takes two thirds of the time. Processes with a preload that
// reaches into modules, and those of the tutorial, the package and its API start from the sources.

import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '../..');
const cache = join(root, 'node_modules/.cache/sluice-bundle');
const programs = [
  'src/cli.ts',
  'test/queue/support/toy-worker.ts',
  'test/redis-server/programs/hold-redis.ts',
  'test/support/portal-child.ts',
];
const weekMs = 7 * 86_400_000;

/** These start threads from files beside their own. */
const external = [/^node:/, 'piscina', 'pino'];

const build = async (folder: string): Promise<void> => {
  const bundle = await rolldown({
    input: programs.map((path) => join(root, path)),
    platform: 'node',
    external,
    logLevel: 'silent',
    plugins: [
      {
        name: 'keeps-places',
        // Modules that name files beside them mean those beside the source.
        transform: (code, id) =>
          id.startsWith(join(root, 'src')) || id.startsWith(join(root, 'test'))
            ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
            : null,
      },
    ],
  });
  await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  await bundle.close();
};

/** Vitest's global set-up: passes the folder of the bundle to all tests as `SLUICE_BUNDLE`. */
export const setup = async (): Promise<void> => {
  const key = createHash('sha256');
  for (const path of [
    ...globSync('src/**/*.ts', { cwd: root }).sort(),
    ...programs,
    'package-lock.json',
    import.meta.filename,
  ]) {
    const { mtimeMs, size } = statSync(path.startsWith('/') ? path : join(root, path));
    key.update(`${root} ${path} ${mtimeMs} ${size}\n`);
  }
  const folder = join(cache, key.digest('hex').slice(0, 16));
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    for (const name of readdirSync(cache)) {
      const path = join(cache, name);
      if (statSync(path).mtimeMs < Date.now() - weekMs) rmSync(path, { recursive: true, force: true });
    }
    const made = `${folder}.${process.pid}`;
    await build(made);
    if (existsSync(folder)) rmSync(made, { recursive: true });
    else renameSync(made, folder);
  }
  process.env.SLUICE_BUNDLE = folder;
};
