// Makes dist/: the sources as JavaScript, with the command `dist/cli.js` ready to run.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

/** Compiles src/ into an empty dist/; ends the process when the compiler finds a fault, which it has printed. */
const compile = (): void => {
  rmSync(dist, { recursive: true, force: true });
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const config = join(root, 'scripts/tsconfig.build.json');
  const { status } = spawnSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
};

/** Files are named in the code by import or by `new URL('./x.js', import.meta.url)`; each must be there. */
const missingFiles = (): string[] =>
  globSync('**/*.js', { cwd: dist }).flatMap((path) => {
    const text = readFileSync(join(dist, path), 'utf8');
    const named = [...text.matchAll(/(?:\bfrom |\bimport |\bimport\(|new URL\()'(\.{1,2}\/[^']+)'/g)];
    const folder = dirname(join(dist, path));
    return named.flatMap(([, file = '']) => (existsSync(join(folder, file)) ? [] : [`dist/${path} names ${file}`]));
  });

compile();
const missing = missingFiles();
if (missing.length > 0) throw new Error(`not found:\n${missing.join('\n')}`);
chmodSync(join(dist, 'cli.js'), 0o755);
process.stdout.write(`built ${globSync('**/*.js', { cwd: dist }).length} files in dist/\n`);
