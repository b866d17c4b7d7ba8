// Which rows an importer drops that reads blocks of 32 bytes and forgets the rest of the one in which each 1,000th row ends.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rowsDropped } from '../../../src/tables/inspect/importer.ts';
import { tempDir } from '../../support/temp-dir.ts';

const dir = tempDir();
const calm = new AbortController().signal;

let count = 0;
const dropped = (text: string, rows: number): Promise<number[]> => {
  const path = join(dir, `${count++}.csv`);
  writeFileSync(path, text);
  return rowsDropped(path, rows, calm);
};

/** A header of 4 bytes, and rows of 4 bytes each: eight of them fill a block. */
const short = (rows: number, end = '\n'): string =>
  ['abc', ...Array.from({ length: rows }, (_, index) => String(index % 1000).padStart(3, '0'))]
    .map((line) => `${line.slice(0, 4 - end.length)}${end}`)
    .join('');

/** A header and rows that fill one block each. */
const whole = (rows: number): string =>
  `${'h'.repeat(31)}\n${Array.from({ length: rows }, (_, index) => `${String(index).padStart(31, '0')}\n`).join('')}`;

describe('rows that are dropped', () => {
  it('are none in a file of up to 1,000 rows', async () => {
    expect(await dropped(short(999), 999)).toEqual([]);
    expect(await dropped(short(1000), 1000)).toEqual([]);
  });

  it('are those that end in the same block as the 1,000th', async () => {
    // Row 1000 is in line 1001, which ends with byte 4003, in the block of bytes 4000 to 4031.
    expect(await dropped(short(1008), 1008)).toEqual([1002, 1003, 1004, 1005, 1006, 1007, 1008]);
    expect(await dropped(short(1001), 1001)).toEqual([1002]);
  });

  it('are none where every row fills a block', async () => {
    expect(await dropped(whole(3500), 3500)).toEqual([]);
  });

  it('are found after each 1,000 rows', async () => {
    const lines = await dropped(short(2100), 2100);
    // Line 2001 ends with byte 8003, in the block of bytes 8000 to 8031.
    expect(lines).toEqual([1002, 1003, 1004, 1005, 1006, 1007, 1008, 2002, 2003, 2004, 2005, 2006, 2007, 2008]);
  });

  it('are a row that begins in that block only if it ends in it, too', async () => {
    const long = `${'x'.repeat(40)}\n`;
    expect(await dropped(`${short(1000)}${long}${short(10)}`, 1011)).toEqual([]);
  });

  it('are reported by the line in which they begin; line ends in quotes do not end them', async () => {
    // One row of two lines and 16 bytes in the place of four rows: the 1,000th ends with byte 4015, in line 1002.
    const text = short(1008).replace('001\n002\n003\n004\n', '"1\n3456789abcd"\n');
    expect(text).toHaveLength(short(1008).length);
    expect(await dropped(text, 1005)).toEqual([1003, 1004, 1005, 1006]);
  });

  it('are the same where lines end with CR LF, and empty lines are no rows', async () => {
    expect(await dropped(short(1001, '\r\n'), 1001)).toEqual([1002]);
    expect(await dropped(`${short(1000)}\n\n\n\n${short(1)}`, 1002)).toEqual([1006, 1007]);
  });

  it('are found across the chunks of a file', async () => {
    expect(await dropped(short(40_001), 40_001)).toHaveLength(39 * 7 + 1);
  });
});
