// The bytes of YAML replies: as deployed servers send them, and where the sound style leaves that way.
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import type { Value } from '../../../src/embedded-portal/media/value.ts';
import { writeYaml } from '../../../src/embedded-portal/media/yaml.ts';

const recorded = (value: Value): string => writeYaml(value, { style: 'recorded', shape: 'plain' });
const sound = (value: Value): string => writeYaml(value, { style: 'sound', shape: 'plain' });

/** One text as the value of the key `k`. */
const both = (text: string): { recorded: string; sound: string } => ({
  recorded: recorded({ k: text }).slice('---\nk: '.length, -1),
  sound: sound({ k: text }).slice('---\nk: '.length, -1),
});

describe.each([
  ['recorded', recorded],
  ['sound', sound],
] as const)('YAML in the %s style', (_name, write) => {
  test('starts with three dashes, indents by four and quotes numeric texts', () => {
    const value = {
      nid: '12',
      title: 'Trees of the town',
      log: '',
      login: 1700000000,
      data: false,
      picture: null,
      roles: { 2: 'reader', 6: 'writer' },
      field_tags: { und: [{ tid: '4' }, { tid: '-7.5' }] },
      granularity: ['year', 'month'],
      field_topic: [],
    };
    expect(write(value)).toBe(`---
nid: "12"
title: Trees of the town
log: ""
login: 1700000000
data: false
picture: null
roles:
    2: reader
    6: writer
field_tags:
    und:
        - ${''}
            tid: "4"
        - ${''}
            tid: "-7.5"
granularity:
    - year
    - month
field_topic: [ ]
`);
    expect(load(write(value))).toEqual(value);
  });

  test('lists a scalar alone, and is an empty document for an empty list', () => {
    expect([true, 'Node 9 could not be found', []].map(write)).toEqual([
      '---\n- true\n',
      '---\n- Node 9 could not be found\n',
      '---\n',
    ]);
  });

  test('puts lists in lists below a dash alone', () => {
    expect(write([['a'], []])).toBe('---\n- \n    - a\n- [ ]\n');
  });
});

describe('a text', () => {
  test('with a character that means something in YAML is quoted', () => {
    expect(both('a <b>c</b>')).toEqual({ recorded: "'a <b>c</b>'", sound: "'a <b>c</b>'" });
    expect(both('a: b')).toEqual({ recorded: "'a: b'", sound: "'a: b'" });
    expect(both("it's")).toEqual({ recorded: '"it\'s"', sound: '"it\'s"' });
  });

  test('that reads like true, false or null is quoted', () => {
    for (const word of ['yes', 'No', 'NULL', '~', 'true', 'y']) {
      expect(both(word)).toEqual({ recorded: `'${word}'`, sound: `'${word}'` });
    }
  });

  test('of one line and its end is a block', () => {
    expect(both('<p>x</p>\n')).toEqual({ recorded: '|\n    <p>x</p>', sound: '|\n    <p>x</p>' });
  });

  test('of several lines is a block, which in the sound style has no line end more than the text', () => {
    expect(both('a\n\nb')).toEqual({ recorded: '|\n    a\n    \n    b', sound: '|-\n    a\n    \n    b' });
  });

  test('whose lines a block would strip is double-quoted in the sound style', () => {
    expect(both('  a\n"b"')).toEqual({ recorded: '|\n    a\n    b', sound: '"  a\\n\\"b\\""' });
  });

  test('over 60 bytes is folded at blanks', () => {
    const long = `${'abcdefghi '.repeat(7)}end`;
    const folded = '\n    abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi\n    abcdefghi end';
    expect(both(long)).toEqual({ recorded: `>${folded}`, sound: `>-${folded}` });
    expect(load(sound({ k: long }))).toEqual({ k: long });
  });

  test('of 61 bytes is folded before the word that reaches byte 61, one of 60 bytes is not', () => {
    const text = `${'a'.repeat(50)} ${'b'.repeat(10)}`;
    expect(both(text).recorded).toBe(`>\n    ${'a'.repeat(50)}\n    ${'b'.repeat(10)}`);
    expect(both(text.slice(0, -1)).recorded).toBe(text.slice(0, -1));
  });

  test('is measured in bytes, not characters, when it is folded', () => {
    expect(both('ü'.repeat(31)).recorded).toBe(`>\n    ${'ü'.repeat(31)}`);
    expect(both('ü'.repeat(30)).recorded).toBe('ü'.repeat(30));
  });

  test('that no YAML reader takes back is spelt differently in the sound style', () => {
    expect(both('"')).toEqual({ recorded: '"', sound: '"\\""' });
    expect(both(',')).toEqual({ recorded: ',', sound: '","' });
    expect(both('2012-01-01 00:00:00')).toEqual({ recorded: '2012-01-01 00:00:00', sound: '"2012-01-01 00:00:00"' });
    expect(both('12:30')).toEqual({ recorded: '12:30', sound: '"12:30"' });
    expect(both('a\tb')).toEqual({ recorded: 'a\tb', sound: '"a\\tb"' });
    expect(both('@x')).toEqual({ recorded: '@x', sound: '"@x"' });
  });

  test('such as an address, a session id or a uuid stands bare in both', () => {
    for (const text of ['http://x.test/a?b=c', '-oRZfzo3pZW4_1jmtn', '77640156-87b3-4782-9b6d-233064a65e09']) {
      expect(both(text)).toEqual({ recorded: text, sound: text });
    }
  });
});

test('keys with a colon or a hash are quoted, others only where a reader needs it', () => {
  const value = { 'a:b': 1, 'c#': 2, 'd e': 3, true: 4, '': 5 };
  expect(recorded(value)).toBe('---\n"a:b": 1\n"c#": 2\nd e: 3\ntrue: 4\n: 5\n');
  expect(sound(value)).toBe('---\n"a:b": 1\n"c#": 2\nd e: 3\n"true": 4\n"": 5\n');
});

test('an empty map is told from an empty list in the sound style', () => {
  expect(recorded({ a: {} })).toBe('---\na: [ ]\n');
  expect(sound({ a: {} })).toBe('---\na: { }\n');
});

test('the hidden properties of a date show in the recorded style of a node only', () => {
  const date = { granularity: ['year'], errors: [], originalTime: 'T', timezone_type: 3, timezone: 'UTC' };
  const node = writeYaml({ d: date }, { style: 'recorded', shape: 'node' });
  expect(node).toContain(
    '    errors: [ ]\n    \0DateObject\0serializedTime: T\n    \0DateObject\0serializedTimezone: UTC\n    originalTime: T\n',
  );
  expect(recorded({ d: date })).not.toContain('serialized');
  expect(writeYaml({ d: date }, { style: 'sound', shape: 'node' })).not.toContain('serialized');
});

test('what PHP calls empty is an empty document in the recorded style, and itself in the sound one', () => {
  expect([false, 0, '', '0', null].map(recorded)).toEqual(Array.from({ length: 5 }, () => '---\n'));
  expect([false, 0, '', '0', null].map(sound)).toEqual([
    '---\n- false\n',
    '---\n- 0\n',
    '---\n- ""\n',
    '---\n- "0"\n',
    '---\n',
  ]);
});
