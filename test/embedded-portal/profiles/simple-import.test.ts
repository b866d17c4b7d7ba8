import { expect, it } from 'vitest';
import {
  blockBytes,
  SimpleParseError,
  SimpleParser,
  simpleColumn,
  simpleText,
} from '../../../src/embedded-portal/profiles/simple-import.ts';

const read = (text: string): (string | null)[][] => {
  const parser = new SimpleParser({});
  const records: (string | null)[][] = [];
  for (let at = 0; at < text.length; at += blockBytes) records.push(...parser.feed(text.slice(at, at + blockBytes)));
  const last = parser.finish();
  return last === null ? records : [...records, last];
};

it.each([
  [
    'a,b\n1,2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\n1,2',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\r\n1,2\r\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\r1,2\r',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  ['a\n\n1\n\n', [['a'], ['1']]],
  ['\na\n', [[''], ['a']]],
  ['"x, y","say ""hi"""\n', [['x, y', 'say "hi"']]],
  ['"l1\r\nl2",2\n', [['l1\rl2', '2']]],
  ['x\\,y,C:\\dir\n', [['x,y', 'C:dir']]],
  ['  1  , "x"\n', [['1', 'x']]],
  [',""\n', [['', null]]],
  ['a\n"never closed,2\n3\n', [['a']]],
])('%j is read as recorded', (text, records) => {
  expect(read(text)).toEqual(records);
});

it.each([
  ['x"y,2\n', 'Invalid Input QUOTE'],
  ['"x"y,2\n', 'Invalid Input OTHER'],
])('%j is a parse error as recorded', (text, words) => {
  expect(() => read(text)).toThrow(SimpleParseError);
  expect(() => read(text)).toThrow(words);
});

it.each([
  [' first name ', 'first_name'],
  ['Last-Name', 'lastname'],
  ['2001', '__num_2001'],
  ['select', 'select_'],
  ['entry_id', 'entry_id'],
  ['日本', ''],
])('the header cell %j becomes the column %j', (cell, column) => {
  expect(simpleColumn(Buffer.from(cell, 'utf8').toString('latin1'))).toBe(column);
});

it('a cell that the recorded database refuses has no text', () => {
  const latin = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  expect(simpleText(latin('Müller'))).toBe('Müller');
  expect(simpleText(null)).toBeNull();
  expect(simpleText(latin('😀'))).toBeUndefined();
  expect(simpleText('M\u00fcller')).toBeUndefined();
  expect(simpleText('x'.repeat(65_536))).toBeUndefined();
});
