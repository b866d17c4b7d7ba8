import { describe, expect, it } from 'vitest';
import { findLayout } from '../../../src/tables/scan/layout.ts';
import { refuseWide } from '../../../src/tables/scan/sniff.ts';

const delimiterOf = (text: string): string => findLayout(Buffer.from(text), true).dialect.delimiter;

describe('the delimiter is found from the head of a file', () => {
  it.each([
    ['comma', 'a,b,c\n1,2,3\n', ','],
    ['semicolon with decimal commas', 'name;price\nx;1,5\ny;2,25\n', ';'],
    ['tab with commas in the text', 'a\tb\nx, y, z\t1\np, q\t2\n', '\t'],
    ['vertical bar', 'a|b\n1|2\n', '|'],
    ['semicolon although quoted cells are full of commas', '"a";"b"\n"x,y,z";"1,2,3"\n', ';'],
    ['comma although a row is too short', 'a,b,c\n1,2\n4,5,6\n', ','],
    ['comma for a table of one column', 'name\nAnn\nBob\n', ','],
    ['semicolon with CR line ends', 'a;b\r1;2\r', ';'],
    ['comma for an empty file', '', ','],
  ])('%s', (_, text, delimiter) => {
    expect(delimiterOf(text)).toBe(delimiter);
  });

  it('does not count the row that the end of the head cuts', () => {
    const head = Buffer.from('a;b;c\n1;2;3\n4,5,6,7');
    expect(findLayout(head, false).dialect.delimiter).toBe(';');
  });

  it('refuses UTF-16 and UTF-32 by name', () => {
    expect(() => refuseWide(Buffer.from([0xfe, 0xff, 0, 0x61]))).toThrow('UTF-16');
    expect(() => refuseWide(Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]))).toThrow('UTF-32');
  });
});
