import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { keyParents, madeFiles } from '../../scripts/schemas.ts';
import { configFileSchema } from '../../src/config/schema.ts';
import { distributionKeys } from '../../src/sources/catalogue/distributions.ts';
import { datasetRules } from '../../src/sources/catalogue/entry.ts';
import { manifestFileSchema } from '../../src/sources/manifest/schema.ts';
import { schemaKeys } from '../support/schema-keys.ts';

const root = join(import.meta.dirname, '../..');

const made = await madeFiles();

describe('files made from the schemas', () => {
  it.each(made)('$path is in step (else run `node scripts/schemas.ts`)', ({ path, text }) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(text);
  });
});

/** Entries in the lists of the page: their key, with the parent that their list leaves out, and the keys named in brackets. */
const documented = (page: string): { key: string; members: string[] }[] =>
  readFileSync(join(root, page), 'utf8')
    .split('<!-- made: ')
    .flatMap((list) => {
      const parent = keyParents[/^\w+/.exec(list)?.[0] ?? ''] ?? '';
      return [...list.matchAll(/^- `([^`]+)`(?: \((.*?)\))?: /gm)].map(([, name = '', type = '']) => {
        const [, list, names = ''] = /(list of )?mapping of (`.*`)/.exec(type) ?? [];
        const below = `${parent}${name}${list === undefined ? '' : '[]'}.`;
        return {
          key: `${parent}${name}`,
          members: [...names.matchAll(/`(\w+)`/g)].map(([, member]) => `${below}${member}`),
        };
      });
    });

/** Keys of steps and schemas, which the page about tables describes without their parents. */
const isOfTables = (key: string): boolean => /^datasets\[\]\.resources\[\]\.(table\[\]|schema)\./.test(key);

/** Keys of a schema as pages write them, without the mappings that only group others and the form `{file: …}` of a secret. */
const written = (schema: z.ZodType): string[] => [
  ...new Set(
    schemaKeys(schema)
      .map(({ key }) => key.replace(/\|\d/, ''))
      .filter(
        (key) =>
          !/^defaults$|^defaults\.(dataset|resource)\..+|^drop\.folders\.<name>\..+|^sources\.credentials\.<name>\..+|\.(password|token|url|secret)\.file$/.test(
            key,
          ),
      ),
  ),
];

describe.each([
  { page: 'docs/reference/config.md', schema: configFileSchema },
  { page: 'docs/reference/manifest.md', schema: manifestFileSchema },
])('$page', ({ page, schema }) => {
  const entries = documented(page);
  const pageKeys = entries.flatMap(({ key, members }) => [key, ...members]);
  const sections = 'redis retry breaker http jobs watch inbox kept sources limits web notify log'.split(' ');

  it('documents every key', () => {
    const keys = written(schema).filter(
      (key) => !isOfTables(key) && (schema !== configFileSchema || !sections.includes(key)),
    );
    expect(keys.filter((key) => !pageKeys.includes(key))).toEqual([]);
  });

  it('documents no key that does not exist', () => {
    const keys = written(schema);
    expect(pageKeys.filter((key) => !keys.includes(key))).toEqual([]);
  });

  it('says what each key means', () => {
    const lines = readFileSync(join(root, page), 'utf8').match(/^- `[^`]+`(?: \(|:).*$/gm) ?? [];
    expect(lines).toHaveLength(entries.length);
    expect(lines.filter((line) => !/: \S.{5,}\.$/.test(line))).toEqual([]);
  });
});

it('the page about tables names every key of steps and schemas', () => {
  const text = readFileSync(join(root, 'docs/how-to/transform-tables.md'), 'utf8');
  const code = text.split('```').map((part, at) => (at % 2 === 1 ? part : (part.match(/`[^`\n]+`/g) ?? []).join(' ')));
  const words = new Set(code.join(' ').match(/\w+/g));
  // A split sets `only` for each of its resources.
  const keys = written(manifestFileSchema).filter((key) => isOfTables(key) && !key.endsWith('.split.only'));
  expect(keys.length).toBeGreaterThan(40);
  expect(keys.filter((key) => !words.has(key.split('.').at(-1)?.replace('[]', '') ?? ''))).toEqual([]);
});

it('the page about the catalogue mapping has a line for every key that is read, in the order of the rules, and for no other', () => {
  const text = readFileSync(join(root, 'docs/reference/catalogue-mapping.md'), 'utf8');
  const keysOf = (heading: string): string[] => {
    const [, section = ''] = text.split(`\n## ${heading}\n`);
    const lines = section.split('\n## ')[0]?.match(/^- .*? → `\w+`.*: \S.{3,}\.$/gm) ?? [];
    return lines.flatMap((line) => [...(line.split(' → ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, key = '']) => key));
  };
  expect(keysOf('Datasets')).toEqual(Object.keys(datasetRules));
  expect(keysOf('Distributions')).toEqual([...distributionKeys]);
});
