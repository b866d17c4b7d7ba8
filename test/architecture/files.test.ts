// What holds for every source file and for package.json.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importsOf, sourceFiles, textOf } from '../support/source-tree.ts';

const root = join(import.meta.dirname, '../..');
const files = sourceFiles('src');
const folders = ['src', 'test', 'scripts', 'bench'].filter((folder) => existsSync(join(root, folder)));

interface Package {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
const { dependencies, devDependencies } = JSON.parse(textOf('package.json')) as Package; // ours

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
const isPackage = (specifier: string): boolean => !specifier.startsWith('.') && !specifier.startsWith('node:');

describe('source files', () => {
  it('say in their first line what they are for', () => {
    const silent = files.filter((file) => {
      const lines = textOf(file).split('\n');
      const first = lines.find((line) => !line.startsWith('#!') && !line.startsWith('// biome-ignore'));
      return !/^\/\/ \S.{15,}/.test(first ?? '');
    });
    expect(silent).toEqual([]);
  });

  it('have kebab-case names', () => {
    expect(files.filter((file) => !/^src(\/[a-z0-9]+([-.][a-z0-9]+)*)+\.ts$/.test(file))).toEqual([]);
  });

  it('export by name only, and there are no index files', () => {
    expect(files.filter((file) => /^export default/m.test(textOf(file)))).toEqual([]);
    expect(files.filter((file) => file.endsWith('/index.ts'))).toEqual([]);
  });
});

describe('packages', () => {
  const used = new Set(
    files
      .flatMap(importsOf)
      .map(({ specifier }) => specifier)
      .filter(isPackage)
      .map(packageOf),
  );

  it('are declared where the product imports them', () => {
    expect([...used].filter((name) => !(name in dependencies))).toEqual([]);
  });

  it('are imported where they are declared', () => {
    expect(Object.keys(dependencies).filter((name) => !used.has(name))).toEqual([]);
  });

  it('are declared where tests and scripts import them', () => {
    const all = folders
      .flatMap(sourceFiles)
      .flatMap(importsOf)
      .filter(({ specifier }) => isPackage(specifier));
    const undeclared = all.filter(({ specifier }) => {
      const name = packageOf(specifier);
      return !(name in dependencies) && !(name in devDependencies);
    });
    expect(undeclared.map(({ from, line, specifier }) => `${from}:${line} imports ${specifier}`)).toEqual([]);
  });

  it('are pinned to one version', () => {
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, range]) => !/^\d+\.\d+\.\d+$/.test(range),
    );
    expect(loose).toEqual([]);
  });

  it('have one HTTP client among them, so that a fix of it is a fix everywhere', () => {
    expect(textOf('package-lock.json').match(/^ {4}"\S*node_modules\/undici"/gm)).toHaveLength(1);
  });

  it('come without addresses in the lock file, so that any registry serves', () => {
    expect(textOf('package-lock.json').match(/"resolved": "(?!file:)[^"]+"/g) ?? []).toEqual([]);
  });
});
