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

const readBy = (text: string, { decimal, isNumber, marks }: (typeof notations)[number]): number | null => {
  if (text === '') return null;
  return isNumber.test(text) ? Number.parseFloat(text.replace(marks, '').replace(decimal, '.')) : Number.NaN;
};

/** What the cells say, read in order; null as soon as one is NaN: most columns are of anything else. */
const readAll = <T extends number | null>(cells: readonly string[], read: (cell: string) => T): T[] | null => {
  const values: T[] = [];
  for (const cell of cells) {
    const value = read(cell);
    if (Number.isNaN(value)) return null;
    values.push(value);
  }
  return values;
};

/** The numbers of a column, null for an empty cell; null for a column of anything else, or that reads in two ways. */
export const numbersIn = (cells: readonly string[]): (number | null)[] | null => {
  const [first, second = first] = notations
    .map((notation) => readAll(cells, (cell) => readBy(cell.trim(), notation)))
    .filter((numbers) => numbers !== null);
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

/**
 * A column of a table, as a chart sees it: its numbers, the moments of a column of dates, or of years where its name says so,
 * and whether its numbers count or measure something.
 */
export const columnOf = (name: string, cells: string[]) => {
  const numbers = numbersIn(cells);
  const times = numbers === null || /year|jahr/.test(name) ? readAll(cells, timeIn) : null;
  const isSerial = cells.length > 2 && numbers?.every((number, at) => number === (numbers[0] ?? 0) + at) === true;
  const isMeasure = numbers !== null && times === null && !codeName.test(name) && !isSerial;
  return { name, cells, numbers, times, isMeasure };
};

export type Column = ReturnType<typeof columnOf>;

interface Point {
  label: string;
  at: number;
  value: number;
}

const mostBars = 24;

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The mean of the values at each moment, in order of time. */
const overTime = (points: Point[]): Point[] =>
  [...Map.groupBy(points, ({ at }) => at)]
    .map(([at, all]) => ({ at, label: all[0]?.label ?? '', value: meanOf(all.map(({ value }) => value)) }))
    .sort((a, b) => a.at - b.at);

/** How many values there are in each part of their range; none where all are the same. */
const spreadOf = (values: readonly number[]): Point[] => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low === high) return [];
  const step = stepOf(high - low, 12);
  const first = Math.floor(low / step);
  const parts = Map.groupBy(values, (value) => Math.floor(value / step));
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => {
    const at = first + index;
    const label = `${numberText(at * step)} to below ${numberText((at + 1) * step)}`;
    return { at, label, value: parts.get(at)?.length ?? 0 };
  });
};

export type Chart = NonNullable<ReturnType<typeof chartOf>>;

/**
 * The chart of the column `wanted`, or of the first one that counts or measures something: a line over time, a bar for each
 * row, or for each part of the range of values; null where there is none. `choices` are the columns that can be shown.
 */
export const chartOf = (all: readonly Column[], wanted?: unknown) => {
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
  if (time !== undefined) {
    const points = overTime(pointsBy(time));
    const mean = points.length < values.length ? ', the mean of the rows at the same time' : '';
    return { ...base, kind: 'line', words: `${column} by ${time.name}${mean}`, points };
  }
  const isName = ({ cells, isMeasure }: Column): boolean => !isMeasure && new Set(cells).size === cells.length;
  const names = all.find((one) => one.numbers === null && !codeName.test(one.name) && isName(one)) ?? all.find(isName);
  if (names !== undefined && values.length <= mostBars) {
    return { ...base, kind: 'bars', words: `${column} by ${names.name}`, points: pointsBy(names) };
  }
  const points = spreadOf(values);
  return points.length === 0 ? null : { ...base, kind: 'spread', words: `How often values of ${column} occur`, points };
};

const lineHtml = ({ words, points }: Chart): Html => {
  const ticks = ticksOf(points.map(({ value }) => value));
  const [high = 1, low = 0] = [ticks[0], ticks.at(-1)];
  const [first, last] = [points[0], points.at(-1)];
  const [since = 0, until = 1] = [first?.at, last?.at];
  const place = ({ value, at }: Point): string =>
    `${(((at - since) * 1000) / (until - since || 1)).toFixed(1)} ${(((high - value) * 100) / (high - low)).toFixed(1)}`;
  const shape = html`<path class="line" d="M${points.map(place).join('L')}"/>`;
  return plotHtml(`Line chart of ${words}`, ticks, [first?.label ?? '', last?.label ?? ''], shape);
};

const barsHtml = ({ points }: Chart): Html => {
  const values = points.map(({ value }) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const share = (value: number): string => `${((value * 100) / (high - low || 1)).toFixed(2)}%`;
  const rows = points.map(
    ({ label, value }) => html`<tr><th scope="row" dir="auto">${label}</th><td class="n">${numberText(value)}</td>
<td class="bar"><svg aria-hidden="true"><rect x="${share(Math.min(0, value) - low)}" width="${share(Math.abs(value))}" height="100%"/></svg></td></tr>\n`,
  );
  return html`<table class="bars">\n<tbody>\n${rows}</tbody>\n</table>`;
};

/** The chart with its words; `hrefOf` is the address of that of another column, `total` how many rows there are. */
export const chartHtml = (
  chart: Chart,
  hrefOf: (column: string) => string,
  { shown, total }: { shown: number; total: number },
): Html => {
  const { kind, column, choices, values, words } = chart;
  const rows = shown < total ? `the first ${countText(shown)} of ${plural(total, 'row')}` : plural(total, 'row');
  const range = `smallest ${numberText(Math.min(...values))}, largest ${numberText(Math.max(...values))}`;
  const current = trusted(' aria-current="true"');
  const links = choices.map((name) => html`<a${name === column ? current : null} href="${hrefOf(name)}">${name}</a>\n`);
  return html`<figure>
${choices.length < 2 ? null : html`<nav class="choices" aria-label="Column of the chart">\n${links}</nav>\n`}${kind === 'line' ? lineHtml(chart) : barsHtml(chart)}
<figcaption class="soft">${words}. ${plural(values.length, 'value')} in ${rows}: ${range}, mean ${numberText(meanOf(values), 6)}.</figcaption>
</figure>`;
};
