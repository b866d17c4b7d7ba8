// The bytes of YAML replies as deployed servers send them.
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import type { Value } from '../../../../src/embedded-portal/media/value.ts';
import { writeRecordedYaml } from '../../../../src/embedded-portal/profiles/dkan/yaml.ts';

const recorded = (value: Value): string => writeRecordedYaml(value, { shape: 'plain' });

/** One text as the value of the key `k`. */
const spelt = (text: string): string => recorded({ k: text }).slice('---\nk: '.length, -1);

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
  expect(recorded(value)).toBe(`---
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
  expect(load(recorded(value))).toEqual(value);
});

test('lists a scalar alone, and is an empty document for an empty list', () => {
  expect([true, 'Node 9 could not be found', []].map(recorded)).toEqual([
    '---\n- true\n',
    '---\n- Node 9 could not be found\n',
    '---\n',
  ]);
});

test('puts lists in lists below a dash alone', () => {
  expect(recorded([['a'], []])).toBe('---\n- \n    - a\n- [ ]\n');
});

describe('a text', () => {
  test.each([
    ['with a character that means something in YAML is quoted', 'a <b>c</b>', "'a <b>c</b>'"],
    ['with a colon and a blank is quoted', 'a: b', "'a: b'"],
    ['with a single quote is double-quoted', "it's", '"it\'s"'],
    ['of one line and its end is a block', '<p>x</p>\n', '|\n    <p>x</p>'],
    ['of several lines is a block', 'a\n\nb', '|\n    a\n    \n    b'],
    ['of several lines loses blanks and quotes at their ends', '  a\n"b"', '|\n    a\n    b'],
    ['that no YAML reader takes back stands bare: a quote', '"', '"'],
    ['that no YAML reader takes back stands bare: a comma', ',', ','],
    ['that no YAML reader takes back stands bare: a moment', '2012-01-01 00:00:00', '2012-01-01 00:00:00'],
    ['that no YAML reader takes back stands bare: a time', '12:30', '12:30'],
    ['that no YAML reader takes back stands bare: a tab', 'a\tb', 'a\tb'],
    ['that no YAML reader takes back stands bare: an at sign', '@x', '@x'],
    ['such as an address stands bare', 'http://x.test/a?b=c', 'http://x.test/a?b=c'],
    ['such as a session id stands bare', '-oRZfzo3pZW4_1jmtn', '-oRZfzo3pZW4_1jmtn'],
    ['such as a uuid stands bare', '77640156-87b3-4782-9b6d-233064a65e09', '77640156-87b3-4782-9b6d-233064a65e09'],
  ])('%s', (_title, text, spelling) => {
    expect(spelt(text)).toBe(spelling);
  });

  test('that reads like true, false or null is quoted', () => {
    for (const word of ['yes', 'No', 'NULL', '~', 'true', 'y', 'Y', 'ON']) expect(spelt(word)).toBe(`'${word}'`);
    for (const word of ['nO', 'tRUE', 'yE']) expect(spelt(word)).toBe(word);
  });

  test('over 60 bytes is folded at blanks', () => {
    const folded = '\n    abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi\n    abcdefghi end';
    expect(spelt(`${'abcdefghi '.repeat(7)}end`)).toBe(`>${folded}`);
  });

  test('of 61 bytes is folded before the word that reaches byte 61, one of 60 bytes is not', () => {
    const text = `${'a'.repeat(50)} ${'b'.repeat(10)}`;
    expect(spelt(text)).toBe(`>\n    ${'a'.repeat(50)}\n    ${'b'.repeat(10)}`);
    expect(spelt(text.slice(0, -1))).toBe(text.slice(0, -1));
  });

  test('is measured in bytes, not characters, when it is folded', () => {
    expect(spelt('ü'.repeat(31))).toBe(`>\n    ${'ü'.repeat(31)}`);
    expect(spelt('ü'.repeat(30))).toBe('ü'.repeat(30));
  });
});

test('keys with a colon or a hash are quoted, no others', () => {
  expect(recorded({ 'a:b': 1, 'c#': 2, 'd e': 3, true: 4, '': 5 })).toBe(
    '---\n"a:b": 1\n"c#": 2\nd e: 3\ntrue: 4\n: 5\n',
  );
});

test('an empty map is an empty list', () => {
  expect(recorded({ a: {} })).toBe('---\na: [ ]\n');
});

test('the hidden properties of a date show in a node only', () => {
  const date = { granularity: ['year'], errors: [], originalTime: 'T', timezone_type: 3, timezone: 'UTC' };
  expect(writeRecordedYaml({ d: date }, { shape: 'node' })).toContain(
    '    errors: [ ]\n    \0DateObject\0serializedTime: T\n    \0DateObject\0serializedTimezone: UTC\n    originalTime: T\n',
  );
  expect(recorded({ d: date })).not.toContain('serialized');
});

test('what PHP calls empty is an empty document', () => {
  expect([false, 0, '', '0', null].map(recorded)).toEqual(Array.from({ length: 5 }, () => '---\n'));
});
