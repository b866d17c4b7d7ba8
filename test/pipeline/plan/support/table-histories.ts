// Histories of kinds of tables as publishers have them, each version a table that is right, and the ways to ruin one; from a seed.
import { type Random, randomOf } from '../../../support/random.ts';

/** A version of a table as text. */
export type Version = string;

/** A kind of table and its versions, oldest first. */
export interface TableKind {
  name: string;
  versions: Version[];
}

const header = 'station,date,name,value,status';
const names = ['Harbour', 'Old Mill', 'Central', 'North Gate', 'Elm Road'];

interface RowOf {
  /** Shares of cells without a value. */
  noValue?: number;
  noStatus?: number;
  /** Share of values that are words. */
  words?: number;
}

const dayOf = (index: number): string => new Date(Date.UTC(2021, 0, 1 + (index % 1500))).toISOString().slice(0, 10);

const rowOf = (index: number, random: Random, { noValue = 0, noStatus = 0, words = 0 }: RowOf = {}): string => {
  const station = String((index * 37) % 900).padStart(4, '0');
  const number = (((index * 7919) % 9000) / 10 + 0.5).toFixed(1);
  const value = random.chance(noValue) ? '' : random.chance(words) ? 'n/a' : number;
  return `${station},${dayOf(index)},${names[index % 5]},${value},${random.chance(noStatus) ? '' : 'final'}`;
};

const tableOf = (rows: number, random: Random, how: RowOf = {}, from = 0): Version =>
  `${header}\n${Array.from({ length: Math.max(1, Math.round(rows)) }, (_, index) => `${rowOf(from + index, random, how)}\n`).join('')}`;

const replaced = (table: Version, from: string, to: string): Version => table.replace(from, to);

type Making = (random: Random, at: number) => Version;

const kinds: [name: string, versions: number, make: Making][] = [
  ['grown daily', 120, (r, at) => tableOf(600 + at * 5 + r.int(0, 3), r)],
  ['a window of 30 days', 120, (r, at) => tableOf(500 + r.int(-25, 25), r, {}, at * 16)],
  ['replaced yearly', 20, (r, at) => tableOf(400 * (1 + r.int(-8, 8) / 100), r, {}, at * 400)],
  ['the months of a year', 96, (r, at) => tableOf((1 + (at % 12)) * 30, r, {}, at * 30)],
  ['the days of a year', 730, (r, at) => tableOf((1 + (at % 365)) * 2, r)],
  ['a third at weekends', 140, (r, at) => tableOf((at % 7 >= 5 ? 100 : 300) + r.int(-12, 12), r, {}, at)],
  ['three times as much in summer', 365, (r, at) => tableOf(200 - 100 * Math.cos((at / 365) * 2 * Math.PI), r)],
  ['corrected', 100, (r, at) => replaced(tableOf(300, r), `,${(at % 90) / 10 + 0.5},`, ',7.7,')],
  ['a list of twelve', 60, (r) => tableOf(12 + r.int(-1, 1), r)],
  ['young, grown monthly', 60, (r, at) => tableOf(20 + at * 20, r)],
  ['current events', 200, (r, at) => tableOf(r.int(60, 110), r, {}, at * 100)],
  ['rare remarks', 100, (r, at) => tableOf(300 + at, r, { noStatus: 0.96 })],
  [
    'new columns yearly',
    40,
    (r, at) =>
      tableOf(300, r)
        .replace(/$/gm, '')
        .replace(/^(.+)$/gm, `$1${',y'.repeat(Math.floor(at / 10))}`)
        .replace(
          /^.*$/m,
          `${header}${Array.from({ length: Math.floor(at / 10) }, (_, index) => `,y${index}`).join('')}`,
        ),
  ],
  ['words among numbers', 100, (r) => tableOf(300, r, { words: r.next() * 0.2 })],
  ['filled in later', 100, (r, at) => tableOf(300 + at, r, { noStatus: Math.max(0, 0.6 - at / 100) })],
  ['a quarterly survey', 24, (r, at) => tableOf(500 * (1 + r.int(-7, 7) / 100), r, {}, at * 500)],
  ['duplicates removed at times', 100, (r, at) => tableOf(400 + at * 2 - (r.chance(0.1) ? r.int(10, 40) : 0), r)],
  ['sensors with outages', 200, (r, at) => tableOf(240, r, { noValue: r.chance(0.1) ? 0.4 : 0.02 }, at)],
  ['rows in another order', 100, (r, at) => tableOf(300, r, {}, at * 97)],
  [
    'another spelling of the header',
    60,
    (r, at) => tableOf(300, r).replace('station,date', at % 20 === 19 ? ' Station,DATE' : 'station,date'),
  ],
];

/** The kinds of tables with their versions. */
export const tableKinds = (seed: number): TableKind[] =>
  kinds.map(([name, count, make], index) => {
    const random = randomOf(seed + index);
    return { name, versions: Array.from({ length: count }, (_, at) => make(random, at)) };
  });

/** A daily table of so many rows, after that many days. */
export const dailyTable = (rows: number, day: number): Version => tableOf(rows + day * 3, randomOf(day));

const linesOf = (table: Version): string[] => table.trimEnd().split('\n');
const joined = (lines: string[]): Version => `${lines.join('\n')}\n`;
const first =
  (rows: number) =>
  (table: Version): Version =>
    joined(linesOf(table).slice(0, 1 + rows));
const eachRow =
  (change: (cells: string[], row: number) => string[]) =>
  (table: Version): Version =>
    joined(linesOf(table).map((line, row) => change(line.split(','), row).join(',')));
const eachCell = (column: number, change: (cell: string) => string) =>
  eachRow((cells, row) => (row === 0 ? cells : cells.with(column, change(cells[column] ?? ''))));

/** Ways in which a table was ruined while every run was green. */
export const incidents: [name: string, ruin: (table: Version) => Version][] = [
  ['2 rows', first(2)],
  ['3 rows', first(3)],
  ['4 rows', first(4)],
  ['833 rows', first(833)],
  ['the header only', first(0)],
  ['half of the rows', (table) => joined(linesOf(table).slice(0, Math.floor(linesOf(table).length / 2)))],
  ['all rows twice', (table) => joined([...linesOf(table), ...linesOf(table).slice(1)])],
  ['a column lost', eachRow((cells) => cells.toSpliced(2, 1))],
  ['a column renamed', eachRow((cells, row) => (row === 0 ? cells.with(3, 'val') : cells))],
  ['a column emptied', eachCell(3, () => '')],
  ['decimal commas', eachCell(3, (cell) => (cell === '' ? '' : `"${cell.replace('.', ',')}"`))],
  ['leading zeros lost', eachCell(0, (cell) => String(Number(cell)))],
];
