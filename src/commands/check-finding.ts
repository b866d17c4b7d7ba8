// Findings of `sluice check` in a file: as lines of text, and as a page without scripts for people who use no terminal.
import type { Config } from '../config/config.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { ResourceWish } from '../model/wish.ts';
import type { CheckOptions, TableReport } from '../tables/check.ts';
import type { FixReport } from '../tables/fix/fix-worker.ts';
import type { NumberNotation } from '../tables/inspect/columns.ts';
import type { Finding, FindingPlace } from '../tables/inspect/finding.ts';
import type { Inspection as WholeInspection } from '../tables/inspect/inspect-file.ts';
import { delimiterName } from '../tables/scan/dialect.ts';
import { html, type Part, reportPage, reportTable } from '../util/html.ts';
import { countText, plural } from '../util/plural.ts';
import type { Io } from './io.ts';
import { hintLine, type Lines, lines, shellWord } from './text.ts';

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
  manifest?: string;
  summary: string | null;
  table: TableReport | null;
  /** Everything found in a table, sound or not. */
  inspection: Inspection | null;
  faults: Fault[];
  sources: PublishedFile[];
  notes?: string[];
}

export interface CheckContext {
  io: Io;
  /** The configuration in force; null when it cannot be loaded. */
  config: Config | null;
  reading: Pick<CheckOptions, 'skipRows' | 'delimiter' | 'encoding'>;
}

export interface PublishedFile {
  path: string;
  wish: ResourceWish;
}

type Inspection = Omit<WholeInspection, 'fix'>;

export const faultsOfTable = ({ findings }: Inspection, file: string): Fault[] =>
  findings.flatMap(({ code, hint, places }) => {
    if (code === null) return [];
    return places.map(({ line, column, offset, context, message }) => {
      const place = { ...(column === null ? {} : { column }), ...(offset === null ? {} : { offset }) };
      return { code, file, line, ...place, message, hint, ...(context === null ? {} : { context }) };
    });
  });

const separators: Record<string, string> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' };

const verdictText = (verdict: Inspection['verdict']): string => (verdict === 'mendable' ? 'fixable' : verdict);

export const summaryOfTable = ({ verdict, rows, columns, delimiter, encoding, findings }: Inspection): string => {
  const remarks = findings.filter(({ code }) => code === null).length;
  return lines(
    verdictText(verdict),
    plural(rows, 'row'),
    plural(columns.length, 'column'),
    `separated by ${separators[delimiter] ?? delimiterName(delimiter)}`,
    encoding !== 'UTF-8' && `encoding ${encoding}`,
    remarks > 0 && plural(remarks, 'remark'),
  ).join(', ');
};

/** A finding in lines of text; `full`: with every fault and every column. */
export const fileLines = ({ file, summary, inspection, faults, notes = [] }: FileFinding, full: boolean): string[] => {
  const shown = full ? faults : oneOfEncoding(faults, inspection);
  const found = shown.map((fault, at) => faultLines(fault, shown[at + 1]));
  const head = `${file}: ${summary}`;
  const noted = notes.map((note) => `  ${note}`);
  if (inspection === null) return lines(faults.length > 0 ? found : head, noted);
  const { findings, verdict } = inspection;
  const mends = findings.flatMap(({ mend }) => (mend === null ? [] : [`  fix: ${mend}`]));
  return lines(
    found,
    findings.map((finding) => moreLine(finding, full)),
    findings.map(({ candidates = [] }) => candidates.map(({ key, reads }) => `  ${key}  reads  ${reads}`)),
    head,
    noted,
    verdict === 'mendable' && [...new Set(mends), hintLine(`sluice check ${shellWord(file)} --fix -o NEW-FILE`)],
    (faults.length === 0 || full) && (full ? columnLines(inspection) : columnsLine(inspection)),
    findings.map((finding) => finding.code === null && `  remark: ${placed(finding)}`),
    castLines(inspection),
  );
};

/** A file in another encoding has a fault at every non-ASCII letter: only the first is shown. */
const oneOfEncoding = (faults: Fault[], inspection: FileFinding['inspection']): Fault[] => {
  const [first, ...others] = faults.filter(({ code }) => code === 'table-encoding');
  const count = inspection?.findings.find(({ code }) => code === 'table-encoding')?.count ?? 1;
  const more = count > 1 ? `, and so in ${count.toLocaleString('en')} places` : '';
  return faults
    .filter((fault) => !others.includes(fault))
    .map((fault) => (fault === first ? { ...fault, message: `${fault.message}${more}` } : fault));
};

/** A hint that consecutive faults share is printed once, after the last of them. */
const faultLines = (fault: Fault, next: Fault | undefined): string[] => {
  const { file, line, column, key, message, hint, code, offset, context } = fault;
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  const byte = offset === undefined ? '' : `byte ${offset + 1}: `;
  return lines(
    `${place}: ${key === undefined ? '' : `${key}: `}${message} [${code}]`,
    context !== undefined && `  | ${byte}${context}`,
    hint !== next?.hint && hintLine(hint),
  );
};

/** The columns with their types in one line, cut where there are many. */
const columnsLine = ({ columns }: Inspection): Lines => {
  const list = columns.map(({ name, type }) => `${name} (${type})`).join(', ');
  return list !== '' && `  columns: ${list.length > 300 ? `${list.slice(0, 300)}…` : list}`;
};

