// Rejects bad rows: counts them, reports examples, and fails when there are too many. Writes canonical CSV.
import { createHash, type Hash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { TableRowsError } from '../../model/errors.ts';
import type { TableRecipe } from '../../model/recipe/recipe.ts';
import { countText, plural } from '../../util/plural.ts';
import { type Row, shown, type Table } from './row.ts';
import type { Violation } from './step/row-step.ts';

/** Violations that are reported one by one: by the result, and in the message of an error. */
const [mostReported, mostListed] = [20, 10];

/** Where a single bad row fails the table, the work ends after so many: enough for a report. */
const enough = 100;

interface BadRowCount {
  rows: number;
  violations: number;
  examples: string[];
}

export class BadRows {
  readonly #policy: TableRecipe['badRows'];
  readonly #limit: TableRecipe['maxBadRows'];
  readonly #path: string;
  #columns: string[] = [];
  #unit: 'line' | 'row' = 'line';
  #file: CsvFile | null = null;
  readonly #count: BadRowCount = { rows: 0, violations: 0, examples: [] };

  /** `path`: file for rejected rows, created with the first of them. */
  constructor({ badRows, maxBadRows }: Pick<TableRecipe, 'badRows' | 'maxBadRows'>, path: string) {
    this.#policy = badRows;
    this.#limit = maxBadRows;
    this.#path = path;
  }

  /** True when each row must keep its cells as they were read. */
  get wantsRaw(): boolean {
    return this.#policy === 'quarantine';
  }

  get allowsNone(): boolean {
    return this.#policy === 'fail';
  }

  get count(): Readonly<BadRowCount> {
    return this.#count;
  }

  /** The table whose rows are read: its columns are the header of the rejects. */
  reads({ columns, sheet }: Pick<Table, 'columns' | 'sheet'>): void {
    this.#columns = columns;
    if (sheet !== undefined) this.#unit = 'row';
  }

  /** Rejects a row; throws when no bad row is allowed and enough were found. */
  reject(row: Row, violations: readonly Violation[]): void {
    this.#count.rows++;
    this.#count.violations += violations.length;
    for (const violation of violations) {
      if (this.#count.examples.length < mostReported)
        this.#count.examples.push(`${this.#unit} ${describe(row, violation)}`);
    }
    if (this.#policy === 'fail' && this.#count.rows >= enough) throw this.#fault(null);
    if (this.#policy === 'quarantine') this.#write(row, violations);
  }

  #write(row: Row, violations: readonly Violation[]): void {
    if (this.#file === null) {
      this.#file = new CsvFile(this.#path);
      this.#file.write(csvLine(['line', 'reason', ...this.#columns]));
    }
    const reason = violations.map((violation) => reasonOf(violation)).join('; ');
    this.#file.write(csvLine([String(row.line), reason, ...(row.raw ?? row.cells)]));
  }

  /** To be called once all rows were read: throws a TableRowsError when too many are bad. */
  end(rowsRead: number): void {
    this.#file?.end();
    const { rows } = this.#count;
    if (rows === 0) return;
    const most = 'rows' in this.#limit ? this.#limit.rows : this.#limit.share * rowsRead;
    if (this.#policy === 'fail' || rows > most) throw this.#fault(rowsRead);
  }

  close(): void {
    this.#file?.close();
  }

  #fault(rowsRead: number | null): TableRowsError {
    const { rows, violations, examples } = this.#count;
    const of = rowsRead === null ? `${rows} or more bad rows` : `${plural(rows, 'bad row')} of ${countText(rowsRead)}`;
    const listed = examples.slice(0, mostListed);
    const more = violations > listed.length ? [`and ${countText(violations - listed.length)} more`] : [];
    const line = /^(?:line|row) (\d+)/.exec(examples[0] ?? '')?.[1];
    const [allowed, hint] =
      this.#policy === 'fail'
        ? ['', 'fix these rows, or set them aside with `badRows: quarantine`']
        : [
            `, more than ${this.#allowed()}`,
            'fix these rows, or raise maxBadRows; the steps may no longer fit the file',
          ];
    return new TableRowsError([`${of}${allowed}: nothing is published`, ...listed, ...more].join('\n'), {
      line: line === undefined ? undefined : Number(line),
      hint,
    });
  }

  #allowed(): string {
    return 'rows' in this.#limit
      ? `the ${this.#limit.rows} allowed (maxBadRows)`
      : `the ${Number((this.#limit.share * 100).toPrecision(6))}% allowed (maxBadRows)`;
  }
}

const reasonOf = ({ column, message }: Violation): string => (column === null ? message : `${column}: ${message}`);

const describe = (row: Row, { column, at, message }: Violation): string =>
  column === null ? `${row.line}: ${message}` : `${row.line}, column ${at ?? '?'} (${shown(column)}): ${message}`;

const needsQuotes = /[",\r\n]/;

/** One row as a line of canonical CSV. */
export const csvLine = (cells: readonly string[]): string => {
  let line = '';
  for (const [index, cell] of cells.entries()) {
    if (index > 0) line += ',';
    line += needsQuotes.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  }
  // Readers skip blank lines.
  return line === '' ? '""\n' : `${line}\n`;
};

const bufferBytes = 64 * 1024;

/** Writes lines to a new file with blocking calls, for worker threads, and computes size and hash. */
export class CsvFile {
  readonly #fd: number;
  readonly #hash: Hash = createHash('sha256');
  #pending = '';
  #bytes = 0;
  #isOpen = true;

  constructor(path: string) {
    this.#fd = openSync(path, 'wx', 0o600);
  }

  /** Bytes written so far; the last ones may still be in memory. */
  get bytes(): number {
    return this.#bytes + this.#pending.length;
  }

  write(line: string): void {
    this.#pending += line;
    if (this.#pending.length >= bufferBytes) this.#flush();
  }

  /** Writes the rest and syncs the file to disk. */
  end(): { bytes: number; sha256: string } {
    this.#flush();
    fsyncSync(this.#fd);
    this.close();
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  /** Idempotent. */
  close(): void {
    if (this.#isOpen) closeSync(this.#fd);
    this.#isOpen = false;
  }

  #flush(): void {
    const chunk = Buffer.from(this.#pending);
    this.#pending = '';
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    for (let at = 0; at < chunk.length; ) at += writeSync(this.#fd, chunk, at);
  }
}
