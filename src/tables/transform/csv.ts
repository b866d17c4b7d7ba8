// The canonical CSV: UTF-8, commas, LF, quotes only where they are needed.

import { createHash, type Hash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

const needsQuotes = /[",\r\n]/;

/** One row as a line of canonical CSV. */
export const csvLine = (cells: readonly string[]): string => {
  let line = '';
  for (const [index, cell] of cells.entries()) {
    if (index > 0) line += ',';
    line += needsQuotes.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  }
  // A blank line would be no row.
  return line === '' ? '""\n' : `${line}\n`;
};

const bufferBytes = 64 * 1024;

/** Writes lines to a new file, with blocking calls as befits a worker thread, and knows what was written. */
export class CsvFile {
  readonly #fd: number;
  readonly #hash: Hash = createHash('sha256');
  #pending = '';
  #bytes = 0;
  #isOpen = true;

  /** Creates the file; throws when it is there. */
  constructor(path: string) {
    this.#fd = openSync(path, 'wx', 0o600);
  }

  /** Bytes that were written so far; the last ones may still be in memory. */
  get bytes(): number {
    return this.#bytes + this.#pending.length;
  }

  write(line: string): void {
    this.#pending += line;
    if (this.#pending.length >= bufferBytes) this.#flush();
  }

  /** Writes what is left to the disk. */
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
