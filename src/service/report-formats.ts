// Reports as files for other programs and people: JSON, CSV, a page.
import type { ReportItem, StoredReport } from '../model/report.ts';
import { fateOf } from '../state/report-lines.ts';
import { type Html, html, trusted } from '../util/html.ts';
import { countText } from '../util/plural.ts';

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
  yield `# Run ${runId}\n\n${mdText(manifest)} to ${mdText(portal)}, ${startedAt} to ${endedAt}: ${countText(items.length)} items\n\n`;
  if (reason) yield `**${reason.code}**: ${mdText(reason.message)}\n\n`;
  yield '| Key | Outcome | Rows | Why |\n|---|---|---:|---|\n';
  for (const item of items) {
    const why = [item.reason && `${item.reason.code}: ${item.reason.message}`, ...item.warnings].filter(Boolean);
    const rows = item.rows === null ? '' : countText(item.rows);
    yield `| ${mdText(item.key)} | ${fateOf(item)} | ${rows} | ${mdText(why.join('; '))} |\n`;
  }
}

/** What a text says stays text: no markup, no column of its own, one line. */
const mdText = (text: string): string => text.replaceAll(/[\\`*_{}[\]<>|#]/g, '\\$&').replaceAll(/\s+/g, ' ');

const style = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:start;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8884;overflow-wrap:anywhere}.n{text-align:end}`;

function* page(report: StoredReport): Generator<string> {
  const { runId, manifest, portal, startedAt, endedAt, reason, items } = report;
  yield html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Run ${runId}</title><style>${trusted(style)}</style></head>
<body>
<h1>Run ${runId}</h1>
<p>${manifest} to ${portal}, ${startedAt} to ${endedAt}: ${countText(items.length)} items</p>
${reason && html`<p><strong>${reason.code}</strong>: ${reason.message}<br>${reason.hint}</p>`}
<table>
<thead><tr><th scope="col">Key</th><th scope="col">Outcome</th><th scope="col">Rows</th><th scope="col">Why</th></tr></thead>
<tbody>
`.text;
  for (const item of items) yield row(item).text;
  yield '</tbody>\n</table>\n</body>\n</html>\n';
}

const row = (item: ReportItem): Html => {
  const { key, rows, reason, warnings } = item;
  return html`<tr><td>${key}</td><td>${fateOf(item)}</td><td class="n">${rows === null ? null : countText(rows)}</td><td>${
    reason && html`${reason.code}: ${reason.message}${reason.hint && html`<br>${reason.hint}`}`
  }${warnings.map((warning) => html`<br>${warning}`)}</td></tr>\n`;
};
