import { expect, it } from 'vitest';
import {
  blockBytes,
  SimpleParser,
  simpleColumn,
  simpleText,
} from '../../../src/embedded-portal/profiles/dkan/simple-import.ts';

const read = (text: string): (string | null)[][] => {
  const parser = new SimpleParser({});
  const records: (string | null)[][] = [];
  for (let at = 0; at < text.length; at += blockBytes) records.push(...parser.feed(text.slice(at, at + blockBytes)));
  return [...records, ...parser.finish()];
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
  ['"a\n\nb",2\n', [['a\nb', '2']]],
  ['a,b\n  \n1,2\n', [['a', 'b'], [''], ['1', '2']]],
  ['\ta ,"b"\t\n', [['a', 'b']]],
  ['"lost" kept\n', [['kept']]],
  ['a\n1,end\\\n', [['a']]],
  ['a\n1,end\\\n2\n', [['a'], ['1', 'end\n2']]],
  ['a\n"never closed,2\n3\n', [['a']]],
])('%j is read as recorded', (text, records) => {
  expect(read(text)).toEqual(records);
});

it.each([
  ['x"y,2\n', 'Invalid Input QUOTE'],
  ['"x"y,2\n', 'Invalid Input OTHER'],
  ['"say \\""hi\\"""\n', 'Invalid Input OTHER'],
  ['"x"\\y\n', 'Invalid Input ESCAPE'],
  ['x\\"y\n', 'Invalid Input QUOTE'],
])('%j is a parse error as recorded', (text, words) => {
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

it('a parse error tells nothing of a block that cuts a character in two', () => {
  const block = Buffer.from(`${'x'.repeat(blockBytes - 1)}ü"`, 'utf8').toString('latin1');
  const faultOf = (text: string): unknown => {
    try {
      return read(text);
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(faultOf(block)).toBe('Error parsing CSV: ');
  expect(faultOf(block.slice(2))).toContain('"Field": "xxx');
});
