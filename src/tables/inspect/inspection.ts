// Inspects a table in one pass: encoding, layout, header, rows, values, and the table as a whole.
import type { ColumnKind } from '../../model/table-history.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import { rfc4180 } from '../scan/dialect.ts';
import { foreignLineEnds, isSentence } from '../scan/division.ts';
import { type EncodingVerdict, EncodingWatch, hintOf } from '../scan/encoding-watch.ts';
import { oversizeOf } from '../scan/faults.ts';
import type { Layout } from '../scan/layout.ts';
import { type OpenTable, scannerOf } from '../scan/open-table.ts';
import type { ColumnType } from '../scan/value-kind.ts';
import { type ColumnFacts, columnRemarks, mostlyOf, type NumberNotation, notationsOf } from './columns.ts';
import {
  type Finding,
  type Findings,
  type FoundAt,
  findingList,
  mostPlaces,
  type Verdict,
  verdictOf,
} from './finding.ts';
import { emptyTail, headerFindings, mostColumns, type ScannedHeader, scannedHeader } from './header.ts';
import { importerWatch } from './importer.ts';
import { type RowInspector, rowInspector } from './row-inspector.ts';

interface InspectedColumn {
  name: string;
  /** The name that a portal makes of it; empty when it cannot. */
  portalName: string;
  type: ColumnType;
  /** What most of its values are, to compare a version of the table with the previous one. */
  mostly: ColumnKind;
  decidedBy: number | null;
  empty: number;
  /** The notation of numbers that portals keep as text; several where the values are ambiguous. */
  notations?: NumberNotation[];
}

export interface Inspected {
  verdict: Verdict;
  /** By its title, such as `Windows-1250`; `mixed` or `unknown` where the file cannot be read. */
  encoding: string;
  bom: boolean;
  delimiter: string;
  quote: string;
  escape: string;
  lineEnds: 'LF' | 'CRLF' | 'CR' | 'mixed' | 'none';
  /** The line of the header, from 1; 0 where there is none. */
  headerLine: number;
  rows: number;
  columns: InspectedColumn[];
  findings: Finding[];
  /** What a fix needs to know beside the findings. */
  fix: { titleRows: number; footerLine: number | null; emptyTail: number; header: string[] };
}

interface InspectionSettings extends Pick<OpenTable, 'signature' | 'layout' | 'bom' | 'decodedFrom' | 'skipped'> {
  rowBytes: number;
  isEncodingGiven: boolean;
  /** Lines of rows that are known to be below blank ones. */
  apart: ReadonlySet<number>;
}

