// The table reader of release B, quirks included (recorded behaviour 13a): bytes in blocks of 32, records out.
import { createReadStream } from 'node:fs';
import { portalColumnName } from '../../dataset-api/names.ts';
import { exceptionFault } from './recorded-faults.ts';

/** Bytes the recorded reader takes at a time; what shares a block with every 1000th row is lost there. */
export const blockBytes = 32;

/** A cell: null for an empty quoted one. Text is Latin-1, one character a byte. */
export type SimpleCell = string | null;

/** A fault that the recorded reader throws; the message is its own. */
export class SimpleParseError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SimpleParseError';
  }
}

const isEnd = (char: string): boolean => char === '\n' || char === '\r';

/** Reads records block by block: delimiter, quote and escape are single characters. */
export class SimpleParser {
  readonly #delimiter: string;
  readonly #quote: string;
  readonly #escape: string;
  #state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  #escaped = false;
  #afterReturn = false;
  #field = '';
  #fields: SimpleCell[] = [];
  #records: SimpleCell[][] = [];
  #isFirst = true;
  #block = '';

  constructor(dialect: { delimiter?: string; quote?: string; escape?: string }) {
    this.#delimiter = dialect.delimiter ?? ',';
    this.#quote = dialect.quote ?? '"';
    this.#escape = dialect.escape ?? '\\';
  }

  /** Takes one block of Latin-1 text and returns the records that end in it. Throws {@link SimpleParseError}. */
  feed(block: string): SimpleCell[][] {
    this.#block = block;
    this.#records = [];
    for (const char of block) this.#take(char);
    return this.#records;
  }

  /** The record that the end of the file leaves, or null: none, or one in an unclosed quote. */
  finish(): SimpleCell[] | null {
    const isPending = this.#state !== 'start' || this.#fields.length > 0;
    if (!isPending || this.#state === 'quoted') return null;
    this.#records = [];
    this.#endRecord();
    return this.#records[0] ?? null;
  }

  #take(char: string): void {
    if (this.#escaped) {
      this.#escaped = false;
      this.#add(char);
      return;
    }
    const afterReturn = this.#afterReturn;
    this.#afterReturn = char === '\r';
    if (char === '\n' && afterReturn) return;
    if (char === this.#escape) {
      this.#escaped = true;
      return;
    }
    if (this.#state === 'quoted') this.#inQuotes(char);
    else this.#outside(char);
  }

  #add(char: string): void {
    if (this.#state === 'start') this.#state = 'plain';
    this.#field += char;
  }

  #inQuotes(char: string): void {
    if (char === this.#quote) this.#state = 'closed';
    else this.#field += char;
  }

  #outside(char: string): void {
    if (char === this.#delimiter) this.#endField();
    else if (isEnd(char)) this.#endRecord();
    else if (char === this.#quote) this.#atQuote();
    else if (this.#state === 'closed') {
      if (char !== ' ') throw this.#fault('OTHER');
    } else if (this.#state !== 'start' || char !== ' ') this.#add(char);
  }

  #atQuote(): void {
    if (this.#state === 'plain') throw this.#fault('QUOTE');
    if (this.#state === 'closed') this.#field += this.#quote;
    this.#state = 'quoted';
  }

  #endField(): void {
    const isQuoted = this.#state === 'closed';
    const text = isQuoted ? this.#field : this.#field.replace(/^ +| +$/g, '');
    this.#fields.push(isQuoted && text === '' ? null : text);
    this.#field = '';
    this.#state = 'start';
  }

  #endRecord(): void {
    const isBlank = this.#state === 'start' && this.#fields.length === 0;
    if (isBlank && !this.#isFirst) return;
    this.#isFirst = false;
    this.#endField();
    this.#records.push(this.#fields);
    this.#fields = [];
  }

  #fault(kind: string): SimpleParseError {
    const details = {
      Message: `Invalid Input ${kind}`,
      Chunk: this.#block,
      Records: this.#records,
      Fields: this.#fields,
      Field: this.#field,
    };
    return new SimpleParseError(`Error parsing CSV: ${JSON.stringify(details, null, 4)}`);
  }
}

/** The column that a header cell becomes; empty when nothing is left of it. A column named like the serial one takes its place. */
export const simpleColumn = (cell: SimpleCell): string => {
  const name = portalColumnName(cell ?? '');
  return name === 'entry_id_' ? 'entry_id' : name;
};

/** The text of a cell, or undefined where the recorded database refuses it: not UTF-8, wider than three bytes, too long. */
export const simpleText = (cell: SimpleCell): string | null | undefined => {
  if (cell === null) return null;
  if (cell.length > 65_535) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(cell, 'latin1'));
    return /[\u{10000}-\u{10ffff}]/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
};

/** The columns in the header of a file, which messages name `shownPath`. Throws the recorded 500 where there is none. */
export const headerOf = async (path: string, shownPath: string, parser: SimpleParser): Promise<string[]> => {
  for await (const block of blocksOf(path)) {
    const [first] = parse(parser, block);
    if (first !== undefined) return first.map(simpleColumn);
  }
  throw exceptionFault('0', `Unable to get headers from ${shownPath}`);
};

const parse = (parser: SimpleParser, block: string): SimpleCell[][] => {
  try {
    return parser.feed(block);
  } catch (error) {
    if (error instanceof SimpleParseError) throw exceptionFault('0', error.message);
    throw error;
  }
};

/** The blocks of a file as Latin-1 text. */
export async function* blocksOf(path: string): AsyncGenerator<string> {
  for await (const chunk of createReadStream(path, { highWaterMark: blockBytes * 2048 }) as AsyncIterable<Buffer>) {
    const text = chunk.toString('latin1');
    for (let at = 0; at < text.length; at += blockBytes) yield text.slice(at, at + blockBytes);
  }
}
