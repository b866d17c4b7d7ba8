// The rows of an index as they are in its file: CSV with a heading, or JSON lines.
import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as breathe } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import {
  errorMessage,
  fileProblem,
  ManifestError,
  SourceChangedError,
  SourceMissingError,
  unreadable,
} from '../../model/errors.ts';
import { isDeeperThan } from '../../model/yaml/document.ts';
import { isObject } from '../../util/json.ts';

export interface IndexCell {
  heading: string;
  value: unknown;
  /** Number of the cell in its row, from 1; of JSON lines 1. */
  column: number;
}

/** One row; without a `fault` its cells can be trusted. */
export interface IndexRow {
  line: number;
  cells: IndexCell[];
  fault: string | null;
}

const maxBytes = 256 * 1024 * 1024;

/**
 * Reads an index; empty cells are left out. `headings` are the names of columns, of JSON lines those of all rows. `isEnded` is
 * false where the last row may have been cut off. `isWhole` is true for names whose values are mappings in JSON lines.
 *
 * @throws SourceMissingError, and ManifestError when the file as a whole is not an index: not UTF-8, an unclosed quote, no heading
 */
export const readIndex = async (file: string, isWhole: (name: string) => boolean) => {
  const bytes = await bytesOf(file);
  if (bytes.length > maxBytes) throw wrong(file, 1, `the index has more than ${maxBytes / 1024 / 1024} MiB`);
  const isWide = bytes.subarray(0, 4).includes(0);
  if (!isUtf8(bytes) || isWide) throw wrong(file, 1, 'the index is not UTF-8: save it as "CSV UTF-8"');
  const body = bytes.subarray(bytes.indexOf('\uFEFF') === 0 ? 3 : 0);
  return /^\.(jsonl|ndjson)$/i.test(extname(file)) ? jsonRows(body, isWhole) : csvRows(file, body);
};

const bytesOf = async (file: string): Promise<Buffer> => {
  try {
    const before = await stat(file);
    const read = await readFile(file);
    const after = await stat(file);
    if (before.mtimeMs === after.mtimeMs && before.size === after.size) return read;
  } catch (cause) {
    throw new SourceMissingError(`the index ${file} cannot be read: ${unreadable(cause).why}`, {
      hint: 'check `index:` in the manifest; nothing was published or removed',
      cause,
    });
  }
  throw new SourceChangedError(`the index ${file} changed while it was read`, {
    hint: 'sluice reads it again; write it elsewhere first, then rename it',
  });
};

const wrong = (file: string, line: number, message: string): ManifestError =>
  new ManifestError([{ ...fileProblem(file, message), line }], {
    hint: 'fix the index; nothing was published or removed',
  });

const csvRows = async (file: string, body: Buffer) => {
  const all = await parseCsv(file, body);
  // `sep=;` names the delimiter for Excel.
  const [head, ...records] = /^sep=$/i.test(all[0]?.cells[0] ?? '') ? all.slice(1) : all;
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
  const isEnded = [newline, carriageReturn].includes(body.at(-1) ?? 0);
  return { headings, rows: rows.filter(({ cells }) => cells.length > 0), isCsv: true, isEnded };
};

const parseCsv = async (file: string, body: Buffer): Promise<{ line: number; cells: string[] }[]> => {
  const parser = Readable.from(piecesOf(body)).pipe(
    parse({ delimiter: delimiterOf(body), relax_column_count: true, skip_empty_lines: true, info: true }),
  );
  const lineEnd = body.includes(newline) ? newline : carriageReturn;
  const records: { line: number; cells: string[] }[] = [];
  // Lines are counted by the bytes that the parser has passed: its own count is off after a line end in a quoted cell.
  let [line, at] = [1, 0];
  try {
    for await (const each of parser) {
      const { record, info } = each as { record: string[]; info: { bytes: number } }; // the shape that `info` asks for
      for (; body[at] === newline || body[at] === carriageReturn; at += 1) if (body[at] === lineEnd) line += 1;
      records.push({ line, cells: record });
      for (; at < info.bytes; at += 1) if (body[at] === lineEnd) line += 1;
    }
    return records;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : 1;
    throw wrong(file, line, `the index is not valid CSV: ${error.message}`);
  }
};

/** Pieces that leave the event loop its turns, so that the run can renew its lock. */
async function* piecesOf(body: Buffer): AsyncGenerator<Buffer> {
  const size = 64 * 1024;
  for (let at = 0; at < body.length; at += size) {
    yield body.subarray(at, at + size);
    await breathe();
  }
}

const [newline, carriageReturn] = [0x0a, 0x0d];

/** The delimiter that occurs most often in the heading, outside quotes. */
const delimiterOf = (body: Buffer): string => {
  const start = body.toString('utf8', 0, 64 * 1024).trimStart();
  const [heading = ''] = start.split(/\r?\n/, 1);
  const bare = heading.replaceAll(/"[^"]*"/g, '');
  const counts = [',', ';', '\t', '|'].map((mark) => ({ mark, count: bare.split(mark).length }));
  return counts.reduce((best, each) => (each.count > best.count ? each : best)).mark;
};

const jsonRows = async (body: Buffer, isWhole: (name: string) => boolean) => {
  const headings = new Set<string>();
  const rows: IndexRow[] = [];
  for (const [index, text] of body.toString('utf8').split('\n').entries()) {
    if (index % 1000 === 999) await breathe();
    if (text.trim() === '') continue;
    const row = jsonRow(text, index + 1, isWhole);
    for (const { heading } of row.cells) headings.add(heading);
    rows.push(row);
  }
  return { headings: [...headings], rows, isCsv: false, isEnded: true };
};

const jsonRow = (text: string, line: number, isWhole: (name: string) => boolean): IndexRow => {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return { line, cells: [], fault: 'is not a JSON object' };
    if (isDeeperThan(deepest, value)) return { line, cells: [], fault: `nests deeper than ${deepest} levels` };
    return { line, cells: cellsOf(value, '', isWhole), fault: null };
  } catch (error) {
    return { line, cells: [], fault: `is not JSON: ${errorMessage(error)}` };
  }
};

/** `{"dataset": {"id": "budget"}}` and `{"dataset.id": "budget"}` are the same. */
const cellsOf = (value: object, prefix: string, isWhole: (name: string) => boolean): IndexCell[] =>
  Object.entries(value).flatMap(([name, item]: [string, unknown]): IndexCell[] => {
    const heading = `${prefix}${name}`;
    const nests = isObject(item) && !isWhole(heading);
    if (nests && heading.split('.').length <= mostParts) return cellsOf(item, `${heading}.`, isWhole);
    return item === null || item === '' ? [] : [{ heading, value: item, column: 1 }];
  });

const deepest = 100;

/** `dataset.contact.name` is the longest kind of name. */
const mostParts = 3;