/** Traces of characters that an earlier conversion lost or took for others, in bytes of UTF-8. */
const lostTexts = {
  replaced: /\xef\xbf\xbd/g,
  // Ã and Â before a sign of Windows-1252, punctuation (â€), letters of Central Europe (Ä, Å), two of other alphabets.
  'twice-encoded':
    /\xc3(?:\x83(?:[\xc2\xc5\xcb]|\xc6\x92|\xe2(?:\x80[^\x99\x9d\xa6]|\x82|\x84))|\x82\xc2[\xa0-\xbf]|\xa2(?:\xe2\x82\xac|\xe2\x80\x9a\xc2\xac|\xc2[\x80-\x9f])|[\x84\x85](?:\xc2[^\xa0]|\xe2\x80[\x9a\x9e\xa1\xba])|[\x8e-\x91\x98\x99][\xc2\xc5\xc6\xcb].\xc3[\x8e-\x91\x98\x99])/g,
  'lost-letter': /\?(?<=(?<![\w./:?=&%\x80-\xff-])[A-Za-z\x80-\xff]+\?)(?=[a-z\x80-\xff]+(?![\w./:?=&%-]))/g,
  'character-reference':
    /&(?:#\d{2,5}|#x[\da-f]{2,4}|amp|lt|gt|quot|apos|nbsp|shy|[a-z](?:uml|acute|grave|circ|tilde|cedil|caron|slash|ring)|szlig|[ao]elig|[mn]dash|[lr][sd]quo|hellip|euro|deg);/gi,
};
/** Bytes that a text with one of them has; most have not all. */
const needed = { replaced: 'ï', 'twice-encoded': 'Ã', 'lost-letter': '?', 'character-reference': '&;' };

/** Inspects a table that is fed chunk by chunk, without a byte order mark. */
export const tableInspection = (settings: InspectionSettings) => {
  const { signature, bom, decodedFrom, skipped, rowBytes, isEncodingGiven, apart } = settings;
  const isTable = signature === null && decodedFrom !== 'UTF-32';
  const { delimiter } = settings.layout.dialect;
  const layout = isTable ? settings.layout : { dialect: { ...rfc4180, delimiter }, titleRows: 0 };
  const { dialect } = layout;
  const findings = findingList(decodedFrom === null || !isTable);
  const scanner = scannerOf(settings, rowBytes);
  const watch = new EncodingWatch();
  const importer = importerWatch(scanner, findings, delimiter);
  /** Bytes that belong to no UTF-8 character, and where they stand. */
  const badAt: (FoundAt & { byte: number; offset: number })[] = [];
  let { titleRows } = layout;
  let firstRowLine = 0;
  let header: ScannedHeader | null = null;
  let body: RowInspector | null = null;

  const takeHeader = (row: number): void => {
    if (scanner.width(row) === 0) {
      const { facts, ...place } = oversizeOf(scanner, row, rowBytes);
      findings.add('row-oversize', place, facts);
      titleRows = Number.POSITIVE_INFINITY; // nothing below can be judged without a header
      return;
    }
    header = scannedHeader(scanner, row, dialect);
    const { cells, raw } = header;
    body = rowInspector(scanner, findings, { delimiter, width: cells.length, header: raw, rowBytes, apart });
    body.inspectCells(row);
  };

  /** Dispatches the rows of the scanner: titles, header, body. */
  const takeRows = (): void => {
    importer.take();
    let row = 0;
    for (; row < scanner.rows && body === null; row++) {
      if (firstRowLine === 0) firstRowLine = scanner.rowLines[0] ?? 1;
      if (titleRows > 0) titleRows -= 1;
      else takeHeader(row);
    }
    body?.take(row);
  };

  /** The places of lost text of a kind; where enough are known, the others count with the last of them. */
  const lost = (chunk: Buffer, kind: keyof typeof lostTexts) => {
    const isPossible = [...needed[kind]].every((byte) => chunk.includes(byte, 0, 'latin1'));
    const text = isPossible ? chunk.toString('latin1') : '';
    const offsets = [...text.matchAll(lostTexts[kind])].map(({ index }) => index);
    const known = findings.of(kind);
    const room = mostPlaces - (known?.places.length ?? 0);
    const others = Math.max(0, offsets.length - room);
    if (room === 0 && known) known.count += others;
    return offsets.slice(0, room).map((at, index) => {
      const count = index === room - 1 ? others + 1 : 1;
      return { at, report: (place: FoundAt) => findings.add(kind, { ...place, count }) };
    });
  };

  const feed = (chunk: Buffer): void => {
    if (!isTable) return;
    const marks = watch.feed(chunk).map((at) => ({
      at,
      report: (place: FoundAt & { offset: number }) => {
        if (badAt.length < mostPlaces) badAt.push({ ...place, byte: chunk[at] ?? 0 });
      },
    }));
    for (const kind in lostTexts) marks.push(...lost(chunk, kind as keyof typeof lostTexts));
    let from = 0;
    const scan = (to: number): void => {
      scanner.feed(chunk.subarray(from, to));
      takeRows();
      from = to;
    };
    for (const { at, report } of marks.sort((a, b) => a.at - b.at)) {
      scan(at);
      const { place, base, end } = scanner;
      report({ ...place, offset: base + end, context: contextAt(chunk, at, chunk.length) });
    }
    scan(chunk.length);
  };

  /** Reports how the file is written; returns its encoding. */
  const reportEncoding = (): string => {
    if (signature !== null) findings.add('not-a-table', { line: 1, offset: 0 }, { signature });
    else if (!isTable) findings.add('wide-encoding', { line: 1 }, { name: 'UTF-32' });
    if (!isTable) return 'unknown';
    if (isEncodingGiven && decodedFrom !== null) {
      findings.add('other-encoding', { line: 1 }, { encoding: decodedFrom, isGiven: true });
      return decodedFrom;
    }
    if (bom && decodedFrom === null) findings.add('bom', { line: 1, offset: 0 });
    if (decodedFrom !== null) {
      findings.add('wide-encoding', { line: 1 }, { name: decodedFrom, isReadable: true });
      return decodedFrom;
    }
    const verdict = watch.verdict();
    const { encoding } = verdict;
    if (watch.shifted !== null) findings.add('other-encoding', { line: 1 }, { encoding, isGiven: false });
    if (watch.bad > 0) reportBad(verdict);
    return encoding;
  };

  /** The bytes that belong to no UTF-8 character; the last place counts for those that are not kept. */
  const reportBad = (verdict: EncodingVerdict): void => {
    const { encoding, candidates } = verdict;
    const kind = encoding === 'mixed' ? 'mixed-encoding' : 'other-encoding';
    const hint = hintOf(verdict, () => '; save it as UTF-8, or run `sluice check --fix`');
    const known = encoding === 'mixed' || encoding === 'unknown' ? null : encoding;
    badAt.forEach(({ byte, ...found }, at) => {
      const count = at === badAt.length - 1 ? watch.bad - at : 1;
      const place = { ...found, ...(encoding === 'unknown' && { candidates }), count };
      findings.add(kind, place, { byte, offset: found.offset, hint, encoding: known });
    });
  };

  const reportColumns = ({ cells, line, places }: ScannedHeader, { rows, kinds: counts }: RowInspector) => {
    const facts = cells.map((_, column) => counts.facts(column));
    judgeRepeats(findings.of('repeated-header'), facts, skipped === null ? rows : 0);
    const isRecord = layout.headerless === true;
    const names = headerFindings(findings, { cells, line, places, facts, delimiter, isRecord });
    importer.header(cells, line);
    if (cells.length <= mostColumns) columnRemarks(findings, { names: cells, facts, rows, line });
    const columns = cells.slice(0, mostColumns).map((name, at): InspectedColumn => {
      const { type = 'empty', decidedBy = null, empty = 0, kinds = [] } = facts[at] ?? {};
      const notations = notationsOf({ kinds });
      const values = { type, mostly: mostlyOf({ kinds }), decidedBy, empty };
      return { name, portalName: names[at] ?? '', ...values, ...(notations.length > 0 && { notations }) };
    });
    return { columns, emptyTail: emptyTail({ cells, facts }) };
  };

  const end = (): Inspected => {
    const { place, base, end: scanned } = scanner;
    const cut = watch.end();
    scanner.finish();
    takeRows();
    const footerLine = body?.end(skipped !== null) ?? null;
    const offset = base + scanned - cut;
    if (cut > 0) findings.add('cut-character', { ...place, offset }, { offset });
    const encoding = reportEncoding();
    const { columns, emptyTail: tail } =
      header === null || body === null ? { columns: [], emptyTail: 0 } : reportColumns(header, body);
    if (header === null && isTable && findings.of('row-oversize') === undefined)
      findings.add('empty-file', { line: 1 }, {});
    const { rows = 0, last = null } = body ?? {};
    const { lines } = scanner;
    tableRemarks(findings, { layout, last, rows, lines, header, firstRowLine, skipped: skipped?.lines ?? null });
    const found = findings.list();
    return {
      verdict: verdictOf(found),
      encoding,
      bom,
      delimiter,
      quote: dialect.quote,
      escape: dialect.escape,
      lineEnds: lineEndsOf(lines),
      headerLine: header?.line ?? 0,
      rows,
      columns,
      findings: found,
      fix: { titleRows: layout.titleRows, footerLine, emptyTail: tail, header: header?.cells ?? [] },
    };
  };

  return { feed, end };
};

/**
 * A row like the header is a header beyond doubt where a column has no other text; otherwise it may be a row, if hardly in
 * a table of several columns, of which it is not half of the `rows`.
 */
const judgeRepeats = (repeats: Finding | undefined, facts: ColumnFacts[], rows: number): void => {
  if (repeats === undefined) return;
  const isHeader = facts.some(({ texts, values }) => texts === repeats.count && values >= Math.max(2, texts));
  if (isHeader || (facts.length > 1 && repeats.count < rows / 2)) repeats.code = 'table-header';
  if (!isHeader) repeats.mend = null;
};

const lineEndsOf = ({ lf, crlf, cr }: CellScanner['lines']): Inspected['lineEnds'] => {
  const [kind = 'none', ...others] = (['LF', 'CRLF', 'CR'] as const).filter((_, at) => ([lf, crlf, cr][at] ?? 0) > 0);
  return others.length > 0 ? 'mixed' : kind;
};

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

const tableRemarks = (findings: Findings, read: TableRead): void => {
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

const lineEnds = (findings: Findings, { header, skipped, lines: { lf, crlf, cr, blank, firstBlank } }: TableRead) => {
  const kinds = Object.entries({ CRLF: crlf, LF: lf, CR: cr }).filter(([, count]) => count > 0);
  if (kinds.length > 1) {
    const shares = kinds.map(([name, count]) => `${name} ${count.toLocaleString('en')}`).join(', ');
    // Without a second column nothing tells a line end from a line break in a cell.
    const isUnclear = cr > 0 && header?.cells.length === 1 && skipped === null;
    findings.add('line-ends-mixed', { line: 1 }, { shares, isUnclear });
  } else if (cr > 0 && (cr > 1 || blank > 0 || firstBlank > 0)) findings.add('line-ends-old', { line: 1 });
};
