// Which chart rows become, and what is in it.
import { describe, expect, it } from 'vitest';
import { chartHtml, chartOf, columnOf, numbersIn } from '../../../src/embedded-portal/pages/chart.ts';

describe('a column of numbers', () => {
  it.each([
    [
      ['1', '-2', '3.5', ''],
      [1, -2, 3.5, null],
    ],
    [
      ['1,5', '2,25'],
      [1.5, 2.25],
    ],
    [
      ['1.234.567', '12,5'],
      [1_234_567, 12.5],
    ],
    [
      ['1,234,567', '12.5'],
      [1_234_567, 12.5],
    ],
    [
      ["12'345.5", '1'],
      [12_345.5, 1],
    ],
    [
      ['12 345', '1 345,5'],
      [12_345, 1345.5],
    ],
    [
      ['12 %', '3%'],
      [12, 3],
    ],
    [
      ['.5', '-0.25', '+1'],
      [0.5, -0.25, 1],
    ],
  ])('%j is read', (cells, numbers) => {
    expect(numbersIn(cells)).toEqual(numbers);
  });

  it.each([
    [['1,234', '5,678']], // thousands, or three decimals
    [['01234', '12345']],
    [['12345678901234567', '1']],
    [['1', 'n/a']],
    [['1.2.3', '1']],
    [['-', '+']],
    [['', '']],
    [[]],
    [['2026-01-01']],
    [['1e400']],
  ])('%j is none', (cells) => {
    expect(numbersIn(cells)).toBeNull();
  });
});

const chart = (names: string[], rows: string[][], wanted?: unknown) =>
  chartOf(
    names.map((name, at) =>
      columnOf(
        name,
        rows.map((row) => row[at] ?? ''),
      ),
    ),
    wanted,
  );

describe('the chart', () => {
  it('is a line over time, in order of time, with the mean of rows at the same time', () => {
    const rows = [
      ['2026-01-03', '30'],
      ['2026-01-01', '10'],
      ['2026-01-02', ''],
      ['2026-01-01', '20'],
      ['2026-01-10', '40'],
    ];
    expect(chart(['day', 'count'], rows)).toMatchObject({
      kind: 'line',
      column: 'count',
      words: 'count by day, the mean of the rows at the same time',
      points: [
        { label: '2026-01-01', value: 15 },
        { label: '2026-01-03', value: 30 },
        { label: '2026-01-10', value: 40 },
      ],
      values: [30, 10, 20, 40],
    });
    const line = chart(['day', 'count'], rows);
    expect(line && chartHtml(line, String, { shown: 5, total: 5 }).text).toContain(
      'count by day, the mean of the rows at the same time. 4 values in 5 rows: smallest 10, largest 40, mean 25.',
    );
  });

  it.each([
    ['year', ['2001', '2002', '2004']],
    ['monat', ['2026-01', '2026-02', '2026-05']],
    ['datum', ['31.01.2026', '01.02.2026', '1.3.2026']],
    ['at', ['2026-01-01T10:00:00Z', '2026-01-01T11:00:00Z', '2026-01-01 12:30']],
  ])('takes a column %s for time', (name, cells) => {
    const rows = cells.map((cell, index) => [cell, String(index * index)]);
    expect(chart([name, 'v'], rows)).toMatchObject({ kind: 'line', words: `v by ${name}` });
  });

  it('is a bar for each of few rows with names, below and above zero', () => {
    const rows = [
      ['7', 'North', '-5', '1'],
      ['9', 'South', '15', '2'],
    ];
    const bars = chart(['nr', 'district', 'change', 'other'], rows);
    expect(bars).toMatchObject({
      kind: 'bars',
      column: 'change',
      words: 'change by district',
      choices: ['change', 'other'],
    });
    if (bars === null) throw new Error('no chart');
    const { text } = chartHtml(bars, (name) => `/?chart=${name}`, { shown: 2, total: 2 });
    expect([...text.matchAll(/<rect x="([^"]*)" width="([^"]*)"/g)].map(([, x, width]) => [x, width])).toEqual([
      ['0.00%', '25.00%'],
      ['25.00%', '75.00%'],
    ]);
    expect(text).toContain('smallest -5, largest 15, mean 5.');
    expect(text).toContain('<a href="/?chart=other">other</a>');
    expect(chart(['nr', 'district', 'change', 'other'], rows, 'other')).toMatchObject({ column: 'other' });
    expect(chart(['nr', 'district', 'change', 'other'], rows, 'nr')).toMatchObject({ column: 'change' });
  });

  it('is how often values occur, where rows are many and have no time', () => {
    const rows = Array.from({ length: 100 }, (_, at) => ['x', String(at % 10)]);
    const spread = chart(['name', 'size'], rows);
    const parts = Array.from({ length: 10 }, (_, at) => ({ label: `${at} to below ${at + 1}`, value: 10 }));
    expect(spread).toMatchObject({ kind: 'spread', words: 'How often values of size occur', points: parts });
    const small = chart(['v'], [['-0.25'], ['0.35'], ['0.1'], ...Array.from({ length: 30 }, () => ['0.1'])]);
    if (small?.kind !== 'spread') throw new Error('no spread');
    expect(small.points.reduce((sum, { value }) => sum + value, 0)).toBe(33);
    expect(small.points.map(({ label }) => label)).toContain('-0.25 to below -0.2');
  });

  it.each([
    ['no rows', ['a'], []],
    ['texts only', ['a', 'b'], [['x', 'y']]],
    ['numbers that are keys, codes and places only', ['id', 'plz', 'lat'], [['5', '10115', '52.5']]],
    ['a serial number only', ['row'], Array.from({ length: 30 }, (_, at) => [String(at + 1)])],
    ['the same number everywhere', ['n'], Array.from({ length: 30 }, () => ['4'])],
    ['empty cells only', ['n'], [[''], ['']]],
  ])('is none for %s', (_, columns, rows) => {
    expect(chart(columns, rows)).toBeNull();
  });

  it.each([
    [
      'one value',
      [
        ['2026-01-01', '5'],
        ['2026-01-02', ''],
        ['2026-01-03', ''],
      ],
    ],
    [
      'zeros',
      [
        ['2026-01-01', '0'],
        ['2026-01-02', '0'],
        ['2026-01-03', '0'],
      ],
    ],
    [
      'negative numbers',
      [
        ['2026-01-01', '-5'],
        ['2026-01-02', '-5'],
        ['2026-01-03', '-7'],
      ],
    ],
    [
      'very large and small numbers',
      [
        ['2026-01-01', '123456789012345'],
        ['2026-01-02', '0.00001'],
        ['2026-01-03', '1'],
      ],
    ],
  ])('draws %s without a coordinate that is no number', (_, rows) => {
    const line = chart(['day', 'value'], rows);
    if (line === null) throw new Error('no chart');
    const { text } = chartHtml(line, () => '', { shown: 3, total: 9 });
    expect(text).not.toMatch(/NaN|Infinity|undefined/);
    expect(text).toContain('in the first 3 of 9 rows');
  });
});
