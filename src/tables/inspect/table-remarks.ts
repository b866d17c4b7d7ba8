// Findings about the table as a whole: lines above, between and below its rows, line ends, quoting.
import { delimiterName } from '../scan/dialect.ts';
import { foreignLineEnds, isSentence } from '../scan/division.ts';
import { blankHeader, keyOf, titlesAbove, unclearLayout } from '../scan/faults.ts';
import type { Layout } from '../scan/layout.ts';
import { detailsOf, type Findings } from './finding.ts';
import { asRecord } from './ragged-rows.ts';

/** What is known when the whole table was read. */
interface TableRead {
  lines: { lf: number; crlf: number; cr: number; blank: number; firstBlank: number };
  layout: Layout;
  /** The header's line; null where there is none. */
  header: { line: number; cells: string[] } | null;
  /** The last row. */
  last: { line: number; filled: number; note: boolean; cutNote: boolean; total: boolean } | null;
  rows: number;
  /** The line of the first row of all. */
  firstRowLine: number;
  /** Lines above that, which were skipped on request; null: not given. Where given, all rows below the header are records. */
  skipped: number | null;
}

/** Adds the findings about the table as a whole. */
export const tableRemarks = (findings: Findings, read: TableRead): void => {
  unclear(findings, read);
  division(findings, read);
  aboveHeader(findings, read);
  blankLines(findings, read);
  lineEnds(findings, read);
  quoteStyle(findings, read);
  if (read.header === null) return;
  if (read.rows === 0) noRows(findings, read.header);
  lastRow(findings, read);
};

const unclear = (findings: Findings, { layout: { candidates = [] } }: TableRead): void => {
  if (candidates.length === 0) return;
  const described = candidates.map((one) => {
    const reads = one.header.map((cell) => Buffer.from(cell, 'latin1').toString('utf8')).join(' | ');
    return { key: keyOf(one, candidates), reads };
  });
  findings.add('layout-unclear', { ...detailsOf(unclearLayout(candidates)), candidates: described });
};

const division = (findings: Findings, { layout, header }: TableRead): void => {
  const { kind, by, isRead } = layout.division ?? {};
  if (kind === undefined || by === undefined) return;
  const name = delimiterName(by);
  const key = `\`delimiter: ${JSON.stringify(by)}\``;
  const line = header?.line ?? 1;
  if (isRead) {
    const message = `the cells are separated by ${name}, which portals do not understand`;
    const hint = 'save the table as CSV with commas or semicolons, or set `mend: safe`';
    findings.add('delimiter-foreign', {
      code: 'table-header',
      line,
      message,
      hint,
      mend: 'the cells are separated by commas',
    });
    return;
  }
  const asIs = 'if the file is a list of single values, set `skipRows: 0`';
  const [message, hint] = {
    character: [
      `the lines look divided by ${name}, which is no delimiter of tables`,
      `if it separates the cells, set ${key} as the first step of \`table\`; ${asIs}`,
    ],
    blanks: [
      'the lines look divided by spaces',
      `if they separate the cells, set ${key} as the first step of \`table\`; ${asIs}`,
    ],
    'fixed width': [
      'the columns look aligned by spaces (fixed width)',
      `export the table as CSV, with a delimiter between the cells; ${asIs}`,
    ],
    'quoted lines': [
      `every line is one quoted cell that holds cells separated by ${name}`,
      `export the table again without quotes around whole lines; ${asIs}`,
    ],
  }[kind] as [string, string];
  findings.add('undivided', { code: 'table-header', line, message, hint });
};

const noRows = (findings: Findings, { line, cells }: NonNullable<TableRead['header']>): void => {
  const ends = foreignLineEnds(cells.join(','));
  if (ends !== null) {
    const message = `the file is one line, in which ${ends} seem to end the lines`;
    findings.add('no-table', {
      code: 'table-header',
      line,
      message,
      hint: 'export the table again with usual line ends (LF or CRLF)',
    });
  } else if (isSentence(cells)) {
    const message = 'the file is one line of text, not a header and rows';
    const hint =
      'look at what the program or address that made the file returned; a table without rows has a line of column names';
    findings.add('no-table', { code: 'table-header', line, message, hint });
  } else findings.add('no-rows', { line, message: 'the table has a header and no rows' });
};

const leftOut = 'the lines above the header are left out';