/** Every column in a line of its own: name, type, the line that decided, and the name that a portal makes. */
const columnLines = ({ columns }: Inspection): string[] =>
  columns.map(({ name, portalName, type, decidedBy, empty }) => {
    const by = decidedBy === null ? '' : `, decided by line ${decidedBy}`;
    const without = empty === 0 ? '' : `, ${empty.toLocaleString('en')} empty`;
    return `  column ${JSON.stringify(name)}: ${type}${by}${without}; on a portal ${portalName || '(none)'}`;
  });

/** Steps to paste into the manifest that import numbers which portals would keep as text. */
export const castLines = ({ columns }: Inspection): string[] => {
  const step = (name: string, notation: NumberNotation): string => {
    const keys = Object.entries(notation).map(([key, mark]) => `, ${key}: ${JSON.stringify(mark)}`);
    return `${JSON.stringify(name)}: { to: number${keys.join('')} }`;
  };
  const steps = columns.map(({ name, notations = [] }) => notations.map((notation) => step(name, notation)));
  const sure = steps.filter(({ length }) => length === 1).flat();
  const choices = steps.filter(({ length }) => length > 1).map((each) => each.map((one) => `- cast: { ${one} }`));
  return lines(
    sure.length > 0 && hintLine(`to import numbers, add to \`table\`: - cast: { ${sure.join(', ')} }`),
    choices.map((each) => hintLine(`to import numbers, add one of these to \`table\`: ${each.join(' or ')}`)),
  );
};

const placed = ({ message, count, places: [place] }: Finding): string => {
  const at = place ? `${placeText({ ...place, offset: null })}: ` : '';
  return `${at}${message}${count > 1 ? ` (and ${(count - 1).toLocaleString('en')} more)` : ''}`;
};

const moreLine = ({ code, count, places, message }: Finding, full: boolean): Lines => {
  const more = code === null || (code === 'table-encoding' && !full) ? 0 : count - places.length;
  return more > 0 && `  … and ${more.toLocaleString('en')} more: ${message}`;
};

const stacked = (parts: Part[]): Part => parts.map((part, index) => (index === 0 ? part : html`<br>${part}`));

const findingCells = ({ code, hint, mend, candidates = [], count, places }: Finding): Part[] => [
  code === null ? 'remark' : html`fault <code>${code}</code>`,
  stacked([
    ...places.map(({ context, message, ...place }) => {
      const text = `${placeText(place)}: ${message}`;
      return context === null ? text : html`${text}<br><code>${context}</code>`;
    }),
    ...(count > places.length ? [`… and ${countText(count - places.length)} more`] : []),
  ]),
  stacked([
    ...(hint ? [hint] : []),
    ...candidates.map(({ key, reads }) => html`<code>${key}</code>: ${reads}`),
    ...(mend === null ? [] : [html`<em>fix:</em> ${mend}`]),
  ]),
];

const placeText = ({ line, column, offset }: Pick<FindingPlace, 'line' | 'column' | 'offset'>): string =>
  lines(`line ${line}`, column !== null && `column ${column}`, offset !== null && `byte ${offset + 1}`).join(', ');

function* fileParts({ file, ok, summary, inspection, faults }: FileFinding): Generator<Part> {
  const verdict = inspection?.verdict ?? (ok ? 'sound' : 'faulty');
  yield html`<h2>${file}: <span class="${verdict}">${verdictText(verdict)}</span></h2>\n`;
  if (inspection === null) {
    yield html`<p>${summary ?? ''}</p>\n`;
    const placeOf = ({ line, column, key }: Fault): string =>
      [line, column, key].filter((part) => part !== undefined).join(':');
    const rows = faults.map((fault) => [placeOf(fault), fault.message, fault.hint]);
    return yield* reportTable(['Place', 'Fault', 'What to do'], rows);
  }
  const { findings, columns, rows, encoding, lineEnds, bytes } = inspection;
  yield html`<p>${plural(rows, 'row')}, ${plural(columns.length, 'column')}, ${plural(bytes, 'byte')}, ${encoding}, line ends ${lineEnds}</p>\n`;
  yield* reportTable(['', 'What and where', 'What to do'], findings.map(findingCells));
  yield* reportTable(
    ['Column', 'On a portal', 'Type', 'Decided by line', 'Empty cells'],
    columns.map(({ name, portalName, type, decidedBy, empty }) => [
      ...[name, html`<code>${portalName}</code>`, type, decidedBy, countText(empty)],
    ]),
  );
}

export const htmlOfFiles = (files: FileFinding[]): string =>
  [...reportPage('Check', Iterator.from(files).flatMap(fileParts))].join('');

export const htmlOfFix = (file: string, target: string, report: FixReport): string =>
  [...reportPage(`Fix of ${file}`, fixParts(target, report))].join('');

function* fixParts(target: string, { bytes, mends, rows, unshown }: FixReport): Generator<Part> {
  yield html`<p>Written to <code>${target}</code>: ${plural(bytes, 'byte')}, <span class="sound">sound</span>.</p>\n`;
  yield* reportTable(
    ['Change', 'How often'],
    mends.map(({ mend, count }) => [mend, countText(count)]),
  );
  yield* reportTable(
    ['Line', 'Column', 'Change'],
    rows.map(({ line, column, before, after }) => {
      const now = after === null ? 'left out' : html`<ins><code>${after}</code></ins>`;
      return [line, column, stacked([html`<del><code>${before}</code></del>`, now])];
    }),
  );
  if (unshown > 0) yield html`<p>… and ${plural(unshown, 'more row')}</p>\n`;
}
