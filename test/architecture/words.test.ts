// One word per idea: what people read holds none of the words that only the sources use.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandHelp, programHelp } from '../../scripts/reference.ts';
import { pagePaths, pageText, root } from '../support/pages.ts';

/** Words of the sources, and other words for what is called fix, removed and live. */
const inner =
  /\b(?:ledger|prove[sdn]?|proofs?|claim(?:s|ed|ing)?|wish(?:es)?|dialects?|fates?|baselines?|mend(?:s|ed|ing|able)|taken down|takes? down|direct manifests?)\b|\b1 (?:rows|datasets|items|files|resources)\b/gi;

/** Where such a word is the term of somebody else, or said about the inside on purpose. */
const allowed: Record<string, RegExp> = {
  'src/config/': /^dialect: /, // the key of that name
  'src/sources/datapackage/': /^dialect: /, // a term of Frictionless
  'src/sources/wish-list.ts': /^wishes: the list of wishes was closed/, // a bug
  'src/state/run-phase.ts': /^prove: /, // Lua
  'src/util/html.ts': /^mendable: :root/, // a style sheet
  'docs/how-to/datapackage.md': /^dialect: /,
  'docs/reference/config.md': /^dialect: - `dialect`/,
};

const isAllowed = (path: string, fault: string): boolean =>
  Object.entries(allowed).some(([start, text]) => path.startsWith(start) && text.test(fault));

/** Texts of a source file: literals with several words, without what is put into templates, Lua and SQL. */
const textsOf = (source: string): string[] => {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^import [\s\S]*?;$|^\s*\/\/.*$|\s\/\/ .*$/gm, '');
  const literals = code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g);
  const texts = [...literals].map(([, plain, template]) =>
    (plain ?? template ?? '').replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…'),
  );
  // Nested templates are cut into pieces of code, which are no texts.
  const others = /\$\{|redis\.call|SELECT |INSERT |UPDATE |CREATE /;
  return texts.filter((text) => /[a-z:,;)] \S/.test(text) && !others.test(text));
};

const found = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => [...text.matchAll(inner)].map(([word]) => `${word}: ${text.slice(0, 120)}`));

it('is what messages say', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).sort();
  const faults = files.flatMap((file) =>
    found(textsOf(readFileSync(join(root, file), 'utf8')))
      .filter((fault) => !isAllowed(file, fault))
      .map((fault) => `${file}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

it('is what the help and the pages say', async () => {
  const help = [await programHelp(), ...(await commandHelp()).map(({ text }) => text)];
  const pages = pagePaths().filter((path) => !/^docs\/explanation|^CHANGELOG|^CONTRIBUTING/.test(path));
  expect(found(help)).toEqual([]);
  const faults = pages.flatMap((path) =>
    found(pageText(path).split('\n'))
      .filter((fault) => !isAllowed(path, fault))
      .map((fault) => `${path}: ${fault}`),
  );
  expect(faults).toEqual([]);
});
