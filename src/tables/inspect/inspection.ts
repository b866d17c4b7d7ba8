// Inspects a table in one pass: encoding, layout, header, rows, values.
import { isAscii } from 'node:buffer';
import type { ColumnKind } from '../../model/table-history.ts';
import { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import type { TableDialect } from '../scan/dialect.ts';
import { type EncodingVerdict, EncodingWatch, hintOf } from '../scan/encoding-watch.ts';
import { oversizeOf } from '../scan/faults.ts';
import type { OpenTable } from '../scan/open-table.ts';
import {
  type ColumnFacts,
  type ColumnType,
  columnRemarks,
  mostlyOf,
  type NumberNotation,
  notationsOf,
} from './columns.ts';
import { type Finding, Findings, type FoundAt, mostPlaces, type Verdict, verdictOf } from './finding.ts';
import { emptyTail, headerFindings, mostColumns, type ScannedHeader, scannedHeader } from './header.ts';
import { importerWatch } from './importer.ts';
import { type RowInspector, rowInspector } from './row-inspector.ts';
import { tableRemarks } from './table-remarks.ts';

interface InspectedColumn {
  name: string;
  /** The name that a portal makes of it; empty when it cannot. */
  portalName: string;
  type: ColumnType;
  /** What most of its values are, to compare a version of the table with the previous one. */
  mostly: ColumnKind;
  /** The line of the row that decided the type; null for a column without values. */
  decidedBy: number | null;
  empty: number;
  /** The notation of numbers that portals keep as text; several where the values are ambiguous. */
  notations?: NumberNotation[];
}

export interface TableFacts {
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
}

/** What a fix needs to know beside the findings. */
export interface FixFacts {
  titleRows: number;
  footerLine: number | null;
  emptyTail: number;
  header: string[];
}

export type Inspected = TableFacts & { fix: FixFacts };

interface InspectionSettings extends Pick<OpenTable, 'layout' | 'bom' | 'decodedFrom' | 'skipped'> {
  rowBytes: number;
  isEncodingGiven: boolean;
  /** Lines of rows that are known to be below blank ones. */
  apart: ReadonlySet<number>;
}

/** Signs of text that an earlier conversion damaged. */
const lostTexts = [
  { kind: 'replaced', bytes: Buffer.from([0xef, 0xbf, 0xbd]) },
  { kind: 'twice-encoded', bytes: Buffer.from([0xc3, 0x83, 0xc2]) },
] as const;

/** A place in a chunk that is to be reported once the rows before it are scanned. */
interface Mark {
  at: number;
  report: () => void;
}

interface BadByte extends FoundAt {
  byte: number;
  offset: number;
}

/** Inspects a table that is fed chunk by chunk, without a byte order mark. */
export class TableInspection {
  readonly findings: Findings;
  readonly #settings: InspectionSettings;
  readonly #dialect: TableDialect;
  readonly #scanner: CellScanner;
  readonly #watch = new EncodingWatch();
  readonly #importer: ReturnType<typeof importerWatch>;
  #titleRows: number;
  #firstRowLine = 0;
  #emptyTail = 0;
  #header: ScannedHeader | null = null;
  #rows: RowInspector | null = null;
  readonly #badAt: BadByte[] = [];

  constructor(settings: InspectionSettings) {
    this.#settings = settings;
    this.findings = new Findings({ offsets: settings.decodedFrom === null });
    this.#dialect = settings.layout.dialect;
    this.#titleRows = settings.layout.titleRows;
    this.#scanner = new CellScanner(this.#dialect, settings.rowBytes);
    this.#importer = importerWatch(this.#scanner, this.findings, this.#dialect.delimiter);
    const { lines, skipper } = settings.skipped ?? { lines: 0, skipper: { bytes: 0 } };
    this.#scanner.beginBelow(skipper.bytes + (this.#hasMark ? 3 : 0), lines);
  }

  /** True when the bytes of the file begin with a byte order mark of UTF-8. */
  get #hasMark(): boolean {
    return this.#settings.bom && this.#settings.decodedFrom === null;
  }

  feed(chunk: Buffer): void {
    let from = 0;
    for (const { at, report } of this.#marks(chunk)) {
      this.#scan(chunk.subarray(from, at));
      from = at;
      report();
    }
    this.#scan(chunk.subarray(from));
  }

  end(): Inspected {
    const { place, base, end } = this.#scanner;
    const cut = this.#watch.end();
    this.#scanner.finish();
    this.#takeRows();
    const { bom, layout, skipped } = this.#settings;
    const footerLine = this.#rows?.end(skipped !== null) ?? null;
    const offset = base + end - cut;
    if (cut > 0) this.findings.add('cut-character', { ...place, offset }, { offset });
    const encoding = this.#reportEncoding();
    const columns = this.#reportColumns();
    const { rows = 0, last = null } = this.#rows ?? {};
    tableRemarks(this.findings, {
      layout,
      last,
      rows,
      lines: this.#scanner.lines,
      header: this.#header,
      firstRowLine: this.#firstRowLine,
      skipped: skipped?.lines ?? null,
    });
    const { quote, escape: by, delimiter } = this.#dialect;
    const { line: headerLine = 0, cells: header = [] } = this.#header ?? {};
    const findings = this.findings.list();
    return {
      verdict: verdictOf(findings),
      encoding,
      bom,
      delimiter,
      quote,
      escape: by,
      lineEnds: this.#lineEnds(),
      headerLine,
      rows,
      columns,
      findings,
      fix: { titleRows: layout.titleRows, footerLine, emptyTail: this.#emptyTail, header },
    };
  }

  #reportEncoding(): string {
    const { decodedFrom, isEncodingGiven } = this.#settings;
    const { findings } = this;
    if (isEncodingGiven && decodedFrom !== null) {
      findings.add('other-encoding', { line: 1 }, { encoding: decodedFrom, isGiven: true });
      return decodedFrom;
    }
    if (this.#hasMark) findings.add('bom', { line: 1, offset: 0 });
    if (decodedFrom !== null) {
      findings.add('wide-encoding', { line: 1 }, { name: decodedFrom, isReadable: true });
      return decodedFrom;
    }
    const verdict = this.#watch.verdict();
    const { encoding } = verdict;
    if (this.#watch.shifted !== null) findings.add('other-encoding', { line: 1 }, { encoding, isGiven: false });
    if (this.#watch.bad > 0) this.#reportBad(verdict);
    return encoding;
  }

  /** The bytes that belong to no UTF-8 character; the last place counts for those that are not kept. */
  #reportBad(verdict: EncodingVerdict): void {
    const { encoding, candidates } = verdict;
    const kind = encoding === 'mixed' ? 'mixed-encoding' : 'other-encoding';
    const hint = hintOf(verdict, () => '; save it as UTF-8, or run `sluice check --fix`');
    const known = encoding === 'mixed' || encoding === 'unknown' ? null : encoding;
    this.#badAt.forEach(({ byte, ...found }, at) => {
      const count = at === this.#badAt.length - 1 ? this.#watch.bad - at : 1;
      const place = { ...found, ...(encoding === 'unknown' && { candidates }), count };
      this.findings.add(kind, place, { byte, offset: found.offset, hint, encoding: known });
    });
  }

  #scan(bytes: Buffer): void {
    this.#scanner.feed(bytes);
    this.#takeRows();
  }

  /** Places in a chunk that are to be reported with line and column, in order. */
  #marks(chunk: Buffer): Mark[] {
    const marks: Mark[] = this.#watch.feed(chunk).map((at) => ({ at, report: () => this.#rememberBad(chunk, at) }));
    if (isAscii(chunk)) return marks;
    for (const text of lostTexts) marks.push(...this.#lost(chunk, text));
    return marks.sort((a, b) => a.at - b.at);
  }

  /** The places of lost text of a kind; where enough are known, the others count with the last of them. */
  #lost(chunk: Buffer, { kind, bytes }: (typeof lostTexts)[number]): Mark[] {
    const offsets: number[] = [];
    for (let at = chunk.indexOf(bytes); at >= 0; at = chunk.indexOf(bytes, at + 1)) offsets.push(at);
    const known = this.findings.of(kind);
    const room = mostPlaces - (known?.places.length ?? 0);
    const others = Math.max(0, offsets.length - room);
    if (room === 0 && known) known.count += others;
    return offsets.slice(0, room).map((at, index) => ({
      at,
      report: () =>
        this.findings.add(kind, { ...this.#placeIn(chunk, at), count: index === room - 1 ? others + 1 : 1 }),
    }));
  }

  #rememberBad(chunk: Buffer, at: number): void {
    if (this.#badAt.length < mostPlaces) this.#badAt.push({ ...this.#placeIn(chunk, at), byte: chunk[at] ?? 0 });
  }

  /** Offset `at` of a chunk of which the scanner has read what is before it. */
  #placeIn(chunk: Buffer, at: number): FoundAt & { offset: number } {
    const { place, base, end } = this.#scanner;
    return { ...place, offset: base + end, context: contextAt(chunk, at, chunk.length) };
  }

  /** Dispatches the rows of the scanner: titles, header, body. */
  #takeRows(): void {
    const scanner = this.#scanner;
    this.#importer.take();
    let row = 0;
    while (row < scanner.rows && this.#rows === null) {
      if (this.#firstRowLine === 0) this.#firstRowLine = scanner.rowLines[0] ?? 1;
      if (this.#titleRows > 0) this.#titleRows -= 1;
      else this.#takeHeader(row);
      row += 1;
    }
    this.#rows?.take(row);
  }

  #takeHeader(row: number): void {
    const scanner = this.#scanner;
    if (scanner.width(row) === 0) {
      const { facts, ...place } = oversizeOf(scanner, row, this.#settings.rowBytes);
      this.findings.add('row-oversize', place, facts);
      this.#titleRows = Number.POSITIVE_INFINITY; // nothing below can be judged without a header
      return;
    }
    const header = scannedHeader(scanner, row, this.#dialect);
    this.#header = header;
    const { rowBytes, apart } = this.#settings;
    const settings = { width: header.cells.length, header: header.raw, rowBytes, apart };
    this.#rows = rowInspector(scanner, this.findings, settings);
    this.#rows.inspectCells(row);
  }

  #reportColumns(): InspectedColumn[] {
    const header = this.#header;
    if (header === null || this.#rows === null) {
      if (this.findings.of('row-oversize') === undefined) this.findings.add('empty-file', { line: 1 }, {});
      return [];
    }
    const { rows, kinds: counts } = this.#rows;
    const facts = header.cells.map((_, column) => counts.facts(column));
    this.#emptyTail = emptyTail({ cells: header.cells, facts });
    this.#judgeRepeats(facts);
    const isRecord = this.#settings.layout.headerless === true;
    const { delimiter } = this.#dialect;
    const names = headerFindings(this.findings, { ...header, facts, rows, delimiter, isRecord });
    this.#importer.header(header.cells, header.line);
    if (header.cells.length <= mostColumns)
      columnRemarks(this.findings, { names: header.cells, facts, rows, line: header.line });
    return header.cells.slice(0, mostColumns).map((name, at) => {
      const { type = 'empty', decidedBy = null, empty = 0, kinds = [] } = facts[at] ?? {};
      const notations = notationsOf({ kinds });
      const written = notations.length === 0 ? {} : { notations };
      return { name, portalName: names[at] ?? '', type, mostly: mostlyOf({ kinds }), decidedBy, empty, ...written };
    });
  }

  /** A row like the header is a header beyond doubt where a column has no other text; otherwise it may be a row. */
  #judgeRepeats(facts: ColumnFacts[]): void {
    const repeats = this.findings.of('repeated-header');
    if (repeats === undefined) return;
    const isHeader = facts.some(({ kinds }) => {
      const text = kinds.find(({ kind }) => kind === 'text')?.count ?? 0;
      const others = kinds.reduce((sum, { kind, count }) => (kind === 'text' ? sum : sum + count), 0);
      return text === repeats.count && others >= Math.max(2, text);
    });
    if (isHeader) repeats.code = 'table-header';
    else repeats.mend = null;
  }

  #lineEnds(): TableFacts['lineEnds'] {
    const { lf, crlf, cr } = this.#scanner.lines;
    const [kind = 'none', ...others] = (['LF', 'CRLF', 'CR'] as const).filter((_, at) => ([lf, crlf, cr][at] ?? 0) > 0);
    return others.length > 0 ? 'mixed' : kind;
  }
}
