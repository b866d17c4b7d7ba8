import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lineOfFile } from '../../src/util/file-line.ts';
import { tempDir } from '../support/temp-dir.ts';

it('a line is that of the file as it is now', () => {
  const path = join(tempDir(), 'table.csv');
  writeFileSync(path, 'id,name\r\n1,a\u0007\n2,b');
  expect([1, 2, 3, 4].map((line) => lineOfFile(path, line))).toEqual(['id,name', '1,a\ufffd', '2,b', null]);
  writeFileSync(path, 'id,name\r\n1,c\u0007\n2,d');
  utimesSync(path, 1, 1);
  expect([2, 3, 3].map((line) => lineOfFile(path, line))).toEqual(['1,c\ufffd', '2,d', '2,d']);
});

it('a long line is cut, also within a character', () => {
  const path = join(tempDir(), 'table.csv');
  writeFileSync(path, `${'x'.repeat(199)}\u{1f333}\n`);
  expect(lineOfFile(path, 1)).toBe(`${'x'.repeat(199)}\ufffd`);
});

it('there is none in what is empty, or no text, or no longer there', () => {
  const path = join(tempDir(), 'table.csv');
  expect(lineOfFile(path, 1)).toBeNull();
  writeFileSync(path, '');
  expect(lineOfFile(path, 1)).toBeNull();
  writeFileSync(path, 'PK\u0003\u0004\0');
  expect(lineOfFile(path, 1)).toBeNull();
});
