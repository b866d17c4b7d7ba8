// The rows of an index as they stand in its file: CSV with a heading, or JSON lines.
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { CsvError, parse } from 'csv-parse/sync';
import { type FileProblem, ManifestError, SourceMissingError } from '../../errors.ts';

/** A value with its heading and its place. */
export interface IndexCell {
  heading: string;
  value: unknown;
  /** Number of the cell in its row, from 1; of JSON lines 1. */
  column: number;
}

/** One row; without a `fault` its cells can be trusted. */
export interface IndexRow {
  /** Line where it begins, from 1. */
  line: number;
  cells: IndexCell[];
  fault: string | null;
}

/** What the file holds. */
export interface IndexRows {
  /** Names of the columns; of JSON lines those of all rows. */
  headings: string[];
  rows: IndexRow[];
  /** False for JSON lines, where each row has names of its own. */
  isCsv: boolean;
}

/** Largest index that is read, bytes. */
const maxBytes = 256 * 1024 * 1024;

/**
 * Reads an index; empty cells are left out. Throws SourceMissingError, and ManifestError where the file as a whole is no
 * index: not UTF-8, an unclosed quote, no heading.
 */
export const readIndex = async (file: string): Promise<IndexRows> => {
  const bytes = await readFile(file).catch((cause: Error) => {
    throw new SourceMissingError(`the index ${file} cannot be read: ${cause.message}`, {
      hint: 'check `index:` in the manifest; nothing was published, and nothing was taken down',
      cause,
    });
  });
  if (bytes.length > maxBytes) throw wrong(file, 1, `the index has more than ${maxBytes / 1024 / 1024} MiB`);
  const body = bytes.subarray(bytes.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0);
  refuseOtherEncodings(file, body);
  return /^\.(jsonl|ndjson)$/i.test(extname(file)) ? jsonRows(body) : csvRows(file, body);
};

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

const wrong = (file: string, line: number, message: string): ManifestError =>
  new ManifestError([{ file, line, column: 1, key: '', message } satisfies FileProblem], {
    hint: 'mend the index; nothing was published, and nothing was taken down',
  });

const refuseOtherEncodings = (file: string, body: Buffer): void => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw wrong(file, 1, 'the index is not UTF-8: save it as "CSV UTF-8"');
  }
};

const csvRows = (file: string, body: Buffer): IndexRows => {
  const [head, ...records] = parseCsv(file, body);
  if (!head) throw wrong(file, 1, 'the index is empty: its first line names the columns');
  const headings = head.cells.map((cell) => cell.trim());
  const rows = records.map(({ line, cells }): IndexRow => {
    const filled = cells.flatMap((text, at): IndexCell[] => {
      const value = text.trim();
      return value === '' ? [] : [{ heading: headings[at] ?? '', value, column: at + 1 }];
    });
    const fits = cells.length === headings.length;
    const fault = fits ? null : `has ${cells.length} cells, the heading has ${headings.length}`;
    return { line, cells: filled, fault };
  });
  return { headings, rows: rows.filter(({ cells }) => cells.length > 0), isCsv: true };
};

interface CsvRecord {
  line: number;
  cells: string[];
}

const parseCsv = (file: string, body: Buffer): CsvRecord[] => {
  try {
    const parsed = parse(body, {
      delimiter: delimiterOf(body),
      relax_column_count: true,
      skip_empty_lines: true,
      info: true,
    }) as unknown as { record: string[]; info: { bytes: number } }[]; // `info: true` gives this shape
    const lines = new LineCounter(body);
    let end = 0;
    return parsed.map(({ record, info }) => {
      const begin = end;
      end = info.bytes;
      return { line: lines.ofRecord(begin), cells: record };
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : 1;
    throw wrong(file, line, `the index is no CSV: ${error.message}`);
  }
};

/** Tells lines of ascending offsets. (The parser's own count is off after a line end in a quoted cell.) */
class LineCounter {
  readonly #body: Buffer;
  #at = 0;
  #line = 1;

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** Line of the first record that begins at or after `offset`, behind line ends. */
  ofRecord(offset: number): number {
    let begin = offset;
    while (this.#body[begin] === 10 || this.#body[begin] === 13) begin += 1;
    for (; this.#at < begin; this.#at += 1) if (this.#body[this.#at] === 10) this.#line += 1;
    return this.#line;
  }
}

/** The delimiter that stands most often in the heading, outside quotes. */
const delimiterOf = (body: Buffer): string => {
  const [heading = ''] = body
    .subarray(0, 64 * 1024)
    .toString('utf8')
    .trimStart()
    .split(/\r?\n/, 1);
  const bare = heading.replaceAll(/"[^"]*"/g, '');
  const counts = [',', ';', '\t', '|'].map((mark) => ({ mark, count: bare.split(mark).length }));
  return counts.reduce((best, each) => (each.count > best.count ? each : best)).mark;
};

const jsonRows = (body: Buffer): IndexRows => {
  const headings = new Set<string>();
  const rows = body
    .toString('utf8')
    .split('\n')
    .flatMap((text, index): IndexRow[] => {
      if (text.trim() === '') return [];
      const row = jsonRow(text, index + 1);
      for (const { heading } of row.cells) headings.add(heading);
      return [row];
    });
  return { headings: [...headings], rows, isCsv: false };
};

const jsonRow = (text: string, line: number): IndexRow => {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      return { line, cells: [], fault: 'is no JSON object' };
    return { line, cells: cellsOf(value, ''), fault: null };
  } catch (error) {
    return { line, cells: [], fault: `is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
};

/** `{"dataset": {"id": "budget"}}` and `{"dataset.id": "budget"}` are the same; deeper values stay whole. */
const cellsOf = (value: object, prefix: string): IndexCell[] =>
  Object.entries(value).flatMap(([name, item]: [string, unknown]): IndexCell[] => {
    const nests = prefix === '' && (name === 'dataset' || name === 'resource');
    if (nests && item !== null && typeof item === 'object' && !Array.isArray(item)) return cellsOf(item, `${name}.`);
    return item === null || item === '' ? [] : [{ heading: `${prefix}${name}`, value: item, column: 1 }];
  });
