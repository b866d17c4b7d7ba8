import { describe, expect, it } from 'vitest';
import { EncodingWatch } from '../../../src/tables/scan/encoding-watch.ts';
import { wideOf } from '../../../src/tables/scan/encodings.ts';

/** Offset of the first byte that is no UTF-8, -1 without one; where its chunk begins when the character began before. */
const check = (content: Buffer, size: number): number => {
  const watch = new EncodingWatch();
  for (let at = 0; at < content.length; at += size) {
    const [bad] = watch.feed(content.subarray(at, at + size));
    if (bad !== undefined) return at + bad;
  }
  return watch.end() === 0 ? -1 : content.length - watch.end();
};

describe('the UTF-8 check', () => {
  it.each([
    ['ASCII', Buffer.from('plain'), -1],
    ['characters of two, three and four bytes', Buffer.from('ü日😀'), -1],
    ['a Latin-1 letter', Buffer.from('ab\xfccd', 'latin1'), 2],
    ['a continuation byte alone', Buffer.from([0x61, 0x80]), 1],
    ['an overlong form', Buffer.from([0x61, 0xc0, 0xaf]), 1],
    ['a surrogate', Buffer.from([0x61, 0x62, 0xed, 0xa0, 0x80]), 2],
    ['a code point above U+10FFFF', Buffer.from([0xf4, 0x90, 0x80, 0x80]), 0],
    ['a character cut off at the end', Buffer.from([0x61, 0xe6, 0x97]), 1],
    ['a character broken off by a letter', Buffer.from([0x61, 0xe6, 0x97, 0x61]), 1],
  ])('finds the first bad byte of %s at every cut, or the start of the chunk behind it', (_, content, bad) => {
    for (const size of [1, 2, 3, 4, 100]) {
      const found = check(content, size);
      expect(found === bad || (found > bad && found < bad + 4 && found % size === 0), `chunks of ${size}`).toBe(true);
    }
  });
});

describe('an encoding of two or four bytes a character', () => {
  it('is known by the first bytes', () => {
    expect(wideOf(Buffer.from([0xfe, 0xff, 0, 0x61]))?.encoding).toBe('UTF-16BE');
    expect(wideOf(Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]))?.encoding).toBe('UTF-32');
  });
});
