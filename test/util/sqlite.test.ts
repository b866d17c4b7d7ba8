// SQLite in programs of others: no warning, whatever Node says of it.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

it('is loaded by one file only', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const loads = /^import (?!type).*'node:sqlite'|getBuiltinModule\('node:sqlite'\)/m;
  const loading = files.filter((name) => loads.test(readFileSync(join(root, 'src', name), 'utf8')));
  expect(loading).toEqual(['util/sqlite.ts']);
});

it('prints nothing, and hides no other warning', () => {
  const program = `
    process.emitWarning = (...words) => console.error('warned', ...words);
    const mine = process.emitWarning;
    const { DatabaseSync } = await import('${join(root, 'src/util/sqlite.ts')}');
    new DatabaseSync(':memory:').close();
    console.log(process.emitWarning === mine);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual(['true\n', '']);
});
