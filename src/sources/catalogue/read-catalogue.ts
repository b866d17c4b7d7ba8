// Reads the entries of a catalogue from its bytes, one after the other: memory does not grow with the catalogue.
import { Tokenizer, TokenParser, TokenType } from '@streamparser/json';
import { CatalogueFaultError, errorMessage } from '../../model/errors.ts';

const newline = 10;

/** A place in a text; both count from 1, columns in characters. */
interface Position {
  line: number;
  column: number;
}

/** Counts lines while chunks go by. Offsets that are asked for must not go back behind the line of the last one. */
class LineCounter {
  #chunk: Uint8Array = new Uint8Array();
  /** Offset of the chunk in the stream. */
  #base = 0;
  /** Line and its start at the cursor, which only goes forward. */
  #line = 1;
  #lineStart = 0;
  #cursor = 0;
  /** Characters of the present line in earlier chunks. */
  #before = 0;

  /** Takes the next chunk; the rest of the last one is counted. */
  take(chunk: Uint8Array): void {
    this.#forward(this.#base + this.#chunk.length);
    const begun = this.#lineStart - this.#base;
    this.#before = (begun < 0 ? this.#before : 0) + length(this.#chunk.subarray(Math.max(0, begun)));
    this.#base += this.#chunk.length;
    this.#chunk = chunk;
  }

