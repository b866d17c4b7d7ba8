// The table reader of release B, quirks included (recorded behaviour 13a): bytes in blocks of 32, records out.
import { type FileHandle, open } from 'node:fs/promises';
import { portalColumnName } from '../../../dataset-api/names.ts';
import { exceptionFault, type Refusal } from '../../refusal.ts';

/** Bytes the recorded reader takes at a time; what shares a block with every 1000th row is lost there. */
export const blockBytes = 32;

/** A cell: null for an empty quoted one. Text is Latin-1, one character a byte. */
export type SimpleCell = string | null;

const isEnd = (char: string | undefined): boolean => char === '\n' || char === '\r';

type Input = 'END' | 'DELIMITER' | 'QUOTE' | 'ESCAPE' | 'BLANK' | 'OTHER';

/** What the reader is in: nothing, a bare cell, a quoted one, behind an escape in either, or behind a quote in a quoted one. */
type State = 'neutral' | 'bare' | 'bare-escape' | 'quoted' | 'quoted-escape' | 'quote';

/** Where an input within a cell leads to, `neutral` being its end; any other is a character of the cell. */
const steps: Record<Exclude<State, 'neutral'>, Partial<Record<Input, State>>> = {
  bare: { ESCAPE: 'bare-escape', QUOTE: 'neutral', DELIMITER: 'neutral', END: 'neutral' },
  'bare-escape': { QUOTE: 'neutral' },
  quoted: { QUOTE: 'quote', ESCAPE: 'quoted-escape' },
  'quoted-escape': {},
  quote: { ESCAPE: 'neutral', DELIMITER: 'neutral', END: 'neutral', BLANK: 'neutral', OTHER: 'neutral' },
};

/** Reads records block by block: delimiter, quote and escape are single characters. */
export class SimpleParser {
  readonly #inputs: ReadonlyMap<string, Input>;
  #state: State = 'neutral';
  #last: string | undefined;
  /** The cell in progress; null while a quoted one is empty. */
  #cell: SimpleCell = '';
  #field: SimpleCell = '';
  #fields: SimpleCell[] = [];
  #records: SimpleCell[][] = [];
  #block = '';

  constructor(dialect: { delimiter?: string; quote?: string; escape?: string }) {
    const blanks = [' ', '\t', '\v', '\f'].map((char): [string, Input] => [char, 'BLANK']);
    this.#inputs = new Map([
      ...blanks,
      [dialect.escape ?? '\\', 'ESCAPE'],
      [dialect.quote ?? '"', 'QUOTE'],
      [dialect.delimiter ?? ',', 'DELIMITER'],
      ['\n', 'END'],
      ['\r', 'END'],
    ]);
  }

  /** Takes one block of Latin-1 text and returns the records that end in it. Throws the recorded 500. */
  feed(block: string): SimpleCell[][] {
    this.#block = block;
    this.#records = [];
    for (const char of block) {
      if (isEnd(char) && isEnd(this.#last)) continue; // even within quotes
      this.#last = char;
      this.#take(char, this.#inputs.get(char) ?? 'OTHER');
    }
    return this.#records;
  }

  /** What the end of the file completes: a line without its end, but neither an unclosed quote nor an escaped line end. */
  finish(): SimpleCell[][] {
    return isEnd(this.#last) ? [] : this.feed('\r');
  }

  #take(char: string, input: Input): void {
    if (this.#state === 'neutral') {
      this.#neutral(char, input);
      return;
    }
    const isBare = this.#state.startsWith('bare');
    const next = steps[this.#state][input];
    if (next === 'neutral') this.#close(isBare ? (this.#cell ?? '').replace(/^ +| +$/g, '') : this.#cell, input);
    else {
      if (next === undefined) this.#cell = (this.#cell ?? '') + char;
      this.#state = next ?? (isBare ? 'bare' : 'quoted');
    }
  }

  /** Between cells. A bare cell behind a closed one takes its place. */
  #neutral(char: string, input: Input): void {
    if (input === 'DELIMITER') this.#endField();
    else if (input === 'END') {
      this.#endField();
      this.#records.push(this.#fields);
      this.#fields = [];
    } else if (input !== 'BLANK') {
      this.#cell = input === 'QUOTE' ? null : '';
      this.#state = input === 'QUOTE' ? 'quoted' : 'bare';
      if (input !== 'QUOTE') this.#take(char, input);
    }
  }

  /** A cell has ended before an input that must be one of those between cells. */
  #close(field: SimpleCell, input: Input): void {
    this.#field = field;
    this.#state = 'neutral';
    if (input === 'QUOTE' || input === 'ESCAPE' || input === 'OTHER') throw this.#fault(input);
    this.#neutral('', input);
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = '';
  }

  /** The details are left out where the block cuts a character in two. */
  #fault(input: Input): Refusal {
    const details = {
      Message: `Invalid Input ${input}`,
      Chunk: this.#block,
      Records: this.#records,
      Fields: this.#fields,
      Field: this.#field,
    };
    return exceptionFault('0', `Error parsing CSV: ${utf8Of(JSON.stringify(details, null, 4)) ?? ''}`);
  }
}

/** The text of Latin-1 characters that are bytes of UTF-8; undefined where they are not. */
const utf8Of = (bytes: string): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
};

/** The column that a header cell becomes; empty when nothing is left of it. A column named like the serial one takes its place. */
export const simpleColumn = (cell: SimpleCell): string => {
  const name = portalColumnName(cell ?? '');
  return name === 'entry_id_' ? 'entry_id' : name;
};

/** The text of a cell, or undefined where the recorded database refuses it: not UTF-8, wider than three bytes, too long. */
export const simpleText = (cell: SimpleCell): string | null | undefined => {
  if (cell === null) return null;
  const text = cell.length > 65_535 ? undefined : utf8Of(cell);
  return text !== undefined && /[\u{10000}-\u{10ffff}]/u.test(text) ? undefined : text;
};

/** The columns in the header of a file, which messages name `shownPath`. Throws the recorded 500 where there is none. */
export const headerOf = async (path: string, shownPath: string, parser: SimpleParser): Promise<string[]> => {
  const none = exceptionFault('0', `Unable to get headers from ${shownPath}`);
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? none : error;
  });
  try {
    for await (const block of blocksOf(file)) {
      const [first] = parser.feed(block);
      if (first !== undefined) return first.map(simpleColumn);
    }
  } finally {
    await file.close();
  }
  throw none;
};

/** The blocks of a file as Latin-1 text. */
export async function* blocksOf(file: FileHandle): AsyncGenerator<string> {
  for await (const chunk of file.createReadStream({ highWaterMark: blockBytes * 2048, autoClose: false })) {
    const text = (chunk as Buffer).toString('latin1'); // no encoding is set
    for (let at = 0; at < text.length; at += blockBytes) yield text.slice(at, at + blockBytes);
  }
}
