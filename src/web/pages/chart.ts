// The versions of a table as bars (rows) and a line (bytes).
import type { TableVersion } from '../../model/table-history.ts';
import { type Html, html, type Part, sizeWords } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';

const [width, height, top] = [680, 140, 18] as const;
/** Versions that are drawn. */
const shown = 60;

/** The chart; nothing for a single version. */
export const versionsChart = (all: TableVersion[]): Part => {
  const versions = all.slice(-shown);
  const [first, last] = [versions[0], versions.at(-1)];
  if (!first || !last || versions.length < 2) return null;
  const most = Math.max(1, ...versions.map(({ rows }) => rows));
  const mostBytes = Math.max(1, ...versions.map(({ bytes }) => bytes));
  const step = width / versions.length;
  const scale = (value: number, of: number): number => Math.round(((height - top) * value) / of);
  const bars = versions.map((version, index) => {
    const tall = Math.max(2, scale(version.rows, most));
    const bar = html`x="${round(index * step + step * 0.1)}" y="${height - tall}" width="${round(Math.min(step * 0.8, 60))}" height="${tall}"`;
    return html`<rect ${bar} class="${version === last ? 'now' : ''}"><title>${tipOf(version)}</title></rect>`;
  });
  const points = versions.map(
    ({ bytes }, index) =>
      `${round(index * step + Math.min(step * 0.5, 30 + step * 0.1))},${height - scale(bytes, mostBytes)}`,
  );
  const label = `${plural(versions.length, 'version')} from ${dayOf(first)} to ${dayOf(last)}: ${countText(first.rows)} to ${countText(last.rows)} rows`;
  return html`<svg class="chart" viewBox="0 0 ${width} ${height + 18}" role="img" aria-label="${label}">
<line x1="0" y1="${height}" x2="${width}" y2="${height}"/>
${bars}<polyline points="${points.join(' ')}"/>
<text x="0" y="11">up to ${countText(most)} rows (bars), ${sizeWords(mostBytes)} (line)</text>
<text x="0" y="${height + 14}">${dayOf(first)}</text><text x="${width}" y="${height + 14}" text-anchor="end">${dayOf(last)}</text>
</svg>`;
};

const round = (value: number): number => Math.round(value * 10) / 10;

const dayOf = ({ at }: TableVersion): string => new Date(at).toISOString().slice(0, 10);

const tipOf = (version: TableVersion): Html =>
  html`${dayOf(version)}: ${plural(version.rows, 'row')}, ${sizeWords(version.bytes)}, ${plural(version.columns.length, 'column')}`;
