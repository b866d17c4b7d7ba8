// Reads a version of a table row by row where its cells lie, and again from any row on.
import { portalColumnName } from '../../dataset-api/names.ts';
import type { CancelFlag } from '../../util/worker-pool.ts';
import { CellScanner } from '../scan/cell-scanner.ts';
import { cellText } from '../scan/cell-text.ts';
import type { GivenReading, TableDialect } from '../scan/dialect.ts';
import { fileChunks, openTable, scannerOf } from '../scan/open-table.ts';

/** A sound table, and how it is read. */
export interface Version extends Omit<GivenReading, 'encoding'> {
  path: string;
  rows: number;
}

/** Takes the rows of a scanner from `row` on, the first of them with its number, from 0; false ends the reading. */
type TakeRows = (scanner: CellScanner, row: number, number: number) => boolean;

/** Of so many rows one is remembered with its place, to read again from there on, so many bytes at once. */
const [remembered, most] = [1024, 16 * 1024];

export class VersionReader {
  readonly #version: Version;
  readonly #settings: { rowBytes: number; cancelled: CancelFlag };
  /** Offsets in the file of every 1,024th row; null where it is decoded as it is read. */
  #places: number[] | null = [];
  #dialect: TableDialect | null = null;
  columns: string[] = [];
  /** What a portal calls them: the same columns have the same one. */
  names: string[] = [];

  constructor(version: Version, settings: { rowBytes: number; cancelled: CancelFlag }) {
    this.#version = version;
    this.#settings = settings;
  }

  /** Reads rows below the header, all of them where `take` does not end it. */
  read(take: TakeRows): void {
    const { rowBytes, cancelled } = this.#settings;
    using table = openTable({ ...this.#version, cancelled });
    const { dialect, titleRows } = table.layout;
    const scanner = scannerOf(table, rowBytes);
    this.#dialect = dialect;
    this.#places = table.decodedFrom === null ? [] : null;
    let number = -1 - titleRows;
    const takeRows = (): boolean => {
      let row = 0;
      for (; row < scanner.rows && number < 0; row++, number++) if (number === -1) this.#takeHeader(scanner, row);
      if (row === scanner.rows) return true;
      const first = number - row;
      for (let next = Math.ceil(number / remembered) * remembered; next < first + scanner.rows; next += remembered)
        this.#places?.push(scanner.base + scanner.startOf(next - first));
      number = first + scanner.rows;
      return take(scanner, row, first + row);
    };
    for (const chunk of table.chunks) {
      scanner.feed(chunk);
      if (!takeRows()) return;
    }
    scanner.finish();
    takeRows();
  }

  #takeHeader(scanner: CellScanner, row: number): void {
    this.columns = this.cellsOf(scanner, row);
    this.names = this.columns.map((name) => portalColumnName(name) || name);
  }

  /** The text of a cell, while its row lies in the scanner. */
  cell(scanner: CellScanner, cell: number): string {
    return this.#dialect === null ? '' : cellText(scanner, cell, this.#dialect);
  }

  /** The cells of rows that were read before, by their numbers, which ascend. */
  rowsAt(numbers: readonly number[]): Map<number, string[]> {
    const found = new Map<number, string[]>();
    const wanted = new Set(numbers);
    const take =
      (last: number): TakeRows =>
      (scanner, row, number) => {
        for (let at = row; at < scanner.rows; at++)
          if (wanted.delete(number + at - row)) found.set(number + at - row, this.cellsOf(scanner, at));
        return number + scanner.rows - row <= last;
      };
    if (numbers.length > 0 && this.#places === null) this.read(take(Math.max(...numbers)));
    else for (const number of numbers) if (wanted.has(number)) this.#readFrom(number, take(number));
    return found;
  }

  cellsOf(scanner: CellScanner, row: number): string[] {
    return Array.from({ length: scanner.width(row) }, (_, at) => this.cell(scanner, scanner.firstCell(row) + at));
  }

  #readFrom(wanted: number, take: TakeRows): void {
    if (this.#dialect === null) return;
    const scanner = new CellScanner(this.#dialect, this.#settings.rowBytes);
    const place = Math.floor(wanted / remembered);
    let number = place * remembered;
    const options = { reuse: true, from: this.#places?.[place] ?? 0, most };
    for (const chunk of fileChunks(this.#version.path, this.#settings.cancelled, options)) {
      scanner.feed(chunk);
      if (!take(scanner, 0, number)) return;
      number += scanner.rows;
    }
    scanner.finish();
    take(scanner, 0, number);
  }
}
