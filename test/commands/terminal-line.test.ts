import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { cellsOf, cutToCells, type TerminalLine, terminalLine } from '../../src/commands/terminal-line.ts';

/** Between a control sequence and the next character. */
const sequences = new RegExp(`(${String.fromCharCode(27)}\\[\\d*[AJ])|`, 'u');

/** What a terminal shows: rows of cells, with the control sequences that the line uses. */
class Screen {
  readonly stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { columns: 80 });
  #rows: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor() {
    this.stream.on('data', (text: string) => {
      for (const part of text.split(sequences)) if (part) this.#take(part);
    });
  }

  #take(part: string): void {
    if (part.endsWith('A') && part.startsWith('\x1b')) this.#row -= Number(part.slice(2, -1));
    else if (part === '\x1b[J') {
      this.#rows.length = this.#row + 1;
      this.#rows[this.#row]?.splice(this.#column);
    } else if (part === '\r') this.#column = 0;
    else if (part === '\n') [this.#row, this.#column] = [this.#row + 1, 0];
    else {
      for (let left = cellsOf(part); left > 0; left--) this.#put(left === cellsOf(part) ? part : '');
    }
    this.#rows[this.#row] ??= [];
  }

  #put(cell: string): void {
    if (this.#column === this.stream.columns) [this.#row, this.#column] = [this.#row + 1, 0];
    const row = this.#rows[this.#row] ?? [];
    this.#rows[this.#row] = row;
    row[this.#column] = cell;
    this.#column += 1;
  }

  /** As terminals do that break their lines again. */
  narrow(columns: number): void {
    const cells = this.#rows.at(this.#row) ?? [];
    this.stream.columns = columns;
    this.#rows.splice(this.#row, 1);
    for (let at = 0; at < cells.length; at += columns) this.#rows.push(cells.slice(at, at + columns));
    this.#row = this.#rows.length - 1;
    this.#column = this.#rows.at(-1)?.length ?? 0;
  }

  get text(): string[] {
    return this.#rows.map((row) => row.join(''));
  }
}

let screen: Screen;
let line: TerminalLine;
beforeEach(() => {
  screen = new Screen();
  line = terminalLine(screen.stream);
});

describe('the last line of a terminal', () => {
  it.each([80, 60])('is cut to %i columns, and takes one row', (columns) => {
    screen.stream.columns = columns;
    for (let count = 0; count < 3; count++)
      line.show(`${count}/300 items, paused: ${'the portal is down; '.repeat(9)}`);
    expect(screen.text).toHaveLength(1);
    expect(screen.text[0]).toMatch(/^2\/300 items, paused: .*…$/);
    expect(cellsOf(screen.text[0] ?? '')).toBe(columns - 1);
  });

  it('is shown as on 80 columns and 24 rows where the terminal says that it has none', () => {
    const terminal = Object.assign(new PassThrough({ encoding: 'utf8' }), { columns: 0, rows: 0 });
    terminalLine(terminal).show('1/3 items', '2/3 items', '3/3 items');
    expect(terminal.read()).toContain('1/3 items\r\n2/3 items\r\n3/3 items');
  });

  it('is rewritten where the terminal was made narrower meanwhile', () => {
    line.show('a'.repeat(79));
    screen.narrow(60);
    line.show('b'.repeat(79));
    expect(screen.text).toEqual([`${'b'.repeat(58)}…`]);
  });

  it('has whatever else is written above it, never inside', async () => {
    const log = line.above(screen.stream);
    line.show('1/3 items');
    await new Promise((done) => log.write('a log line\n', done));
    line.show('2/3 items');
    await new Promise((done) => log.write('another\n', done));
    line.show('3/3 items');
    expect(screen.text).toEqual(['a log line', 'another', '3/3 items']);
    line.clear();
    expect(screen.text).toEqual(['a log line', 'another', '']);
  });

  it('holds one line of text, whatever a portal says', () => {
    line.show('paused: one\ntwo\x1b[31m\tthree');
    expect(screen.text).toEqual(['paused: one two[31m three']);
  });
});

describe('the width of a text', () => {
  it.each([
    ['Straße', 6],
    ['東京都', 6],
    ['e\u0301a', 2],
    ['👩‍👩‍👧 a', 4],
    ['한국', 4],
  ])('%s takes %i cells', (text, cells) => expect(cellsOf(text)).toBe(cells));

  it('is never exceeded by half a character', () => {
    expect(cutToCells('東京都', 6)).toBe('東京都');
    expect(cutToCells('東京都', 5)).toBe('東京…');
    expect(cutToCells('東京都', 4)).toBe('東…');
  });
});
