import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkDocument } from '../../../src/model/yaml/check.ts';
import { parseYaml } from '../../../src/model/yaml/document.ts';

const schema = z.strictObject({
  level: z.enum(['info', 'debug']).exactOptional(),
  port: z.int().min(0).max(65_535).exactOptional(),
  title: z.string().min(1).max(10).exactOptional(),
  list: z.array(z.strictObject({ license: z.string() })).exactOptional(),
  kinds: z
    .record(
      z.string().regex(/^[a-z]+$/, { error: 'must be lower case' }),
      z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('embedded'), port: z.number().exactOptional() }),
        z.strictObject({ kind: z.literal('remote'), url: z.string() }),
      ]),
    )
    .exactOptional(),
  shape: z
    .union([z.string(), z.strictObject({ file: z.string() })], { error: 'must be text or {file: path}' })
    .exactOptional(),
});

const check = (text: string): string[] => {
  const { document } = parseYaml(text, 'f.yaml');
  if (document === null) throw new Error('not sound YAML');
  return checkDocument(document, schema).problems.map((p) => `${p.line}:${p.column} ${p.key}: ${p.message}`);
};

describe('problems in words', () => {
  it.each([
    ['level: inof', '1:8 level: `inof` is not allowed (did you mean `info`?); allowed: info, debug'],
    ['level: loud', '1:8 level: `loud` is not allowed; allowed: info, debug'],
    ['port: 70000', '1:7 port: must be at most 65535'],
    ['port: -1', '1:7 port: must be at least 0'],
    ['port: 1.5', '1:7 port: must be a whole number, not a fraction'],
    ['port: "80"', '1:7 port: must be a number, not text'],
    ['port:', '1:1 port: must be a number, but is empty'],
    ['title: 2026', '1:8 title: must be text; put it in quotes: "2026"'],
    ['title: ""', '1:8 title: must not be empty'],
    ['title: much too long', '1:8 title: must have at most 10 characters'],
    ['list: 5', '1:7 list: must be a list, not a number'],
    ['list: [{}]', '1:8 list.0.license: this key is required'],
    ['list: [{license: a, licence: b}]', '1:21 list.0.licence: unknown key; did you mean `license`?'],
    ['kinds: {Big: {kind: embedded}}', '1:9 kinds.Big: must be lower case'],
    [
      'kinds: {a: {kind: remot}}',
      '1:19 kinds.a.kind: `remot` is not allowed (did you mean `remote`?); allowed: embedded, remote',
    ],
    ['kinds: {a: {}}', '1:9 kinds.a.kind: this key is required; allowed: embedded, remote'],
    ['kinds: {a: {kind: embedded, prot: 1}}', '1:29 kinds.a.prot: unknown key; did you mean `port`?'],
    ['kinds: {a: {kind: embedded, url: x}}', '1:29 kinds.a.url: unknown key; known here: kind, port'],
    ['shape: {fil: x}', '1:8 shape: must be text or {file: path}'],
    ['zebra: 1', '1:1 zebra: unknown key; known here: level, port, title, list, kinds, shape'],
    ['just words', '1:1 : must be a mapping (key: value), not text'],
  ])('%j', (text, problem) => {
    expect(check(text)).toEqual([problem]);
  });

  it('all of them come at once', () => {
    expect(check('level: x\nport: -1\nlist:\n  - {}\n  - {licence: 1}\nnew: 1')).toHaveLength(6);
  });

  it('a sound document gives its value', () => {
    const { document } = parseYaml('level: info', 'f.yaml');
    expect(document && checkDocument(document, schema)).toEqual({ value: { level: 'info' }, problems: [] });
  });
});
