// Rows of delimited text: as csv-parse reads them, ragged ones included, each with its line.
import { Parser } from 'csv-parse';
import { TableFaultError } from '../../errors.ts';
import { sniffBytes, sniffTable } from '../../table/sniff.ts';
import { noHeader, oversizeRow, shown } from '../faults.ts';
import type { Limits, Row, Table } from '../row.ts';
import type { Bytes } from './bytes.ts';
import { decoded, newlinesIn } from './decode.ts';

/** How a source is read; what is null is found out or not there. */
export interface ReadingOptions {
  encoding: string | null;
  delimiter: string | null;
  /** Lines above the header that are left out. */
  skip: number;
  limits: Limits;
}

/** Opens delimited text; `said` gets a line about how it is read. */
export const openDelimited = async (
  bytes: Bytes,
  options: ReadingOptions,
  said: (line: string) => void,
): Promise<Table> => {
  const { encoding, skip, limits } = options;
  const delimiter = options.delimiter ?? (await findDelimiter(bytes, { encoding, skip }));
  said(`read as ${encoding ?? 'UTF-8'} text, separated by ${delimiter === '\t' ? 'tabs' : shown(delimiter)}`);
  const rows = readRows(decoded(bytes, encoding), { delimiter, skip, limits });
  const first = await nextRows(rows);
  const header = first.shift();
  if (header === undefined) throw noHeader(skip + 1);
  return { columns: header.cells, batches: resumed(first, rows) };
};

const nextRows = async (rows: AsyncGenerator<Row[]>): Promise<Row[]> => {
  const next = await rows.next();
  return next.done ? [] : next.value;
};

/** Goes on with an iteration whose first batch was taken. */
export async function* resumed(first: Row[], rest: AsyncGenerator<Row[]>): AsyncGenerator<Row[]> {
  try {
    if (first.length > 0) yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

const findDelimiter = async (
  bytes: Bytes,
  { encoding, skip }: { encoding: string | null; skip: number },
): Promise<string> => {
  let head = '';
  for await (const text of withoutLines(decoded(bytes, encoding), skip)) {
    head += text;
    if (head.length > sniffBytes) break;
  }
  return sniffTable(Buffer.from(head), head.length <= sniffBytes).delimiter;
};

/** Leaves lines out, piece by piece. */
class LineSkipper {
  #left: number;
  /** A line ended with CR at the end of a piece; an LF at the start of the next one belongs to it. */
  #afterReturn = false;

  constructor(count: number) {
    this.#left = count;
  }

  /** What is left of the next piece. */
  rest(piece: string): string {
    let from = this.#afterReturn && piece.startsWith('\n') ? 1 : 0;
    this.#afterReturn = false;
    const end = /\r\n?|\n/g;
    while (this.#left > 0 && from < piece.length) {
      end.lastIndex = from;
      const found = end.exec(piece);
      if (found === null) return '';
      from = end.lastIndex;
      this.#left--;
      this.#afterReturn = found[0] === '\r' && from === piece.length;
    }
    return from === 0 ? piece : piece.slice(from);
  }
}

/** Text without its first lines. */
async function* withoutLines(source: AsyncIterable<string>, count: number): AsyncGenerator<string> {
  const skipper = new LineSkipper(count);
  for await (const piece of source) {
    const rest = skipper.rest(piece);
    if (rest !== '') yield rest;
  }
}

/** csv-parse without the stream's own queue: rows are taken away after each piece. */
class RowParser extends Parser {
  #rows: Row[] = [];
  readonly #skip: number;

  constructor({ delimiter, skip, limits }: { delimiter: string; skip: number; limits: Limits }) {
    super({
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: limits.rowBytes,
      info: true,
    });
    this.#skip = skip;
    this.on('error', () => undefined); // each write and the end report it to their own callback
  }

  override push(parsed: { record: string[]; info: { lines: number } } | null): boolean {
    if (parsed === null) return super.push(null);
    const { record: cells, info } = parsed;
    let within = 0;
    for (const cell of cells) if (cell.includes('\n')) within += newlinesIn(cell);
    this.#rows.push({ line: info.lines + this.#skip - within, cells });
    return true;
  }

  takeRows(): Row[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }
}

type ParseFault = (Error & { code?: string; lines?: number; column?: number }) | null | undefined;

async function* readRows(
  source: AsyncIterable<string>,
  options: { delimiter: string; skip: number; limits: Limits },
): AsyncGenerator<Row[]> {
  const parser = new RowParser(options);
  const outcome = async (pending: Promise<ParseFault>): Promise<Row[]> => {
    const fault = await pending;
    if (fault) throw told(fault, options);
    return parser.takeRows();
  };
  try {
    for await (const text of withoutLines(source, options.skip)) {
      const rows = await outcome(new Promise((done) => parser.write(Buffer.from(text), done)));
      if (rows.length > 0) yield rows;
    }
    const rest = await outcome(new Promise((done) => parser.end(done)));
    if (rest.length > 0) yield rest;
  } finally {
    parser.destroy();
  }
}

const told = (fault: NonNullable<ParseFault>, { skip, limits }: { skip: number; limits: Limits }): TableFaultError => {
  const line = (fault.lines ?? 1) + skip;
  if (fault.code === 'CSV_MAX_RECORD_SIZE') return oversizeRow(line, limits);
  const unclosed = fault.code === 'CSV_QUOTE_NOT_CLOSED';
  return new TableFaultError(
    unclosed
      ? `line ${line}: a quote opens here or above and is never closed`
      : `line ${line}: a quote stands where none may stand`,
    { code: 'table-quote', line, ...(fault.column === undefined ? {} : { column: fault.column + 1 }) },
    { hint: 'put the whole cell in quotes and write an inner quote twice' },
  );
};
