// Lines on a terminal: the last ones, which show progress and make way for all other output, and text wrapped at words.
import { Writable } from 'node:stream';
import { printable } from '../model/errors.ts';
import { plural } from '../util/plural.ts';
import { coloured } from './colour.ts';

/** Of a terminal that does not know its size, or says 0, as serial lines and containers do. */
const [usualColumns, usualRows] = [80, 24];

/** Lines that are rewritten in place. */
export const terminalLine = (terminal: Writable & { columns?: number; rows?: number }, hasColours = false) => {
  /** Cells of each line that is shown. */
  let cells: number[] = [];

  /** Shows texts, a line each, instead of those before, cut to the width and the height that the terminal has now. */
  const show = (...texts: string[]): void => {
    const most = Math.max(2, (terminal.rows || usualRows) - 1);
    const rest = texts.length - most + 1;
    const fitting = rest > 1 ? [...texts.slice(0, most - 1), `… ${plural(rest, 'more line')}`] : texts;
    // The last column stays free: some terminals wrap once it is written to.
    const lines = fitting.map((text) => cutToCells(printable(text).replaceAll(/\s/g, ' '), columns() - 1));
    terminal.write(`${erasure()}${(hasColours ? lines.map(coloured) : lines).join('\r\n')}`);
    cells = lines.map(cellsOf);
  };

  const clear = (): void => {
    if (cells.length > 0) terminal.write(erasure());
    cells = [];
  };

  /** A stream to the same terminal whose output is above the lines; the next {@link show} brings them back. */
  const above = (stream: Writable): Writable =>
    new Writable({
      decodeStrings: false,
      write: (chunk, encoding, done) => {
        clear();
        stream.write(chunk, encoding);
        done();
      },
    });

  const columns = (): number => Math.max(2, terminal.columns || usualColumns);

  /** A terminal that became narrower has wrapped each line into several. */
  const erasure = (): string => {
    const rows = cells.reduce((sum, each) => sum + Math.max(1, Math.ceil(each / columns())), 0);
    return `${rows > 1 ? `\x1b[${rows - 1}A` : ''}\r\x1b[J`;
  };

  return { show, clear, above };
};

export type TerminalLine = ReturnType<typeof terminalLine>;

/** Made when it is first needed, as the expressions below: each takes as long as the start of a command. */
let graphemes: Intl.Segmenter | undefined;

const graphemesOf = (text: string): Iterable<string> => {
  if (/^[ -~]*$/.test(text)) return text;
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
};

const cellsOfGrapheme = (grapheme: string): number => {
  if (grapheme.length === 1 && grapheme <= '~') return 1;
  if (/^[\p{M}\p{Cf}]+$/v.test(grapheme)) return 0;
  const wide =
    /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{RGI_Emoji})/v;
  return wide.test(grapheme) ? 2 : 1;
};

/** Columns that a text takes on a terminal. */
export const cellsOf = (text: string): number =>
  Iterator.from(graphemesOf(text)).reduce((cells, grapheme) => cells + cellsOfGrapheme(grapheme), 0);

export const cutToCells = (text: string, most: number): string => {
  if (cellsOf(text) <= most) return text;
  let cut = '';
  let cells = 0;
  for (const grapheme of graphemesOf(text)) {
    cells += cellsOfGrapheme(grapheme);
    if (cells > most - 1) break;
    cut += grapheme;
  }
  return `${cut}…`;
};

/** Words with the blanks before them; a command is one word, so that it can be copied. */
const word = /\s*(?:-> sluice .*|\S+(?: s$)?)/g;

/** Wraps a line between words to at most so many columns; a word longer than a line, such as an address, stays where it is. */
export const wrapToCells = (text: string, most: number): string[] => {
  if (text.length <= most / 2 || cellsOf(text) <= most) return [text];
  const [start = ''] = /^\s*(?:-> |\| |- |\d\d:\d\d:\d\d {2})?/.exec(text) ?? [];
  const indent = ' '.repeat(Math.min(start.trim() === '' ? start.length + 4 : start.length, most / 2));
  const lines: string[] = [];
  let line = start;
  for (const [next] of text.slice(start.length).matchAll(word)) {
    const alone = `${indent}${next.trimStart()}`;
    if (cellsOf(line) + cellsOf(next) <= most || line === start || cellsOf(alone) > most) line += next;
    else {
      lines.push(line);
      line = alone;
    }
  }
  return [...lines, line];
};
