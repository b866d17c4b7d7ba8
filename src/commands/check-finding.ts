// Findings of `sluice check` in a file: as lines of text, and as a page without scripts for people who use no terminal.
import type { Config } from '../config/config.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { ResourceWish } from '../model/wish.ts';
import type { CheckOptions, TableReport } from '../tables/check.ts';
import type { FixReport } from '../tables/fix/row-fixer.ts';
import type { NumberNotation } from '../tables/inspect/columns.ts';
import type { Finding, FindingPlace } from '../tables/inspect/finding.ts';
import type { Inspection as WholeInspection } from '../tables/inspect/inspect-file.ts';
import { delimiterName } from '../tables/scan/dialect.ts';
import { html, type Part, trusted } from '../util/html.ts';
import { countText, plural } from '../util/plural.ts';
import type { Io } from './io.ts';

/** One fault with its place; line and column count from 1 and are absent where the file as a whole is meant. */
export interface Fault {
  code: ErrorCode;
  file: string;
  line?: number;
  /** Of a table: the number of the cell in its row. */
  column?: number;
  /** Dotted path of the key in a YAML file. */
  key?: string;
  message: string;
  hint: string | null;
  /** Bytes of a table before the place. */
  offset?: number;
  /** Text around the place in a table, escaped. */
  context?: string;
}

export interface FileFinding {
  file: string;
  kind: 'table' | 'manifest' | 'config' | 'catalogue' | 'package' | 'other';
  ok: boolean;
  summary: string | null;
  table: TableReport | null;
  /** Everything found in a table, sound or not. */
  inspection: Omit<Inspection, 'fix'> | null;
  faults: Fault[];
  sources: PublishedFile[];
  notes?: string[];
}

/** How tables are read, where specified; see `CheckOptions`. */
export type Reading = Pick<CheckOptions, 'skipRows' | 'delimiter' | 'encoding'>;

export interface CheckContext {
  io: Io;
  /** The configuration in force; null when it cannot be loaded. */
  config: Config | null;
  reading: Reading;
}

export interface PublishedFile {
  path: string;
  wish: ResourceWish;
}

type Inspection = Omit<WholeInspection, 'fix'>;

/** The faults of a table, one for each known place. */
export const faultsOfTable = ({ findings }: Inspection, file: string): Fault[] =>
  findings.flatMap(({ code, hint, places }) => {
    if (code === null) return [];
    return places.map(({ line, column, offset, context, message }) => {
      const place = { ...(column === null ? {} : { column }), ...(offset === null ? {} : { offset }) };
      return { code, file, line, ...place, message, hint, ...(context === null ? {} : { context }) };
    });
  });

const separators: Record<string, string> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' };

/** A verdict in the words of `--fix`. */
export const verdictText = (verdict: Inspection['verdict']): string => (verdict === 'mendable' ? 'fixable' : verdict);

export const summaryOfTable = ({ verdict, rows, columns, delimiter, encoding, findings }: Inspection): string => {
  const remarks = findings.filter(({ code }) => code === null).length;
  const parts = [
    verdictText(verdict),
    plural(rows, 'row'),
    plural(columns.length, 'column'),
    `separated by ${separators[delimiter] ?? delimiterName(delimiter)}`,
    ...(encoding === 'UTF-8' ? [] : [`encoding ${encoding}`]),
    ...(remarks === 0 ? [] : [plural(remarks, 'remark')]),
  ];
  return parts.join(', ');
};

const longestList = 300;

/** The columns with their types in one line, cut where there are many. */
export const columnsLine = ({ columns }: Inspection): string => {
  const list = columns.map(({ name, type }) => `${name} (${type})`).join(', ');
  return `  columns: ${list.length > longestList ? `${list.slice(0, longestList)}…` : list}`;
};

/** Every column in a line of its own: name, type, the line that decided, and the name that a portal makes. */
export const columnLines = ({ columns }: Inspection): string[] =>
  columns.map(({ name, portalName, type, decidedBy, empty }) => {
    const by = decidedBy === null ? '' : `, decided by line ${decidedBy}`;
    const without = empty === 0 ? '' : `, ${empty.toLocaleString('en')} empty`;
    return `  column ${JSON.stringify(name)}: ${type}${by}${without}; on a portal ${portalName || '(none)'}`;
  });

/** Remarks, each with its first place. */
export const remarkLines = ({ findings }: Inspection): string[] =>
  findings.filter(({ code }) => code === null).map((finding) => `  remark: ${placed(finding)}`);

/** Steps to paste into the manifest that import numbers which portals would keep as text. */
export const castLines = ({ columns }: Inspection): string[] => {
  const step = (name: string, notation: NumberNotation): string => {
    const keys = Object.entries(notation).map(([key, mark]) => `, ${key}: ${JSON.stringify(mark)}`);
    return `${JSON.stringify(name)}: { to: number${keys.join('')} }`;
  };
  const steps = columns.map(({ name, notations = [] }) => notations.map((notation) => step(name, notation)));
  const sure = steps.flatMap((each) => (each.length === 1 ? each : []));
  return [
    ...(sure.length === 0 ? [] : [`  -> to import numbers, add to \`table\`: - cast: { ${sure.join(', ')} }`]),
    ...steps
      .filter((each) => each.length > 1)
      .map(
        (each) =>
          `  -> to import numbers, add one of these to \`table\`: ${each.map((one) => `- cast: { ${one} }`).join(' or ')}`,
      ),
  ];
};

const placed = ({ message, count, places }: Finding): string => {
  const [place] = places;
  const at =
    place === undefined ? '' : `line ${place.line}${place.column === null ? '' : `, column ${place.column}`}: `;
  return `${at}${message}${count > 1 ? ` (and ${(count - 1).toLocaleString('en')} more)` : ''}`;
};

/** How many more places there are of findings that do not list all. */
export const moreLines = ({ findings }: Inspection, full: boolean): string[] =>
  findings.flatMap(({ code, count, places, message }) => {
    const more = count - places.length;
    const isReported = code === null || more <= 0 || (code === 'table-encoding' && !full);
    return isReported ? [] : [`  … and ${more.toLocaleString('en')} more: ${message}`];
  });

/** Ways to read an ambiguous table, each with the key that chooses it. */
export const candidateLines = ({ findings }: Inspection): string[] =>
  findings.flatMap(({ candidates = [] }) => candidates.map(({ key, reads }) => `  ${key}  reads  ${reads}`));

/** What `--fix` would change, and its command; nothing unless the table is fixable. */
export const fixLines = ({ findings, verdict }: Inspection, file: string): string[] => {
  if (verdict !== 'mendable') return [];
  const mends = findings.flatMap(({ mend }) => (mend === null ? [] : [`  fix: ${mend}`]));
  return [...new Set(mends), `  -> sluice check ${file} --fix -o NEW-FILE`];
};

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

const inspected = ({ findings, columns, rows, encoding, lineEnds, bytes }: Inspection): Part =>
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

export const htmlOfFiles = (files: FileFinding[]): string => page('Check', files.map(fileSection));

export const htmlOfFix = (file: string, target: string, report: FixReport): string =>
  page(`Fix of ${file}`, [
    html`<p>Written to <code>${target}</code>: ${countText(report.bytes)} bytes, <span class="sound">sound</span>.</p>`,
    table(
      ['Change', 'How often'],
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
