import { describe, expect, it } from 'vitest';
import { sniffTable } from '../../src/tables/scan/sniff.ts';

const delimiterOf = (text: string): string => sniffTable(Buffer.from(text), true).delimiter;

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
    expect(sniffTable(head, false).delimiter).toBe(';');
  });

  it('tells a byte order mark', () => {
    expect(sniffTable(Buffer.from('\ufeffa;b\n'), true)).toEqual({ bom: true, delimiter: ';' });
  });

  it('refuses UTF-16 and UTF-32 by name', () => {
    expect(() => sniffTable(Buffer.from([0xfe, 0xff, 0, 0x61]), true)).toThrow('UTF-16');
    expect(() => sniffTable(Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), true)).toThrow('UTF-32');
  });
});