const aboveHeader = (findings: Findings, { layout, header, lines, firstRowLine, skipped }: TableRead): void => {
  if (header === null) return;
  if (layout.titleRows > 0) {
    const count = layout.titleRows;
    findings.add('title-rows', { ...detailsOf(titlesAbove(firstRowLine, header.line)), mend: leftOut, count });
  } else if (skipped !== null && skipped > 0) {
    const message = 'lines above the header are skipped, as specified';
    findings.add('title-rows', { code: 'table-header', line: 1, message, mend: leftOut, count: skipped });
  } else if (lines.firstBlank === 1)
    findings.add('blank-first', { ...detailsOf(blankHeader()), offset: 0, mend: leftOut, count: header.line - 1 });
};

const blankLines = (findings: Findings, { lines, header, skipped, last }: TableRead): void => {
  const above = header === null ? 0 : header.line - 1 - (skipped ?? 0);
  if (lines.blank === 0 || (lines.firstBlank <= above + (skipped ?? 0) && lines.blank <= above)) return;
  const line = lines.firstBlank;
  if (header?.cells.length === 1 && line < (last?.line ?? 0) && skipped === null) {
    const message = 'the line is blank: in a table of one column that may be an empty value or nothing';
    const hint = 'write "" for an empty value, or remove the blank lines; with `skipRows: 0` they are left out';
    findings.add('blank-lines', { code: 'table-ragged', line, message, hint, count: lines.blank });
    return;
  }
  findings.add('blank-lines', {
    line,
    message: 'the line is blank and does not count as a row',
    mend: 'blank lines are left out',
    count: lines.blank,
  });
};

const lineEnds = (
  findings: Findings,
  { header, skipped, lines: { lf, crlf, cr, blank, firstBlank } }: TableRead,
): void => {
  const kinds = [
    { name: 'CRLF', count: crlf },
    { name: 'LF', count: lf },
    { name: 'CR', count: cr },
  ].filter(({ count }) => count > 0);
  if (kinds.length > 1) {
    const shares = kinds.map(({ name, count }) => `${name} ${count.toLocaleString('en')}`).join(', ');
    const message = `the file mixes line endings: ${shares}`;
    // Without a second column nothing tells a line end from a line break in a cell.
    const details =
      cr > 0 && header?.cells.length === 1 && skipped === null
        ? { code: 'table-ragged' as const, hint: 'put cells with line breaks in quotes, and end all lines alike' }
        : { mend: 'all lines end with LF' };
    findings.add('line-ends-mixed', { line: 1, message, ...details });
  } else if (cr > 0 && (cr > 1 || blank > 0 || firstBlank > 0)) {
    findings.add('line-ends-old', {
      line: 1,
      message: 'lines end with CR alone, as on old Macintosh systems',
      mend: 'all lines end with LF',
    });
  }
};

const quoteStyle = (findings: Findings, { layout: { dialect } }: TableRead): void => {
  if (dialect.quote === '"' && dialect.escape === '"') return;
  const message =
    dialect.quote === ''
      ? 'quotes are a part of the cells here, not around them: every row has its tabs without them'
      : dialect.quote === '"'
        ? 'quotes inside cells are written with a backslash (\\") instead of twice ("")'
        : `cells stand in single quotes (')${dialect.escape === '\\' ? ', with backslashes for quotes inside' : ''} instead of double quotes`;
  findings.add('quote-style', {
    code: 'table-quote',
    line: 1,
    message,
    hint: `portals read tables by RFC 4180: a cell with a ${delimiterName(dialect.delimiter)} in double quotes, a quote inside written twice`,
    mend: 'cells are quoted by RFC 4180',
  });
};

const lastRow = (findings: Findings, { last, header, rows, skipped }: TableRead): void => {
  if (last === null || header === null || rows < 2) return;
  if (header.cells.length > 2 && last.filled === 1 && last.note && findings.of('footer') === undefined) {
    findings.add('footer-padded', {
      line: last.line,
      column: 1,
      message: 'the last row has only one cell and looks like a note',
    });
  }
  if (last.cutNote && skipped === null) {
    findings.add('footer', {
      code: 'table-ragged',
      line: last.line,
      message: 'the last row looks like a note that contains delimiters',
      hint: `remove it, or quote its cells; ${asRecord}`,
    });
  }
  if (last.total) {
    findings.add('total-row', {
      line: last.line,
      column: 1,
      message: 'the last row looks like a total; sums over the column would count it twice',
    });
  }
};
