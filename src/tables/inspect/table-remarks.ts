// Findings about the table as a whole: lines above, between and below its rows, line ends, quoting.
import { foreignLineEnds, isSentence } from '../scan/division.ts';
import type { Layout } from '../scan/layout.ts';
import type { Findings } from './finding.ts';

interface TableRead {
  lines: { lf: number; crlf: number; cr: number; blank: number; firstBlank: number };
  layout: Layout;
  header: { line: number; cells: string[] } | null;
  last: { line: number; filled: number; note: boolean; cutNote: boolean; total: boolean } | null;
  rows: number;
  firstRowLine: number;
  /** Lines above that, which were skipped on request; null: not given. Where given, all rows below the header are records. */
  skipped: number | null;
}

export const tableRemarks = (findings: Findings, read: TableRead): void => {
  const { dialect, candidates = [], division } = read.layout;
  const keys = candidates.map(({ key }) => key);
  if (keys.length > 0) findings.add('layout-unclear', { line: 1, candidates }, { keys });
  if (division)
    findings.add(division.isRead ? 'delimiter-foreign' : 'undivided', { line: read.header?.line ?? 1 }, division);
  aboveHeader(findings, read);
  blankLines(findings, read);
  lineEnds(findings, read);
  if (dialect.quote !== '"' || dialect.escape !== '"') findings.add('quote-style', { line: 1 }, dialect);
  if (read.header !== null) rowRemarks(findings, read, read.header);
};

const rowRemarks = (
  findings: Findings,
  { last, rows, skipped }: TableRead,
  { line, cells }: NonNullable<TableRead['header']>,
): void => {
  if (rows === 0) {
    const ends = foreignLineEnds(cells.join(','));
    if (ends !== null || isSentence(cells)) findings.add('no-table', { line }, { ends });
    else findings.add('no-rows', { line });
  }
  if (last === null || rows < 2) return;
  const at = { line: last.line, column: 1 };
  if (cells.length > 2 && last.filled === 1 && last.note && findings.of('footer') === undefined)
    findings.add('footer-padded', at);
  if (last.cutNote && skipped === null) findings.add('footer', { line: last.line }, { looks: 'cut' });
  if (last.total) findings.add('total-row', at);
};

const aboveHeader = (findings: Findings, { layout, header, lines, firstRowLine, skipped }: TableRead): void => {
  if (header === null) return;
  if (layout.titleRows > 0) {
    const at = { line: firstRowLine, count: layout.titleRows };
    findings.add('title-rows', at, { header: header.line });
  } else if (skipped !== null && skipped > 0)
    findings.add('title-rows', { line: 1, count: skipped }, { isSkipped: true });
  else if (lines.firstBlank === 1) findings.add('blank-first', { line: 1, offset: 0, count: header.line - 1 });
};

const blankLines = (findings: Findings, { lines, header, skipped, last }: TableRead): void => {
  const above = header === null ? 0 : header.line - 1 - (skipped ?? 0);
  if (lines.blank === 0 || (lines.firstBlank <= above + (skipped ?? 0) && lines.blank <= above)) return;
  const line = lines.firstBlank;
  const isUnclear = header?.cells.length === 1 && line < (last?.line ?? 0) && skipped === null;
  findings.add('blank-lines', { line, count: lines.blank }, { isUnclear });
};

const lineEnds = (
  findings: Findings,
  { header, skipped, lines: { lf, crlf, cr, blank, firstBlank } }: TableRead,
): void => {
  const kinds = Object.entries({ CRLF: crlf, LF: lf, CR: cr }).filter(([, count]) => count > 0);
  if (kinds.length > 1) {
    const shares = kinds.map(([name, count]) => `${name} ${count.toLocaleString('en')}`).join(', ');
    // Without a second column nothing tells a line end from a line break in a cell.
    const isUnclear = cr > 0 && header?.cells.length === 1 && skipped === null;
    findings.add('line-ends-mixed', { line: 1 }, { shares, isUnclear });
  } else if (cr > 0 && (cr > 1 || blank > 0 || firstBlank > 0)) findings.add('line-ends-old', { line: 1 });
};
