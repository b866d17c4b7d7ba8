// What importers of portals refuse, change or drop of tables that are sound otherwise. What the watch finds are remarks:
// other portals read by RFC 4180, as does everybody who downloads the file.
import { createReadStream } from 'node:fs';
import { countedColumns, isUnstableColumn } from '../../dataset-api/names.ts';
import type { CellScanner } from '../scan/cell-scanner.ts';
import { type FindingKind, importer, longestImported, mostImported } from '../scan/fault-kinds.ts';
import { type Finding, type Findings, foundIn } from './finding.ts';

/** Kinds for which the import of the whole table may fail, or end early; with the others values are stored differently. */
const refused: readonly FindingKind[] = ['importer-escape', 'importer-long', 'importer-wide', 'importer-columns'];

/** What importers make of a table, a line each: what may stop them, and what they store differently. */
export interface ImporterRemarks {
  refuses: string[];
  changes: string[];
}

export const importerRemarks = (findings: readonly Finding[]): ImporterRemarks => {
  const remarks: ImporterRemarks = { refuses: [], changes: [] };
  for (const { kind, message, count, places } of findings) {
    if (!kind.startsWith('importer-') && kind !== 'spaces') continue;
    const { line, column } = places[0] ?? { line: 1, column: null };
    const more = count > 1 ? `, and ${(count - 1).toLocaleString('en')} more` : '';
    const place = `line ${line}${column === null ? '' : `, column ${column}`}${more}`;
    const does = refused.includes(kind) ? 'refuses' : 'changes';
    const what = kind === 'spaces' ? `${importer} removes spaces around values outside quotes` : message;
    remarks[does].push(`${place}: ${what}`);
  }
  return remarks;
};

const [quote, backslash, lineFeed, carriageReturn] = [0x22, 0x5c, 0x0a, 0x0d];

const wideStarts = [0xf0, 0xf1, 0xf2, 0xf3, 0xf4];

/** Looks through the rows of a scanner by searches for bytes, which cost little where there is nothing to find. */
export const importerWatch = (scanner: CellScanner, findings: Findings, delimiter: string) => {
  /** The last cell that begins at or before an offset. */
  const cellAt = (at: number): number => lastAtMost(scanner.starts, scanner.firstCell(scanner.rows), at);
  const add = (kind: Extract<FindingKind, `importer-${string}`>, at: number): void =>
    findings.add(kind, () => foundIn(scanner, lastAtMost(scanner.rowStarts, scanner.rows, at), [cellAt(at), at]));
  const escapes = (region: Buffer, from: number): void => {
    const misread = [quote, delimiter.charCodeAt(0), lineFeed, carriageReturn, undefined];
    for (let at = region.indexOf(backslash); at >= 0; ) {
      const next = region[at + 1];
      add(misread.includes(next) ? 'importer-escape' : 'importer-backslash', from + at);
      at = region.indexOf(backslash, next === backslash ? at + 2 : at + 1);
    }
  };
  const maybeNull = (at: number): void => {
    const cell = cellAt(at);
    if (scanner.starts[cell] === at && scanner.isEmpty(cell) && scanner.isQuoted(cell)) add('importer-null', at);
  };
  const longCells = (): void => {
    for (let cell = 0; cell < scanner.firstCell(scanner.rows); cell++) {
      const start = scanner.starts[cell] ?? 0;
      if ((scanner.ends[cell] ?? 0) - start > longestImported) add('importer-long', start);
    }
  };
  return {
    take: (): void => {
      const last = scanner.firstCell(scanner.rows) - 1;
      if (scanner.rows === 0 || last < 0) return;
      const from = scanner.startOf(0);
      const region = scanner.bytes.subarray(from, scanner.outerEnd(last) + 1);
      escapes(region, from);
      for (const byte of wideStarts) {
        // Other encodings have these bytes, too.
        each(region, byte, (at) => {
          if (region.subarray(at + 1, at + 4).every((next) => (next & 0xc0) === 0x80)) add('importer-wide', from + at);
        });
      }
      each(region, '""', (at) => maybeNull(from + at + 1));
      if (region.length > longestImported) longCells();
    },
    header: (names: readonly string[], line: number): void => {
      names.forEach((name, at) => {
        if (isUnstableColumn(name)) findings.add('importer-name', { line, column: at + 1 });
      });
      if (countedColumns(names) > mostImported) findings.add('importer-columns', { line, column: mostImported + 1 });
    },
  };
};

const each = (region: Buffer, wanted: number | string, found: (at: number) => void): void => {
  for (let at = region.indexOf(wanted); at >= 0; at = region.indexOf(wanted, at + 1)) found(at);
};

/** Index of the last of the first `count` numbers, which ascend, that is at most `limit`. */
const lastAtMost = (numbers: Int32Array, count: number, limit: number): number => {
  let [low, high] = [0, count];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= limit) low = middle;
    else high = middle;
  }
  return low;
};

const blockBytes = 32;
const rowsAtOnce = 1000;

/**
 * Lines (from 1) of the rows that the simple importer of entity portals drops of a CSV file with a header and `rows` rows: it
 * reads blocks, writes after every 1,000th row, and forgets what else ended in that block (recorded behaviour 13a).
 */
export const rowsDropped = async (path: string, rows: number, signal: AbortSignal): Promise<number[]> => {
  const dropped: number[] = [];
  if (rows <= rowsAtOnce) return dropped;
  let [offset, line, begunAt, records] = [0, 1, 1, 0];
  /** The block in which the last 1,000th row ended. */
  let fullBlock = -1;
  let [isQuoted, isEscaped, isEmpty] = [false, false, true];
  const endRecord = (): void => {
    const block = Math.floor(offset / blockBytes);
    // The header is record 0.
    if (block === fullBlock) dropped.push(begunAt);
    else if (records > 0 && records % rowsAtOnce === 0) fullBlock = block;
    records += 1;
    isEmpty = true;
  };
  const take = (byte: number): void => {
    if ((byte !== lineFeed && byte !== carriageReturn) || isQuoted) {
      if (isEmpty) begunAt = line;
      isEmpty = false;
      if (byte === quote && !isEscaped) isQuoted = !isQuoted;
    } else if (!isEmpty) endRecord();
    isEscaped = byte === backslash && !isEscaped;
    if (byte === lineFeed) line += 1;
    offset += 1;
  };
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    for (const byte of chunk) take(byte);
  }
  return dropped;
};
