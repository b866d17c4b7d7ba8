// Files of tables are closed again, wherever their reading ends.
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rowChanges } from '../../src/tables/changes/changes.ts';
import { encoderOf } from '../../src/tables/scan/encodings.ts';
import { openTable } from '../../src/tables/scan/open-table.ts';
import { fileOf } from '../support/table-file.ts';
import { tempDir } from '../support/temp-dir.ts';
import { textOf } from './transform/support/made.ts';

/** Names of files, as given here, that this process has open. */
const openOf = (names: string[]): string[] => {
  const paths = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ''; // that of the folder itself
    }
  });
  return names.filter((name) => paths.some((path) => path.endsWith(name)));
};

const steps = { table: [{ fill: { in: ['n'], with: '0' } }] };

it('a table that is refused under steps is closed', async () => {
  const refused: [string, Buffer | string][] = [
    ['closing-unclear.csv', 'Report\nname;town\nAnn;Bonn\nBob;Ulm\n'],
    ['closing-titles.csv', 'Spending of the city\n\nid,name,n\n1,Ann,2\n2,Bob,3\n'],
    ['closing-wide.csv', encoderOf('utf-16le')('id,n\n1,2\n')],
    ['closing-quote.csv', 'id,n\n1,"2" x\n'],
  ];
  for (const [name, content] of refused) await expect(textOf(name, content, steps)).rejects.toThrow();
  expect(openOf(refused.map(([name]) => name))).toEqual([]);
});

it('a table with bytes that are no text in the lines that are skipped is refused, and closed', async () => {
  const content = Buffer.from('ti\x82\nid,n\n1,2\n', 'latin1');
  const skipped = textOf('closing-skipped.csv', content, { encoding: 'shift_jis', skipRows: 1, ...steps });
  await expect(skipped).rejects.toMatchObject({ code: 'table-encoding', line: 1 });
  expect(openOf(['closing-skipped.csv'])).toEqual([]);
});

it('a file that cannot be decoded is closed again', () => {
  const path = fileOf('id,n\n1,2\n');
  const cancelled = new Int32Array(new SharedArrayBuffer(8));
  expect(() => openTable({ path, encoding: 'no-encoding', cancelled })).toThrow(RangeError);
  expect(openOf([path])).toEqual([]);
});

it('two versions are closed, of which only the beginning was read for their columns', async () => {
  const dir = tempDir();
  const [before, after] = ['closing-before.csv', 'closing-after.csv'].map((name) => join(dir, name)) as [
    string,
    string,
  ];
  const text = `id,n\n${Array.from({ length: 50_000 }, (_, at) => `${at},1\n`).join('')}`;
  writeFileSync(before, text);
  writeFileSync(after, text.replace('7,1', '7,2'));
  const rows = 50_000;
  const versions = { before: { path: before, rows }, after: { path: after, rows } };
  expect(await rowChanges({ ...versions, key: ['id'], rowBytes: 1e6, examples: 20 })).toMatchObject({ changed: 1 });
  expect(openOf(['closing-before.csv', 'closing-after.csv'])).toEqual([]);
});
