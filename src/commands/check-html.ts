// The report of `sluice check` as one page without scripts, for people who do not work in a terminal.

import type { FixReport } from '../tables/fix/row-fixer.ts';
import type { Finding, FindingPlace } from '../tables/inspect/finding.ts';
import type { Inspection } from '../tables/inspect/inspect-file.ts';
import { html, type Part, trusted } from '../util/html.ts';
import { countText } from '../util/plural.ts';
import { type FileFinding, verdictText } from './check-finding.ts';

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}
code{background:#f2f2f2;padding:0 .2rem;overflow-wrap:anywhere}.sound{color:#0a6b2d}.mendable{color:#8a5a00}.faulty{color:#a3161f}del{background:#fde8e8}ins{background:#e4f6e8;text-decoration:none}`;

const page = (title: string, parts: Part[]): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${trusted(style)}</style></head>
<body>
<h1>${title}</h1>
${joined(parts, '\n')}
</body></html>`.text;

const joined = (parts: Part[], between: string): Part =>
  parts.map((part, index) => (index === 0 ? part : [trusted(between), part]));

const table = (heads: string[], rows: Part[][]): Part =>
  rows.length === 0
    ? null
    : html`<table><thead><tr>${heads.map((head) => html`<th>${head}</th>`)}</tr></thead><tbody>
${joined(
  rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`),
  '\n',
)}
</tbody></table>`;

const placeText = ({ line, column, offset }: FindingPlace): string =>
  [
    `line ${line}`,
    ...(column === null ? [] : [`column ${column}`]),
    ...(offset === null ? [] : [`byte ${offset + 1}`]),
  ].join(', ');

const findingRow = ({ code, hint, mend, candidates = [], count, places }: Finding): Part[] => [
  code === null ? 'remark' : html`fault <code>${code}</code>`,
  [
    joined(
      places.map((place) => {
        const context = place.context === null ? null : html`<br><code>${place.context}</code>`;
        return html`${placeText(place)}: ${place.message}${context}`;
      }),
      '<br>',
    ),
    count > places.length ? html`<br>… and ${countText(count - places.length)} more` : null,
  ],
  joined(
    [
      ...(hint ? [hint] : []),
      ...candidates.map(({ key, reads }) => html`<code>${key}</code>: ${reads}`),
      ...(mend === null ? [] : [html`<em>fix:</em> ${mend}`]),
    ],
    '<br>',
  ),
];

const inspected = ({ findings, columns, rows, encoding, lineEnds, bytes }: Omit<Inspection, 'mend'>): Part =>
  joined(
    [
      html`<p>${countText(rows)} rows, ${countText(columns.length)} columns, ${countText(bytes)} bytes, ${encoding}, line ends ${lineEnds}</p>`,
      table(['', 'What and where', 'What to do'], findings.map(findingRow)),
      table(
        ['Column', 'On a portal', 'Type', 'Decided by line', 'Empty cells'],
        columns.map(({ name, portalName, type, decidedBy, empty }) => [
          name,
          html`<code>${portalName}</code>`,
          type,
          String(decidedBy ?? ''),
          countText(empty),
        ]),
      ),
    ],
    '\n',
  );

const fileSection = ({ file, ok, summary, inspection, faults }: FileFinding): Part => {
  const verdict = inspection?.verdict ?? (ok ? 'sound' : 'faulty');
  const head = html`<h2>${file}: <span class="${verdict}">${verdictText(verdict)}</span></h2>`;
  if (inspection !== null) return html`${head}\n${inspected(inspection)}`;
  const rows = faults.map(({ line, column, key, message, hint }) => [
    [line, column, key].filter((part) => part !== undefined).join(':'),
    message,
    hint ?? '',
  ]);
  return html`${head}\n<p>${summary ?? ''}</p>\n${table(['Place', 'Fault', 'What to do'], rows)}`;
};

/** What was found in files. */
export const htmlOfFiles = (files: FileFinding[]): string => page('Check', files.map(fileSection));

/** What a mend did. */
export const htmlOfFix = (file: string, target: string, report: FixReport): string =>
  page(`Mend of ${file}`, [
    html`<p>Written to <code>${target}</code>: ${countText(report.bytes)} bytes, <span class="sound">sound</span>.</p>`,
    table(
      ['Mend', 'How often'],
      report.mends.map(({ mend, count }) => [mend, countText(count)]),
    ),
    table(
      ['Line', 'Column', 'Change'],
      report.rows.map(({ line, column, before, after }) => [
        String(line),
        String(column ?? ''),
        html`<del><code>${before}</code></del><br>${after === null ? 'left out' : html`<ins><code>${after}</code></ins>`}`,
      ]),
    ),
    report.unshown > 0 ? html`<p>… and ${countText(report.unshown)} more rows</p>` : null,
  ]);
