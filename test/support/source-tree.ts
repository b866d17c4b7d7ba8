// The source files of the project and what each of them imports.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** One import (static, dynamic or for types only) of a source file. */
export interface Import {
  /** File below the root, with forward slashes. */
  from: string;
  line: number;
  /** As it is in the file. */
  specifier: string;
  /** The imported file below the root; null for a package. */
  to: string | null;
}

/** Paths of the TypeScript files below a folder, such as `src/cli.ts`. */
export const sourceFiles = (folder: string): string[] =>
  globSync(`${folder}/**/*.ts`, { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();

/** Text of a file below the root. */
export const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

const importPattern =
  /^(?:import|export)\b[^;'"]*?\bfrom\s*'([^']+)'|^import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

/** Every import of a file; what is in comments does not count. */
export const importsOf = (from: string): Import[] => {
  const text = textOf(from).replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '));
  return [...text.matchAll(importPattern)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    const line = text.slice(0, match.index).split('\n').length;
    const to = specifier.startsWith('.') ? join(dirname(from), specifier).replaceAll('\\', '/') : null;
    return { from, line, specifier, to };
  });
};
