// Numbers that portals keep as text: what `check` reports, and the step to paste.
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { castLines } from '../../src/commands/check-finding.ts';
import { inspectTable } from '../../src/tables/check.ts';
import { fileOf } from '../support/table-file.ts';
import { textOf } from './transform/support/made.ts';

const inspect = (values: string[]) =>
  inspectTable(fileOf(`id;Betrag\n${values.map((value, at) => `${at};${value}\n`).join('')}`));

/** Values of a column, and the numbers that the step makes of them. */
const columns: [values: string[], numbers: string[]][] = [
  [
    ['1,5', '2,75', '-3'],
    ['1.5', '2.75', '-3'],
  ],
  [
    ['1.234,5', '2,75', '7'],
    ['1234.5', '2.75', '7'],
  ],
  [
    ['1.234.567', '2.345.678'],
    ['1234567', '2345678'],
  ],
  [
    ['1,234,567', '12.5'],
    ['1234567', '12.5'],
  ],
  [
    ['1,234', '1,234.5'],
    ['1234', '1234.5'],
  ],
  [
    ['1,234', '2,5'],
    ['1.234', '2.5'],
  ],
  [
    ['1 234', '12'],
    ['1234', '12'],
  ],
  [
    ['1 234,5', '2,5'],
    ['1234.5', '2.5'],
  ],
  [
    ['1\u00a0234.5', '12'],
    ['1234.5', '12'],
  ],
  [
    ["1'234.5", "12'000"],
    ['1234.5', '12000'],
  ],
];

describe('numbers in the notation of a country', () => {
  it.each(columns)('%j: the portal keeps text, and the printed step makes numbers', async (values, numbers) => {
    const inspection = await inspect(values);
    const [remark] = inspection.findings.filter(({ kind }) => kind === 'numbers-local');
    expect(remark?.message).toMatch(/^portals keep the column as text/);
    const [line = '', ...others] = castLines(inspection);
    expect(others).toEqual([]);
    const table = load(line.slice(line.indexOf('- cast'))) as unknown[];
    const rows = (
      await textOf('t.csv', `id;Betrag\n${values.map((value, at) => `${at};${value}\n`).join('')}`, { table })
    ).split('\n');
    expect(rows.slice(1, -1).map((row) => row.split(',')[1])).toEqual(numbers);
  });

  it.each([[['1,234', '2,345']], [['1,234', '7']], [['-1,000']]])(
    '%j: get both steps, because the values are ambiguous',
    async (values) => {
      const lines = castLines(await inspect(values));
      expect(lines).toEqual([expect.stringMatching(/add one of these.*decimal: ",".* or .*group: ","/)]);
    },
  );

  it.each([
    [['1.5', '2']],
    [['1,5', '2.5']],
    [['1.234', '1.234.567']],
    [['1,5', 'n/a']],
    [['1,5', '007']],
    [['12%', '1,5%']],
    [['1 234', "1'234"]],
  ])('%j: get no step', async (values) => {
    expect(castLines(await inspect(values))).toEqual([]);
  });
});
