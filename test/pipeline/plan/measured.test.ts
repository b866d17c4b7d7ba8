import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DatasetWish } from '../../../src/model/wish.ts';
import { measured, measuredWishes } from '../../../src/pipeline/plan/measured.ts';
import { datasetWish } from '../../../src/sources/gather/dataset-wish.ts';
import { WishList } from '../../../src/sources/wish-list.ts';
import type { MeasuredColumn } from '../../../src/tables/measure/measure.ts';

const column = (name: string, kind: MeasuredColumn['kind'], least: string, most: string): MeasuredColumn => ({
  ...{ name, kind, empty: 0, least, most },
});

const wish: DatasetWish = datasetWish(
  { name: 'm' },
  {
    ...{ id: 'd', title: 'D', details: {} },
    resources: [{ id: 'r', title: 'R', details: {}, source: { kind: 'file', path: '/r.csv', name: 'r.csv' } }],
  },
);

const fieldsOf = (columns: MeasuredColumn[], isWhole = true) =>
  measured(wish, new Map([['m/d/r', { rows: 3, columns }]]), isWhole).fields;

const timeOf = (...columns: MeasuredColumn[]): unknown => {
  const { field_temporal_coverage: time } = fieldsOf(columns) as Record<
    string,
    { und: { value: string; value2: string }[] }
  >;
  return time?.und.map(({ value, value2 }) => [value.slice(0, 10), value2.slice(0, 10)])[0] ?? null;
};
const areaOf = (...columns: MeasuredColumn[]): unknown => {
  const { field_spatial: area } = fieldsOf(columns) as Record<string, { und: { wkt: string }[] }>;
  return area?.und[0]?.wkt ?? null;
};

describe('what a table covers', () => {
  it.each([
    ['the only dates', [column('when', 'date', '2024-01-01T10:00', '2024-03-01T10:00')], ['2024-01-01', '2024-03-01']],
    ['years that are called so', [column('Year', 'year', '2001', '2004')], ['2001-01-01', '2004-12-31']],
    ['no years that are only numbers', [column('count', 'year', '1900', '2000')], null],
    [
      'of several dates the one that is called so',
      [column('born', 'date', '1950-01-01', '1960-01-01'), column('date', 'date', '2024-01-01', '2024-02-01')],
      ['2024-01-01', '2024-02-01'],
    ],
    [
      'nothing where it is unclear',
      [column('born', 'date', '1950-01-01', '1960-01-01'), column('died', 'date', '2024-01-01', '2024-02-01')],
      null,
    ],
  ] as const)('in time: %s', (_what, columns, span) => {
    expect(timeOf(...columns)).toEqual(span);
  });

  it.each([
    ['the box of its points', ['-10', '10', '170', '180'], 'POLYGON ((170 -10, 180 -10, 180 10, 170 10, 170 -10))'],
    ['one point', ['1', '1', '2', '2'], 'POINT (2 1)'],
    ['nothing where values are no degrees', ['0', '91', '0', '1'], null],
    ['nothing where they are metres', ['5800000', '5900000', '300000', '400000'], null],
  ] as const)('in space: %s', (_what, [south, north, west, east], wkt) => {
    expect(areaOf(column('lat', 'number', south, north), column('lng', 'number', west, east))).toBe(wkt);
  });

  it('is not told of a dataset by some of its tables', () => {
    expect(fieldsOf([column('date', 'date', '2024-01-01', '2024-02-01')], false)).toEqual(wish.fields);
  });
});

it('what is known of files is kept while runs measure them, and swept later', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'sluice-measured-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const path = join(stateDir, 'r.csv');
  const known = join(stateDir, 'measured');
  const resources = wish.resources.map((each) => ({ ...each, source: { kind: 'file', path, name: 'r.csv' } as const }));
  const measure = async (): Promise<void> => {
    const tools = { stateDir, signal: new AbortController().signal, isWhole: true };
    const list = await measuredWishes(WishList.of([{ ...wish, resources }]), tools);
    await list.close();
  };
  const age = (name: string, days: number): void => {
    const at = Date.now() / 1000 - days * 86_400;
    utimesSync(join(known, name), at, at);
  };
  writeFileSync(path, 'a,b\n1,2\n');
  await measure();
  const [name = ''] = readdirSync(known);
  const kept = JSON.parse(readFileSync(join(known, name), 'utf8'));
  kept.facts.hashedAt += 60_000; // long after the file was written: it is not read again
  writeFileSync(join(known, name), JSON.stringify(kept));
  for (const other of ['gone.json', 'lately.json']) writeFileSync(join(known, other), '{}');
  age('gone.json', 31);
  age('lately.json', 29);
  age(name, 31);
  await measure();
  expect(readdirSync(known).sort()).toEqual(['lately.json', name].sort());
});
