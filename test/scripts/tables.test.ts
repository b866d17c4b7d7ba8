import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isMet, runCases, type TableCase } from '../../scripts/tables.ts';
import { isWhole } from '../support/extent.ts';
import { root } from '../support/pages.ts';
import { tempDir } from '../support/temp-dir.ts';

const folderOf = (cases: (TableCase & { content: string })[]): string => {
  const dir = tempDir();
  for (const { file, content } of cases) writeFileSync(join(dir, file), content);
  writeFileSync(join(dir, 'cases.json'), JSON.stringify(cases.map(({ content: _, ...rest }) => rest)));
  return dir;
};

const none = { header: null, rows: null };

it('publishes a folder of cases and compares what is live with what is right', async () => {
  const results = await runCases(
    folderOf([
      { file: 'a.csv', wanted: 'exact', header: ['a', 'b'], rows: [['1', 'x y']], content: 'a;b\n1;x y\n' },
      { file: 'b.csv', wanted: 'exact', header: ['a', 'b'], rows: [['2', 'x']], content: 'a,b\n1,x\n' },
      { file: 'c.csv', wanted: 'refuse_ok', header: ['a', 'c'], rows: [['1', '2']], content: 'a,b\n1,2\n' },
      { file: 'd.csv', wanted: 'refuse', ...none, content: 'a,b\n1\n' },
      { file: 'e.csv', wanted: 'refuse', ...none, content: 'a,b\n1,2\n' },
      { file: 'f.pdf', wanted: 'refuse_ok', ...none, content: '%PDF' },
    ]),
  );
  expect(results.map((result) => [result.of.file, result.verdict, isMet(result)])).toEqual([
    ['a.csv', 'RIGHT', true],
    ['b.csv', 'WRONG', false],
    ['c.csv', 'WRONG', false],
    ['d.csv', 'REFUSED', true],
    ['e.csv', 'LOOK', false],
    ['f.pdf', 'AS-IS', false],
  ]);
  expect(results[1]?.why).toBe('row 1: ["1","x"] instead of ["2","x"]');
});

const given = join(root, '../shared/data/tables');

describe.runIf(isWhole && existsSync(join(given, 'cases.json')))(
  'the given tables (where ../shared is present)',
  () => {
    it('are live as they should be, or refused', async () => {
      expect((await runCases(given)).filter((result) => !isMet(result)).map(({ of }) => of.file)).toEqual([]);
    });
  },
);
