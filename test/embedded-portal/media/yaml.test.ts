// The layout of YAML replies; what readers make of them is in round-trips.test.ts and foreign-readers.test.ts.
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { writeYaml } from '../../../src/embedded-portal/media/yaml.ts';

test('starts with three dashes, indents by four and quotes texts that look like something else', () => {
  const value = {
    nid: '12',
    title: 'Trees of the town',
    log: '',
    login: 1700000000,
    data: false,
    picture: null,
    field_tags: { und: [{ tid: '4' }, { tid: '-7.5' }] },
    granularity: ['year', 'month'],
    field_topic: [],
    date: '2012-01-01 00:00:00',
    time: '12:30',
    word: 'yes',
  };
  expect(writeYaml(value)).toBe(`---
nid: "12"
title: Trees of the town
log: ""
login: 1700000000
data: false
picture: null
field_tags:
    und:
        -
            tid: "4"
        -
            tid: "-7.5"
granularity:
    - year
    - month
field_topic: []
date: "2012-01-01 00:00:00"
time: "12:30"
word: "yes"
`);
  expect(load(writeYaml(value))).toEqual(value);
});

test('lists a scalar alone, and is an empty document for nothing', () => {
  expect([true, 'Node 9 could not be found', 0, '', [], {}, null].map(writeYaml)).toEqual([
    '---\n- true\n',
    '---\n- Node 9 could not be found\n',
    '---\n- 0\n',
    '---\n- ""\n',
    '---\n',
    '---\n',
    '---\n',
  ]);
});

test('a long text stays on one line, one of several lines is a block', () => {
  const long = `${'abcdefghi '.repeat(20)}end`;
  expect(writeYaml({ long, text: '<p>x</p>\n', lines: 'a\n\nb' })).toBe(
    `---\nlong: ${long}\ntext: |\n    <p>x</p>\nlines: |-\n    a\n\n    b\n`,
  );
});

test('an empty map is told from an empty list', () => {
  expect(writeYaml({ a: {}, b: [] })).toBe('---\na: {}\nb: []\n');
});