  /** The place of a byte of the present chunk; of a byte before it, the beginning of the chunk. */
  at(offset: number): Position {
    this.#forward(offset);
    const from = Math.max(0, this.#lineStart - this.#base);
    const inChunk = length(this.#chunk.subarray(from, Math.max(from, offset - this.#base)));
    return { line: this.#line, column: (this.#lineStart < this.#base ? this.#before : 0) + inChunk + 1 };
  }

  #forward(to: number): void {
    const end = Math.min(to, this.#base + this.#chunk.length);
    while (this.#cursor < end) {
      const found = this.#chunk.indexOf(newline, this.#cursor - this.#base);
      const at = found === -1 ? Number.POSITIVE_INFINITY : found + this.#base;
      if (at >= end) {
        this.#cursor = end;
        return;
      }
      this.#line += 1;
      this.#lineStart = at + 1;
      this.#cursor = at + 1;
    }
  }
}

const length = (bytes: Uint8Array): number => new TextDecoder().decode(bytes).length;

/** One entry as it stands in the catalogue. */
export interface CatalogueEntry {
  /** Position in the list, from 1. */
  index: number;
  /** Line of its opening bracket, from 1; 0 where it is not known. */
  line: number;
  value: unknown;
}

/** What a catalogue may ask of our memory. */
export interface CatalogueLimits {
  /** Objects and lists inside each other. */
  depth: number;
  /** Values of one entry, counted with those inside them. */
  entryValues: number;
  /** Bytes of one entry, and of any text or number. */
  entryBytes: number;
  /** Entries of the catalogue. */
  entries: number;
}

/** Far above what catalogues of governments hold, far below what hurts. */
export const catalogueLimits: CatalogueLimits = {
  depth: 40,
  entryValues: 100_000,
  entryBytes: 8_000_000,
  entries: 1_000_000,
};

/** How many more values there are with a token; a colon makes a name of the text before it. */
const valuesOf = (token: TokenType): number => {
  if (token === TokenType.COLON) return -1;
  return token === TokenType.COMMA || token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET ? 0 : 1;
};

/** How a catalogue is read. */
interface ReadOptions {
  limits?: CatalogueLimits | undefined;
  /** Told of each object in another list of the catalogue, such as `service`, by the key of that list. */
  passedOver?: (key: string) => void;
}

/**
 * Yields the items of the list `dataset` of a JSON object in UTF-8, with or without a byte order mark; all else is
 * passed over. `name` stands in the messages: a path or address.
 *
 * @throws CatalogueFaultError with the place where the document is no JSON, ends early, is beyond a limit, or has no list
 *   `dataset`; entries before that place have been yielded then.
 */
export async function* readCatalogue(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  options: ReadOptions = {},
): AsyncGenerator<CatalogueEntry> {
  const reader = new EntryReader(name, options);
  for await (const chunk of bytes) yield* reader.write(chunk);
  reader.end();
}

interface Token {
  token: TokenType;
  value: unknown;
  offset: number;
}

class EntryReader {
  readonly #name: string;
  readonly #limits: CatalogueLimits;
  readonly #passedOver: (key: string) => void;
  readonly #lines = new LineCounter();
  readonly #tokenizer = new Tokenizer();
  readonly #parser = new TokenParser({ paths: ['$.dataset.*'], keepStack: false });
  #found: CatalogueEntry[] = [];
  #depth = 0;
  #offset = 0;
  #read = 0;
  /** The key of the outermost object whose value comes next. */
  #key: unknown = null;
  #isInList = false;
  #isOtherList = false;
  #hasList = false;
  #count = 0;
  #entry = { offset: 0, line: 0, values: 0 };

  constructor(name: string, { limits = catalogueLimits, passedOver = () => undefined }: ReadOptions) {
    this.#name = name;
    this.#limits = limits;
    this.#passedOver = passedOver;
    this.#tokenizer.onToken = (token) => this.#take(token);
    this.#parser.onValue = ({ value }) => {
      this.#count += 1;
      if (this.#count > limits.entries) this.#fault(`it has more than ${limits.entries.toLocaleString('en')} entries`);
      this.#found.push({ index: this.#count, line: this.#entry.line, value });
    };
  }

  write(chunk: Uint8Array): CatalogueEntry[] {
    this.#lines.take(chunk);
    this.#found = [];
    this.#guarded(() => this.#tokenizer.write(chunk));
    this.#read += chunk.length;
    if (this.#read - this.#offset > this.#limits.entryBytes) {
      this.#fault(`a text or number is longer than ${this.#limits.entryBytes.toLocaleString('en')} bytes`);
    }
    return this.#found;
  }

  end(): void {
    if (this.#read === 0) this.#fault('it is empty', 'an empty catalogue is not the same as one without entries');
    if (!this.#parser.isEnded) {
      const inside = this.#isInList ? `, in or after entry ${this.#count + 1}` : '';
      this.#offset = this.#read;
      this.#fault(
        `it ends early${inside}: ${this.#read.toLocaleString('en')} bytes came, and it is not complete`,
        'fetch or write it again; nothing was published or removed',
      );
    }
    if (!this.#hasList) this.#noList();
  }

  #noList(): never {
    this.#fault('it has no list `dataset`', 'a data.json is an object with the list `dataset`: {"dataset": [...]}');
  }

  #take(token: Token): void {
    this.#offset = token.offset;
    this.#watch(token);
    this.#parser.write(token as Parameters<TokenParser['write']>[0]); // the very token that the tokenizer made
  }

  /** Limits, and where in the document we are: the depth is 1 inside the outermost object, 3 inside an entry. */
  #watch({ token, value, offset }: Token): void {
    if (this.#depth === 0 && token !== TokenType.LEFT_BRACE) this.#fault('it is not a JSON object');
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) this.#open(token);
    else if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) {
      this.#depth -= 1;
      if (this.#depth === 1) this.#isInList = false;
    } else if (this.#depth === 1 && token === TokenType.STRING) this.#key = value;
    if (!this.#isInList || this.#depth < 2) return;
    this.#entry.values += valuesOf(token);
    if (this.#entry.values > this.#limits.entryValues)
      this.#fault(`entry ${this.#count + 1} has more than ${this.#limits.entryValues.toLocaleString('en')} values`);
    if (this.#depth > 2 && offset - this.#entry.offset > this.#limits.entryBytes)
      this.#fault(`entry ${this.#count + 1} is longer than ${this.#limits.entryBytes.toLocaleString('en')} bytes`);
  }

  #open(token: TokenType): void {
    if (this.#depth === 1 && this.#key === 'dataset') {
      if (this.#hasList) this.#fault('it has two lists `dataset`');
      // What stands here is held in memory until it is complete; only the entries of a list are bounded.
      if (token !== TokenType.LEFT_BRACKET) this.#noList();
      this.#hasList = this.#isInList = true;
    }
    if (this.#depth === 2 && this.#isInList) {
      this.#entry = { offset: this.#offset, line: this.#lines.at(this.#offset).line, values: 0 };
    }
    if (this.#depth === 1) this.#isOtherList = token === TokenType.LEFT_BRACKET && !this.#isInList;
    if (this.#depth === 2 && this.#isOtherList && token === TokenType.LEFT_BRACE) this.#passedOver(String(this.#key));
    this.#depth += 1;
    if (this.#depth > this.#limits.depth)
      this.#fault(`objects and lists are nested more than ${this.#limits.depth} levels deep`);
  }

  /** Faults of the syntax come as errors of the parser, in its words. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof CatalogueFaultError) throw error;
      const message = errorMessage(error);
      const place = /absolute position "(\d+)"/.exec(message)?.[1];
      if (place !== undefined) this.#offset = Number(place);
      if (/not valid/.test(message) && error instanceof TypeError) {
        this.#fault('it is not valid UTF-8', 'save it as UTF-8, the encoding of JSON');
      }
      this.#fault(`it is not JSON: ${wordsOf(message)}`, 'fix it at that position; a JSON validator helps');
    }
  }

  #fault(what: string, hint = 'nothing was published or removed'): never {
    const { line, column } = this.#lines.at(this.#offset);
    throw new CatalogueFaultError(what, { name: this.#name, line, column }, { hint });
  }
}

/** `Unexpected "x" at chunk position ... in state ...` and `Unexpected COMMA (",") in state VALUE` as a reader needs them. */
const wordsOf = (message: string): string => {
  const [, char] = /^Unexpected "([\s\S]*?)" at chunk/.exec(message) ?? [];
  if (char !== undefined) return `unexpected ${JSON.stringify(char)}`;
  const [, value, state] = /^Unexpected \S+ \(([\s\S]*)\) in state (\w+)$/.exec(message) ?? [];
  if (value === undefined) return message;
  const shown = value.length > 40 ? `${value.slice(0, 39)}…` : value;
  const wanted = { VALUE: 'a value', KEY: 'a key', COLON: 'a colon', COMMA: 'a comma or a closing bracket' }[
    state ?? ''
  ];
  return `${shown} found where ${wanted ?? 'the end'} is expected`;
};
