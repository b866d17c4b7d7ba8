// Inspects a table in one pass: encoding, layout, header, rows, values.
import { isAscii } from 'node:buffer';
import type { ColumnKind } from '../../model/table-history.ts';
import { CellScanner } from '../scan/cell-scanner.ts';
import { contextAt } from '../scan/cell-text.ts';
import type { TableDialect } from '../scan/dialect.ts';
import { oversizeOf } from '../scan/faults.ts';
import type { Layout } from '../scan/layout.ts';
import {
  type ColumnFacts,
  ColumnKinds,
  type ColumnType,
  columnRemarks,
  mostlyOf,
  type NumberNotation,
  notationsOf,
} from './columns.ts';
import { type BadByte, EncodingWatch, encodingFinding, reportEncoding } from './encoding.ts';
import { type Finding, Findings, type FoundAt, mostPlaces, type Verdict, verdictOf } from './finding.ts';
import { emptyTail, headerFindings, mostColumns, type ScannedHeader, scannedHeader } from './header.ts';
import { ImporterWatch } from './importer.ts';
import { RowInspector } from './row-inspector.ts';
import { tableRemarks } from './table-remarks.ts';

interface InspectedColumn {
  /** The header cell as it is in the file. */
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

/** Everything an inspection finds of a table. */
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
  /** Line of the first note below the table; null without. */
  footerLine: number | null;
  /** Columns at the end that have neither name nor value. */
  emptyTail: number;
  header: string[];
}

interface InspectionSettings {
  layout: Layout;
  rowBytes: number;
  bom: boolean;
  /** Of a file that was decoded before: offsets in its bytes are not known. */
  decodedFrom: string | null;
  isEncodingGiven?: boolean;
  /** Lines of rows that are known to be below blank ones. */
  apart?: ReadonlySet<number>;
  /** Lines above the first row that were skipped on request, and their bytes. */
  skipped?: { lines: number; bytes: number };
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

/** Inspects a table that is fed chunk by chunk, without a byte order mark. */
export class TableInspection {
  readonly findings: Findings;
  readonly #settings: InspectionSettings;
  readonly #dialect: TableDialect;
  readonly #scanner: CellScanner;
  readonly #watch = new EncodingWatch();
  readonly #kinds = new ColumnKinds();
  readonly #importer: ImporterWatch;
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
    const { bytes, lines } = settings.skipped ?? { bytes: 0, lines: 0 };
    this.#importer = new ImporterWatch(this.#scanner, this.findings, this.#dialect.delimiter);
    this.#scanner.beginBelow(bytes + (settings.bom ? 3 : 0), lines);
  }

  feed(chunk: Buffer): void {
    let from = 0;
    for (const { at, report } of this.#marks(chunk)) {
      this.#scan(chunk.subarray(from, at));
      from = at;
      report();
    }
    this.#scan(from === 0 ? chunk : chunk.subarray(from));
  }

  end(): { facts: TableFacts; fix: FixFacts } {
    const { place, base, end } = this.#scanner;
    const cut = this.#watch.end();
    this.#scanner.finish();
    this.#takeRows();
    this.#rows?.end(this.#settings.skipped !== undefined);
    if (cut > 0) {
      const offset = base + end - cut;
      this.findings.add('cut-character', { ...place, offset }, { offset });
    }
    const encoding = this.#reportDecoding();
    const columns = this.#reportColumns();
    this.#reportLines();
    const { quote, escape: by, delimiter } = this.#dialect;
    const findings = this.findings.list();
    const facts: TableFacts = {
      verdict: verdictOf(findings),
      encoding,
      bom: this.#settings.bom,
      delimiter,
      quote,
      escape: by,
      lineEnds: this.#lineEnds(),
      headerLine: this.#header?.line ?? 0,
      rows: this.#rows?.rows ?? 0,
      columns,
      findings,
    };
    return {
      facts,
      fix: {
        titleRows: this.#settings.layout.titleRows,
        footerLine: this.#rows?.footerLine ?? null,
        emptyTail: this.#emptyTail,
        header: this.#header?.cells ?? [],
      },
    };
  }

  #reportDecoding(): string {
    const { decodedFrom, isEncodingGiven, bom } = this.#settings;
    if (isEncodingGiven && decodedFrom !== null) {
      reportEncoding(this.findings, decodedFrom);
      return decodedFrom;
    }
    const verdict = decodedFrom === null ? this.#watch.verdict() : { encoding: decodedFrom, candidates: [] };
    encodingFinding(this.findings, { ...verdict, count: this.#watch.bad, places: this.#badAt, bom });
    return verdict.encoding;
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
    const width = header.cells.length;
    this.#kinds.reserve(Math.min(width, mostColumns + 1));
    const { rowBytes, apart = new Set() } = this.#settings;
    const settings = { width, header: header.raw, rowBytes, apart };
    this.#rows = new RowInspector(scanner, { findings: this.findings, kinds: this.#kinds, settings });
    this.#rows.inspectCells(row);
  }

  #reportColumns(): InspectedColumn[] {
    const header = this.#header;
    if (header === null) {
      if (this.findings.of('row-oversize') === undefined) this.findings.add('empty-file', { line: 1 }, {});
      return [];
    }
    const rows = this.#rows?.rows ?? 0;
    const facts = header.cells.map((_, column) => this.#kinds.facts(column));
    this.#emptyTail = emptyTail({ cells: header.cells, facts });
    this.#judgeRepeats(facts);
    const names = headerFindings(this.findings, {
      ...header,
      facts,
      rows,
      delimiter: this.#dialect.delimiter,
      isRecord: this.#settings.layout.headerless === true,
    });
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

  #reportLines(): void {
    const { lines } = this.#scanner;
    tableRemarks(this.findings, {
      lines,
      layout: this.#settings.layout,
      header: this.#header,
      last: this.#rows?.last ?? null,
      rows: this.#rows?.rows ?? 0,
      firstRowLine: this.#firstRowLine,
      skipped: this.#settings.skipped?.lines ?? null,
    });
  }

  #lineEnds(): TableFacts['lineEnds'] {
    const { lf, crlf, cr } = this.#scanner.lines;
    const kinds = [lf > 0 ? 'LF' : '', crlf > 0 ? 'CRLF' : '', cr > 0 ? 'CR' : ''].filter((kind) => kind !== '');
    return kinds.length > 1 ? 'mixed' : ((kinds[0] ?? 'none') as TableFacts['lineEnds']); // the names just given
  }
}
