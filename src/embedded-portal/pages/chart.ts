// The chart of a column of numbers: what it shows is decided from the rows, and then drawn as SVG, without scripts.
import { type Html, html, trusted } from '../../util/html.ts';
import { numberText, plotHtml, stepOf, ticksOf } from '../../util/plot.ts';
import { countText, plural } from '../../util/plural.ts';

const spaces = "\u0020\u00a0\u202f'";

/** The two ways to write a number. One with zeros in front or very many digits is a code. */
const notations = [
  { group: ',', decimal: '.' },
  { group: '.', decimal: ',' },
].map(({ group, decimal }) => ({
  decimal,
  isNumber: new RegExp(
    `^[-+]?(?:0|[1-9]\\d{0,14}|[1-9]\\d{0,2}(?:[${group}${spaces}]\\d{3}){1,4})?(?:[${decimal}]\\d{1,15})?(?: ?%)?$`,
  ),
  marks: new RegExp(`[${group}${spaces}%]`, 'g'),
}));

type Numbers = (number | null)[];

const readBy = (cells: readonly string[], { decimal, isNumber, marks }: (typeof notations)[number]): Numbers | null => {
  const numbers: Numbers = [];
  for (const cell of cells) {
    const text = cell.trim();
    const number = isNumber.test(text) ? Number.parseFloat(text.replace(marks, '').replace(decimal, '.')) : Number.NaN;
    if (text !== '' && Number.isNaN(number)) return null;
    numbers.push(text === '' ? null : number);
  }
  return numbers;
};

/** The numbers of a column, null for an empty cell; null for a column of anything else, or that reads in two ways. */
export const numbersIn = (cells: readonly string[]): Numbers | null => {
  const [first, second = first] = notations.map((notation) => readBy(cells, notation)).filter((read) => read !== null);
  const isSure = first?.some((number) => number !== null) && first.every((number, at) => number === second?.[at]);
  return first !== undefined && isSure ? first : null;
};

