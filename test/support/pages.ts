// The pages of the documentation, taken apart.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folder of the repository. */
export const root = join(import.meta.dirname, '../..');

/** A fenced block of a page. */
export interface Block {
  /** `docs/tutorial.md:12` */
  place: string;
  language: string;
  text: string;
}

/** Paths of all pages for readers. */
export const pagePaths = (): string[] =>
  ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: root })]
    .map((path) => path.replaceAll('\\', '/'))
    .sort();

/** Text of a page. */
export const pageText = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Fenced blocks of a page, without the indentation of their fences. */
export const blocksOf = (path: string): Block[] => {
  const text = pageText(path);
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map((match) => {
    const [, indent = '', language = '', body = ''] = match;
    const line = text.slice(0, match.index).split('\n').length;
    return { place: `${path}:${line}`, language, text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') };
  });
};

/** Anchors of a page's headings, as forges make them. */
export const anchorsOf = (path: string): string[] =>
  [...pageText(path).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
