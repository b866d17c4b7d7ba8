// Reports as files for other programs and people: JSON, CSV, a page.
import { fateOf } from '../model/ledger-entry.ts';
import { type ReportItem, reasonText, type StoredReport } from '../model/report.ts';
import { changesText, countsText } from '../model/table-history.ts';
import { html, type Part, reportPage, reportTable } from '../util/html.ts';
import { countText, plural } from '../util/plural.ts';

/** The report in each format, as what it is sent and its pieces: a large one is never one text. */
export const reportFormats = {
  json: { contentType: 'application/json; charset=utf-8', piecesOf: (report: StoredReport) => json(report) },
  csv: { contentType: 'text/csv; charset=utf-8', piecesOf: (report: StoredReport) => csv(report) },
  md: { contentType: 'text/markdown; charset=utf-8', piecesOf: (report: StoredReport) => md(report) },
  html: { contentType: 'text/html; charset=utf-8', piecesOf: (report: StoredReport) => page(report) },
} as const;

export type ReportFormat = keyof typeof reportFormats;

function* json({ items, ...head }: StoredReport): Generator<string> {
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "items": [`;
  let isFirst = true;
  for (const item of items) {
    yield `${isFirst ? '' : ','}\n    ${JSON.stringify(item)}`;
    isFirst = false;
  }
  yield `${items.length === 0 ? '' : '\n  '}]\n}\n`;
}

const columns: readonly [name: string, of: (item: ReportItem) => string | number | null][] = [
  ['key', ({ key }) => key],
  ['kind', ({ kind }) => kind],
  ['outcome', fateOf],
  ['live', ({ live }) => (live ? 'yes' : 'no')],
  ['stale', ({ stale }) => (stale ? 'yes' : 'no')],
  ['actions', ({ actions }) => actions.join(' ')],
  ['rows', ({ rows }) => rows],
  ['changes', ({ changes }) => (changes ? changesText(changes) : null)],
  ['bytes', ({ file }) => file?.bytes ?? null],
  ['address', ({ url }) => url],
  ['code', ({ reason }) => reason?.code ?? null],
  ['message', ({ reason }) => reason?.message ?? null],
  ['hint', ({ reason }) => reason?.hint ?? null],
  ['warnings', ({ warnings }) => warnings.join('; ')],
];

function* csv({ items }: StoredReport): Generator<string> {
  yield `${columns.map(([name]) => name).join(',')}\r\n`;
  for (const item of items) yield `${columns.map(([, of]) => cell(of(item))).join(',')}\r\n`;
}

/** A spreadsheet would take a text that begins like a formula for one, and messages hold what portals and files say. */
const cell = (value: string | number | null): string => {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function* md({ runId, manifest, portal, startedAt, endedAt, reason, items }: StoredReport): Generator<string> {
  yield `# Run ${runId}\n\n${mdText(manifest)} to ${mdText(portal)}, ${startedAt} to ${endedAt}: ${plural(items.length, 'item')}\n\n`;
  if (reason) yield `**${reason.code}**: ${mdText(reason.message)}\n\n`;
  yield '| Key | Outcome | Rows | Why |\n|---|---|---:|---|\n';
  for (const item of items) {
    const why = [item.reason && reasonText(item.reason), ...item.warnings].filter(Boolean);
    yield `| ${mdText(item.key)} | ${fateOf(item)} | ${rowsText(item)} | ${mdText(why.join('; '))} |\n`;
  }
}

/** The rows of a table, and what changed in them: `1,200 (+412 -3 ~17)`. */
const rowsText = ({ rows, changes }: ReportItem): string =>
  rows === null ? '' : `${countText(rows)}${changes ? ` (${countsText(changes)})` : ''}`;

/** What a text says stays text: no markup, no column of its own, one line. */
const mdText = (text: string): string => text.replaceAll(/[\\`*_{}[\]<>|#]/g, '\\$&').replaceAll(/\s+/g, ' ');

const page = (report: StoredReport): Generator<string> => reportPage(`Run ${report.runId}`, pageParts(report));

function* pageParts({ manifest, portal, startedAt, endedAt, reason, items }: StoredReport): Generator<Part> {
  yield html`<p>${manifest} to ${portal}, ${startedAt} to ${endedAt}: ${plural(items.length, 'item')}</p>\n`;
  if (reason) yield html`<p><strong>${reason.code}</strong>: ${reason.message}<br>${reason.hint}</p>\n`;
  yield* reportTable(['Key', 'Outcome', 'Rows', 'Why'], Iterator.from(items).map(cellsOf));
}

const cellsOf = (item: ReportItem): Part[] => {
  const { key, reason, warnings } = item;
  const why = reason && html`${reasonText(reason)}${reason.hint && html`<br>${reason.hint}`}`;
  return [key, fateOf(item), rowsText(item), [why, warnings.map((text) => html`<br>${text}`)]];
};