/** The moment of a date in milliseconds; NaN for what is none. */
const timeIn = (cell: string): number => {
  const [, year, month = '1', day = '1', time = '00:00'] =
    /^(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2})(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?Z?)?)?)?$/.exec(
      cell.replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})$/, '$3-$2-$1'),
    ) ?? [];
  return Date.parse(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}T${time}Z`);
};

/** Names of numbers that count or measure nothing. */
const codeName = /(?:^|_)(?:id|nr|no|number|nummer|code|key|plz|zip|postcode|lat|latitude|lon|lng|longitude|x|y)$/;
const yearName = /year|jahr/;

/** A column of a table, as a chart sees it. */
export interface Column {
  name: string;
  cells: string[];
  numbers: Numbers | null;
  /** The moments of a column of dates, or of years where its name says so. */
  times: number[] | null;
  /** True for numbers that count or measure something. */
  isMeasure: boolean;
}

export const columnOf = (name: string, cells: string[]): Column => {
  const numbers = numbersIn(cells);
  const moments = numbers === null || yearName.test(name) ? cells.map(timeIn) : [];
  const times = moments.length === 0 || moments.some(Number.isNaN) ? null : moments;
  const isSerial = cells.length > 2 && numbers?.every((number, at) => number === (numbers[0] ?? 0) + at) === true;
  return {
    name,
    cells,
    numbers,
    times,
    isMeasure: numbers !== null && times === null && !codeName.test(name) && !isSerial,
  };
};

interface Point {
  label: string;
  at: number;
  value: number;
}

/** A chart of a column: a line over time, a bar for each row, or how many values there are in each part of their range. */
export type Chart = {
  column: string;
  /** Columns that can be shown, this one among them. */
  choices: string[];
  values: number[];
} & (
  | { kind: 'line' | 'bars'; by: string; points: Point[] }
  | { kind: 'spread'; from: number; step: number; counts: number[] }
);

type Drawn<Kind> = Extract<Chart, { kind: Kind }>;

const mostBars = 24;

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The mean of the values at each moment, in order of time. */
const overTime = (points: Point[]): Point[] =>
  Array.from(
    Map.groupBy(points, ({ at }) => at),
    ([at, all]) => {
      return { at, label: all[0]?.label ?? '', value: meanOf(all.map(({ value }) => value)) };
    },
  ).sort((a, b) => a.at - b.at);

/** The chart of the column `wanted`, or of the first one that counts or measures something; null where there is none. */
export const chartOf = (all: readonly Column[], wanted?: unknown): Chart | null => {
  const measures = all.filter(({ isMeasure }) => isMeasure);
  const shown = measures.find(({ name }) => name === wanted) ?? measures[0];
  if (!shown?.numbers) return null;
  const { name: column, numbers } = shown;
  const values = numbers.filter((number) => number !== null);
  const base = { column, choices: measures.map(({ name }) => name), values };
  const pointsBy = ({ cells, times }: Column): Point[] =>
    numbers.flatMap((value, row) =>
      value === null ? [] : [{ label: cells[row] ?? '', at: times?.[row] ?? row, value }],
    );
  const time = all.find(({ times }) => new Set(times).size > 2);
  if (time !== undefined) return { ...base, kind: 'line', by: time.name, points: overTime(pointsBy(time)) };
  const isName = ({ cells, isMeasure }: Column): boolean => !isMeasure && new Set(cells).size === cells.length;
  const names = all.find((one) => one.numbers === null && !codeName.test(one.name) && isName(one)) ?? all.find(isName);
  if (names !== undefined && values.length <= mostBars) {
    return { ...base, kind: 'bars', by: names.name, points: pointsBy(names) };
  }
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low === high) return null;
  const step = stepOf(high - low, 12);
  const first = Math.floor(low / step);
  const parts = Map.groupBy(values, (value) => Math.floor(value / step) - first);
  const counts = Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => parts.get(at)?.length ?? 0);
  return { ...base, kind: 'spread', from: first * step, step, counts };
};

const lineHtml = ({ column, by, points }: Drawn<'line' | 'bars'>): Html => {
  const ticks = ticksOf(points.map(({ value }) => value));
  const [high = 1, low = 0] = [ticks[0], ticks.at(-1)];
  const [first, last] = [points[0], points.at(-1)];
  const [since = 0, until = 1] = [first?.at, last?.at];
  const place = ({ value, at }: Point): string =>
    `${(((at - since) * 1000) / (until - since || 1)).toFixed(1)} ${(((high - value) * 100) / (high - low)).toFixed(1)}`;
  const shape = html`<path class="line" d="M${points.map(place).join('L')}"/>`;
  return plotHtml(`Line chart of ${column} by ${by}`, ticks, [first?.label ?? '', last?.label ?? ''], shape);
};

const spreadHtml = ({ column, from, step, counts }: Drawn<'spread'>): Html => {
  const ticks = ticksOf([0, ...counts]);
  const width = 1000 / counts.length;
  const bars = counts.map((count, at) => {
    const height = (count * 100) / (ticks[0] ?? 1);
    return html`<rect x="${at * width + 1}" y="${100 - height}" width="${width - 2}" height="${height}"/>`;
  });
  const labels = [numberText(from), numberText(from + counts.length * step)];
  return plotHtml(`How often values of ${column} occur, by their size`, ticks, labels, bars);
};

const barsHtml = ({ points, values }: Drawn<'line' | 'bars'>): Html => {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const share = (value: number): string => `${((value * 100) / (high - low || 1)).toFixed(2)}%`;
  const rows = points.map(
    ({ label, value }) => html`<tr><th scope="row" dir="auto">${label}</th><td class="n">${numberText(value)}</td>
<td class="bar"><svg aria-hidden="true"><rect x="${share(Math.min(0, value) - low)}" width="${share(Math.abs(value))}" height="100%"/></svg></td></tr>\n`,
  );
  return html`<table class="bars">\n<tbody>\n${rows}</tbody>\n</table>`;
};

const wordsOf = (chart: Chart): string => {
  if (chart.kind === 'spread') return `How often values of ${chart.column} occur, from the smallest to the largest`;
  const isMean = chart.points.length < chart.values.length;
  return `${chart.column} by ${chart.by}${isMean ? ', the mean of the rows at the same time' : ''}`;
};

/** The chart with its words; `hrefOf` is the address of that of another column, `total` how many rows there are. */
export const chartHtml = (
  chart: Chart,
  hrefOf: (column: string) => string,
  { shown, total }: { shown: number; total: number },
): Html => {
  const { column, choices, values } = chart;
  const drawn = chart.kind === 'spread' ? spreadHtml(chart) : chart.kind === 'line' ? lineHtml(chart) : barsHtml(chart);
  const rows = shown < total ? `the first ${countText(shown)} of ${plural(total, 'row')}` : plural(total, 'row');
  const range = `smallest ${numberText(Math.min(...values))}, largest ${numberText(Math.max(...values))}`;
  const current = trusted(' aria-current="true"');
  const links = choices.map((name) => html`<a${name === column ? current : null} href="${hrefOf(name)}">${name}</a>\n`);
  return html`<figure>
${choices.length < 2 ? null : html`<nav class="choices" aria-label="Column of the chart">\n${links}</nav>\n`}${drawn}
<figcaption class="soft">${wordsOf(chart)}. ${plural(values.length, 'value')} in ${rows}: ${range}, mean ${numberText(meanOf(values), 6)}.</figcaption>
</figure>`;
};
