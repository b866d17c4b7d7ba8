// The report of `sluice check` as one page without scripts, for people who do not work in a terminal.

import type { FixReport } from '../tables/fix/row-fixer.ts';
import type { Finding, FindingPlace } from '../tables/inspect/finding.ts';
import type { Inspection } from '../tables/inspect/inspect-file.ts';
import type { FileFinding } from './check-finding.ts';

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const safe = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}
code{background:#f2f2f2;padding:0 .2rem;overflow-wrap:anywhere}.sound{color:#0a6b2d}.mendable{color:#8a5a00}.faulty{color:#a3161f}del{background:#fde8e8}ins{background:#e4f6e8;text-decoration:none}`;

const page = (title: string, parts: string[]): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${safe(title)}</title><style>${style}</style></head>
<body>
<h1>${safe(title)}</h1>
${parts.join('\n')}
</body></html>`;

const table = (heads: string[], rows: string[][]): string =>
  rows.length === 0
    ? ''
    : `<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead><tbody>
${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}
</tbody></table>`;

const placeText = ({ line, column, offset }: FindingPlace): string =>
  [
    `line ${line}`,
    ...(column === null ? [] : [`column ${column}`]),
    ...(offset === null ? [] : [`byte ${offset + 1}`]),
  ].join(', ');

const findingRow = ({ code, hint, mend, candidates = [], count, places }: Finding): string[] => [
  code === null ? 'remark' : `fault <code>${code}</code>`,
  places
    .map((place) => {
      const context = place.context === null ? '' : `<br><code>${safe(place.context)}</code>`;
      return `${placeText(place)}: ${safe(place.message)}${context}`;
    })
    .join('<br>') + (count > places.length ? `<br>… and ${(count - places.length).toLocaleString('en')} more` : ''),
  [
    hint === null ? '' : safe(hint),
    ...candidates.map(({ key, reads }) => `<code>${safe(key)}</code>: ${safe(reads)}`),
    mend === null ? '' : `<em>mend:</em> ${safe(mend)}`,
  ]
    .filter(Boolean)
    .join('<br>'),
];

const inspected = ({ findings, columns, rows, encoding, lineEnds, bytes }: Omit<Inspection, 'mend'>): string =>
  [
    `<p>${rows.toLocaleString('en')} rows, ${columns.length.toLocaleString('en')} columns, ${bytes.toLocaleString('en')} bytes, ${encoding}, line ends ${lineEnds}</p>`,
    table(['', 'What and where', 'What to do'], findings.map(findingRow)),
    table(
      ['Column', 'On a portal', 'Type', 'Decided by line', 'Empty cells'],
      columns.map(({ name, portalName, type, decidedBy, empty }) => [
        safe(name),
        `<code>${safe(portalName)}</code>`,
        type,
        String(decidedBy ?? ''),
        empty.toLocaleString('en'),
      ]),
    ),
  ].join('\n');

const fileSection = ({ file, ok, summary, inspection, faults }: FileFinding): string => {
  const verdict = inspection?.verdict ?? (ok ? 'sound' : 'faulty');
  const head = `<h2>${safe(file)}: <span class="${verdict}">${verdict}</span></h2>`;
  if (inspection !== null) return `${head}\n${inspected(inspection)}`;
  const rows = faults.map(({ line, column, key, message, hint }) => [
    [line, column, key].filter((part) => part !== undefined).join(':'),
    safe(message),
    safe(hint ?? ''),
  ]);
  return `${head}\n<p>${safe(summary ?? '')}</p>\n${table(['Place', 'Fault', 'What to do'], rows)}`;
};

/** What was found in files. */
export const htmlOfFiles = (files: FileFinding[]): string => page('Check', files.map(fileSection));

/** What a mend did. */
export const htmlOfFix = (file: string, target: string, report: FixReport): string =>
  page(`Mend of ${file}`, [
    `<p>Written to <code>${safe(target)}</code>: ${report.bytes.toLocaleString('en')} bytes, <span class="sound">sound</span>.</p>`,
    table(
      ['Mend', 'How often'],
      report.mends.map(({ mend, count }) => [safe(mend), count.toLocaleString('en')]),
    ),
    table(
      ['Line', 'Column', 'Change'],
      report.rows.map(({ line, column, before, after }) => [
        String(line),
        String(column ?? ''),
        `<del><code>${safe(before)}</code></del><br>${after === null ? 'left out' : `<ins><code>${safe(after)}</code></ins>`}`,
      ]),
    ),
    report.unshown > 0 ? `<p>… and ${report.unshown.toLocaleString('en')} more rows</p>` : '',
  ]);
