// Rejects bad rows: counts them, reports examples, and fails when there are too many. Writes canonical CSV.
import { createHash, type Hash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { TableRowsError } from '../../model/errors.ts';
import type { TableRecipe } from '../../model/recipe/recipe.ts';
import { countText, plural } from '../../util/plural.ts';
import { type Row, shown, type Table, type Violation } from './row.ts';

/** Violations that are reported one by one: by the result, and in the message of an error. */
const [mostReported, mostListed] = [20, 10];

/** Where a single bad row fails the table, the work ends after so many: enough for a report. */
const enough = 100;

/** Bad rows of a table by their policy. `path`: file for rejected rows, created with the first of them. */
export const badRowsOf = (
  { badRows: policy, maxBadRows: limit }: Pick<TableRecipe, 'badRows' | 'maxBadRows'>,
  { columns, sheet }: Pick<Table, 'columns' | 'sheet'>,
  path: string,
) => {
  const count = { rows: 0, violations: 0, examples: [] as string[] };
  let file: CsvFile | null = null;
  let line: number | undefined;

  const fault = (rowsRead: number | null): TableRowsError => {
    const { rows, violations, examples } = count;
    const of = rowsRead === null ? `${rows} or more bad rows` : `${plural(rows, 'bad row')} of ${countText(rowsRead)}`;
    const listed = examples.slice(0, mostListed);
    const more = violations > listed.length ? [`and ${countText(violations - listed.length)} more`] : [];
    const most = 'rows' in limit ? `the ${limit.rows}` : `the ${Number((limit.share * 100).toPrecision(6))}%`;
    const [allowed, way] =
      policy === 'fail'
        ? ['', 'set them aside with `badRows: quarantine`']
        : [`, more than ${most} allowed (maxBadRows)`, 'raise maxBadRows; the steps may no longer fit the file'];
    return new TableRowsError([`${of}${allowed}: nothing is published`, ...listed, ...more].join('\n'), {
      line,
      hint: `fix these rows, or ${way}`,
    });
  };

  const write = (row: Row, violations: readonly Violation[]): void => {
    if (file === null) {
      file = new CsvFile(path);
      file.write(csvLine(['line', 'reason', ...columns]));
    }
    const reasons = violations.map(({ column, message }) => (column === null ? message : `${column}: ${message}`));
    file.write(csvLine([String(row.line), reasons.join('; '), ...(row.raw ?? row.cells)]));
  };

  return {
    count,
    /** True when each row must keep its cells as they were read. */
    wantsRaw: policy === 'quarantine',
    allowsNone: policy === 'fail',
    /** Rejects a row; throws when no bad row is allowed and enough were found. */
    reject: (row: Row, violations: readonly Violation[]): void => {
      line ??= row.line;
      count.rows++;
      count.violations += violations.length;
      const unit = sheet === undefined ? 'line' : 'row';
      for (const violation of violations)
        if (count.examples.length < mostReported) count.examples.push(`${unit} ${describe(row, violation)}`);
      if (policy === 'fail' && count.rows >= enough) throw fault(null);
      if (policy === 'quarantine') write(row, violations);
    },
    /** To be called once all rows were read: throws a TableRowsError when too many are bad. */
    end: (rowsRead: number): void => {
      file?.end();
      if (count.rows === 0) return;
      const most = 'rows' in limit ? limit.rows : limit.share * rowsRead;
      if (policy === 'fail' || count.rows > most) throw fault(rowsRead);
    },
    close: (): void => file?.close(),
  };
};

const describe = (row: Row, { column, at, message }: Violation): string =>
  column === null ? `${row.line}: ${message}` : `${row.line}, column ${at ?? '?'} (${shown(column)}): ${message}`;

export const csvLine = (cells: readonly string[]): string => {
  let line = '';
  for (const [index, cell] of cells.entries()) {
    if (index > 0) line += ',';
    line += /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  }
  // Readers skip blank lines.
  return line === '' ? '""\n' : `${line}\n`;
};

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
    if (this.#pending.length >= 64 * 1024) this.#flush();
  }

  end(): { bytes: number; sha256: string } {
    this.#flush();
    fsyncSync(this.#fd);
    this.close();
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

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
