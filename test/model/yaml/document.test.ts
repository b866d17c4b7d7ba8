import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseYaml, readYaml, type YamlDocument } from '../../../src/model/yaml/document.ts';
import { cases, isWhole } from '../../support/extent.ts';
import { tempDir } from '../../support/temp-dir.ts';

const sound = (text: string): YamlDocument => {
  const { document, problems } = parseYaml(text, 'f.yaml');
  if (document === null) throw new Error(JSON.stringify(problems));
  return document;
};

const faults = (text: string): string[] =>
  parseYaml(text, 'f.yaml').problems.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`);

describe('positions', () => {
  const document = sound('a: 1\nb: {c: "q", d: [x, y]}\ne:\n  - f: 1\n    g:\n\nh: |\n  text\n');

  it.each([
    { path: ['a'], key: '1:1', value: '1:4' },
    { path: ['b', 'c'], key: '2:5', value: '2:8' },
    { path: ['b', 'd', 1], key: '2:20', value: '2:20' },
    { path: ['e', 0, 'f'], key: '4:5', value: '4:8' },
    { path: ['e', 0, 'g'], key: '5:5', value: '5:5' },
    { path: ['h'], key: '7:1', value: '7:4' },
  ])('key and value of $path stand at $key and $value', ({ path, key, value }) => {
    const text = ({ line, column }: { line: number; column: number }): string => `${line}:${column}`;
    expect([text(document.position(path, 'key')), text(document.position(path))]).toEqual([key, value]);
  });

  it('a missing key is shown at the mapping it belongs to', () => {
    expect(document.position(['e', 0, 'title'])).toEqual(document.position(['e', 0], 'key'));
  });

  it('what an alias or a merge key brings in is shown where it was written', () => {
    const shared = sound('base: &base {license: x}\nuse:\n  <<: *base\nagain: *base\n');
    expect(shared.value).toMatchObject({ use: { license: 'x' }, again: { license: 'x' } });
    expect(shared.position(['use', 'license'])).toEqual({ line: 1, column: 23 });
    expect(shared.position(['again', 'license'])).toEqual({ line: 1, column: 23 });
    expect(shared.position(['again'])).toEqual({ line: 4, column: 8 });
  });

  it('lines may end with CRLF', () => {
    expect(sound('a: 1\r\nb: 2\r\n').position(['b'])).toEqual({ line: 2, column: 4 });
  });
});

describe('values', () => {
  it('dates, times and yes stay text, as YAML 1.2 has it', () => {
    expect(sound('d: 2026-01-31\nt: 12:30\ny: yes\nn: 5\nb: true\nz: ~').value).toEqual({
      d: '2026-01-31',
      t: '12:30',
      y: 'yes',
      n: 5,
      b: true,
      z: null,
    });
  });

  it('a key called __proto__ is a plain key', () => {
    const { value } = sound('a: 1\n__proto__: {polluted: true}');
    expect(Object.keys(Object(value))).toContain('__proto__');
    expect(Object(value).polluted).toBeUndefined();
  });
});

describe('faults of the text', () => {
  it.each([
    [
      'a: b: c',
      '1:4 : not valid YAML: nested mappings are not allowed in compact mappings; a value that holds ": " needs quotes',
    ],
    [
      'a: "data\\drops"',
      '1:9 : not valid YAML: invalid escape sequence \\d in double quotes; paths are written with "/"',
    ],
    [
      'a: [1,\nb: 2',
      '2:1 : not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['a: *nobody', '1:4 a: the alias `*nobody` has no anchor `&nobody` before it'],
    ['', '1:1 : the file is empty'],
    ['# only words\n', '1:1 : the file is empty'],
    ['a: 1\n---\nb: 2', '2:1 : the file holds more than one YAML document; keep one (`---` separates them)'],
    ['a: &a [*a]', '1:8 a.0: the alias `*a` is used inside its own value'],
    ['? [x]\n: 1', '1:3 : a key must be plain text, not a list, a mapping or an alias'],
  ])('%j is refused', (text, fault) => {
    expect(faults(text)).toEqual([fault]);
  });

  it('every key that stands twice is named, with the line of the first', () => {
    expect(faults('a: 1\nb: {c: 1, c: 2}\na: 3\n')).toEqual([
      '2:11 b.c: duplicate key; the first is on line 2',
      '3:1 a: duplicate key; the first is on line 1',
    ]);
  });

  it('a file of millions of tiny values is refused before it is parsed', () => {
    expect(faults(`x: [${'1,'.repeat(1_000_001)}1]`)).toEqual([
      expect.stringContaining('the file may hold more than 1,000,000 values; split it'),
    ]);
  });

  it.runIf(isWhole)('a merge key with a list without measure is a problem, not a crash', () => {
    expect(faults(`a: &a {b: 1}\nx: {<<: [${Array(400_000).fill('*a').join(',')}]}`)[0]).toContain('aliases');
  });

  it('merge keys whose aliases would fill the memory are refused', () => {
    const keys = Array.from({ length: 1000 }, (_, at) => `k${at}: 1`).join(', ');
    expect(faults(`a: &a {${keys}}\nx: {<<: [${Array(cases(100_000, 2_000)).fill('*a').join(',')}]}`)).toEqual([
      expect.stringContaining('aliases (`*name`) would add more than 1,000,000 values'),
    ]);
  });

  it.each([[101], [50_000]])('%i levels of lists inside each other are too deep', (levels) => {
    expect(faults(`a: ${'['.repeat(levels)}${']'.repeat(levels)}`)[0]).toMatch(
      /nested (?:more than 100 levels|too deeply)/,
    );
  });

  it.each(['a: !!js/function x', 'a: !mine x', 'a: "x', 'a:\n\t- b'])('%j is refused', (text) => {
    expect(faults(text)).toEqual([expect.stringContaining('not valid YAML')]);
  });

  it('aliases that would fill the memory are refused at once', () => {
    const ten = (name: string, of: string): string => `${name}: &${name} [${Array(10).fill(of).join(', ')}]`;
    const bomb = [ten('a', '1'), ...['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg'].map(([n = '', o]) => ten(n, `*${o}`))];
    expect(faults(bomb.join('\n'))[0]).toContain('aliases (`*name`) would add more than 1,000,000 values');
  });

  it('the same alias may be used by thousands of entries', () => {
    const uses = Array.from({ length: 5000 }, (_, i) => `  - {id: ${i}, contact: *c}`);
    const { value } = sound(`c: &c {name: x, email: y}\nlist:\n${uses.join('\n')}`);
    expect(Object(value).list).toHaveLength(5000);
  });
});

describe('reading a file', () => {
  it('a missing file, a folder and bytes that are not UTF-8 are problems, not exceptions', async () => {
    const dir = tempDir();
    const latin = join(dir, 'latin.yaml');
    writeFileSync(latin, Buffer.from('a: caf\xe9', 'latin1'));
    const messages = await Promise.all(
      [join(dir, 'none.yaml'), dir, latin].map(async (file) => (await readYaml(file)).problems[0]?.message),
    );
    expect(messages).toEqual(['there is no such file', 'this is a folder, not a file', 'the file is not valid UTF-8']);
  });

  it('a byte order mark does not shift columns', async () => {
    const file = join(tempDir(), 'bom.yaml');
    writeFileSync(file, '\uFEFFa: 1');
    const { document } = await readYaml(file);
    expect(document?.position(['a'])).toEqual({ line: 1, column: 4 });
  });
});
