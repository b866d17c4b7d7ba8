// Reads the entries of a catalogue from its bytes, one after the other: memory does not grow with the catalogue.
import { Tokenizer, TokenParser, TokenType } from '@streamparser/json';
import { CatalogueFaultError, errorMessage } from '../../model/errors.ts';
import { countText } from '../../util/plural.ts';
import { isPagingKey, joined, noPaging, type Paging, pagingOf } from './paging.ts';
import { textOf } from './values.ts';

/** Places in a stream of chunks, each of which is asked for within its chunk and in order. */
class LineCounter {
  #chunk: Buffer = Buffer.alloc(0);
  /** Offset of the chunk in the stream. */
  #base = 0;
  #line = 1;
  /** Where the present line was last counted to, and its characters before that. */
  #cursor = 0;
  #column = 0;

  take(chunk: Uint8Array): void {
    this.at(this.#base + this.#chunk.length);
    this.#base += this.#chunk.length;
    this.#chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  }

  /** The position of a byte of the current chunk; for a byte before it, the beginning of the chunk. */
  at(offset: number): { line: number; column: number } {
    const text = this.#chunk.toString('utf8', this.#cursor - this.#base, Math.max(0, offset - this.#base));
    const lines = text.split('\n');
    if (lines.length > 1) this.#column = 0;
    this.#line += lines.length - 1;
    this.#column += lines.at(-1)?.length ?? 0;
    this.#cursor = Math.max(this.#cursor, Math.min(offset, this.#base + this.#chunk.length));
    return { line: this.#line, column: this.#column + 1 };
  }
}

export interface CatalogueEntry {
  index: number;
  /** Line of its opening bracket, from 1; 0 where it is not known. */
  line: number;
  isService: boolean;
  value: unknown;
}

export interface Said {
  paging: Paging;
  /** Catalogues that it only refers to: addresses, or '' where it gives none. */
  parts: string[];
  /** True for a document in lines whose last one has no end. */
  isOpen?: boolean;
}

/** Far above what government catalogues hold (an entry may hold the detailed outline of a country), far below what exhausts memory. */
export const catalogueLimits = {
  depth: 40,
  /** Values of one entry, counted with those inside them. */
  entryValues: 2_000_000,
  /** Bytes of one entry, and of any text or number. */
  entryBytes: 32_000_000,
  entries: 1_000_000,
};

const isOpening = (token: TokenType): boolean => token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET;
const isClosing = (token: TokenType): boolean => token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET;

/** True for a token that is a value or begins one, or is a key. */
const isValue = (token: TokenType): boolean =>
  token !== TokenType.COMMA && token !== TokenType.COLON && !isClosing(token);

/**
 * Yields the items of the lists `dataset` and `service` of a JSON object in UTF-8, and those of the catalogues nested in it
 * (`catalog`, `hasPart`), and returns what else it says. Messages name `name`: a path or address;
 * `passedOver` is told the key of another list, such as `record`, for each object in it.
 *
 * @throws CatalogueFaultError with the place, after the entries before it, where the document is not JSON, ends early, is
 *   beyond a limit, or has none of these lists
 */
export async function* readCatalogue(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  {
    limits = catalogueLimits,
    passedOver = () => undefined,
  }: { limits?: typeof catalogueLimits | undefined; passedOver?: (key: string) => void } = {},
): AsyncGenerator<CatalogueEntry, Said> {
  const reader = new EntryReader(name, limits, passedOver);
  for await (const chunk of bytes) yield* reader.write(chunk);
  return reader.end();
}

type Token = Parameters<Tokenizer['onToken']>[0];

/** Keys of a catalogue under which its entries are, and further catalogues. */
const entryLists: ReadonlySet<unknown> = new Set(['dataset', 'service']);
const catalogueLists: ReadonlySet<unknown> = new Set(['catalog', 'hasPart']);

/** What an open bracket outside of the entries holds; `key` is that of the present value of a catalogue, or of the list. */
type Frame = CatalogueFrame | { kind: 'entries' | 'catalogues' | 'passed' | 'other'; key: unknown };

/** `said` holds its statements about pages and its `@id`, `first` is the number of entries before it, `parts` that of parts. */
interface CatalogueFrame {
  kind: 'catalogue';
  key: unknown;
  /** True behind the colon. */
  isValue: boolean;
  lists: Set<unknown>;
  said: Map<string, unknown>;
  first: number;
  parts: number;
}

/** The entry, or statement about pages, that is being read. */
interface OpenEntry {
  parser: TokenParser;
  depth: number;
  offset: number;
  values: number;
}

class EntryReader {
  readonly #name: string;
  readonly #limits: typeof catalogueLimits;
  readonly #passedOver: (key: string) => void;
  readonly #lines = new LineCounter();
  readonly #tokenizer = new Tokenizer();
  /** Checks the document around the entries; it keeps nothing. */
  readonly #around = new TokenParser({ paths: [], keepStack: false });
  readonly #frames: Frame[] = [];
  readonly #said: Said = { paging: noPaging, parts: [] };
  #found: CatalogueEntry[] = [];
  #entry: OpenEntry | null = null;
  #offset = 0;
  #read = 0;
  #hasList = false;
  #count = 0;

  constructor(name: string, limits: typeof catalogueLimits, passedOver: (key: string) => void) {
    this.#name = name;
    this.#limits = limits;
    this.#passedOver = passedOver;
    this.#tokenizer.onToken = (token) => {
      this.#offset = token.offset;
      if (this.#entry) this.#continue(this.#entry, token);
      else this.#look(token);
    };
    this.#around.onValue = () => undefined;
  }

  write(chunk: Uint8Array): CatalogueEntry[] {
    this.#lines.take(chunk);
    this.#found = [];
    try {
      this.#tokenizer.write(chunk);
    } catch (error) {
      this.#notJson(error);
    }
    this.#read += chunk.length;
    const { entryBytes } = this.#limits;
    if (this.#read - this.#offset > entryBytes)
      this.#fault(`a text or number is longer than ${countText(entryBytes)} bytes`);
    return this.#found;
  }

  end(): Said {
    if (this.#read === 0) this.#fault('it is empty', 'fetch or write it again; nothing was published or removed');
    if (!this.#around.isEnded) {
      const place = this.#frames.some(({ kind }) => kind === 'entries') ? `, in or after entry ${this.#count + 1}` : '';
      this.#offset = this.#read;
      this.#fault(
        `it ends early${place}: ${countText(this.#read)} bytes were received, and it is incomplete`,
        'fetch or write it again; nothing was published or removed',
      );
    }
    if (!this.#hasList && this.#said.parts.every((part) => part === '')) this.#noList();
    return this.#said;
  }

  #noList(): never {
    this.#fault('it has no list `dataset`', 'name a data.json, {"dataset": [...]}, or DCAT (/catalog.jsonld of CKAN)');
  }

  #look(token: Token): void {
    const frame = this.#frames.at(-1);
    if (!frame && token.token !== TokenType.LEFT_BRACE && !this.#around.isEnded) this.#fault('it is not a JSON object');
    this.#around.write(token);
    if (frame?.kind === 'catalogue') this.#lookIn(frame, token);
    else if (frame?.kind === 'entries' && isValue(token.token)) {
      const { line } = this.#lines.at(token.offset);
      this.#parse(token, (value) => this.#add({ isService: frame.key === 'service', line, value }));
    } else if (isOpening(token.token)) this.#open(frame, token.token);
    else if (isClosing(token.token)) this.#frames.pop();
    else if (frame?.kind === 'catalogues' && token.token === TokenType.STRING)
      this.#said.parts.push(String(token.value));
    else if (frame?.kind === 'catalogues' && isValue(token.token)) this.#said.parts.push('');
  }

  #lookIn(frame: CatalogueFrame, token: Token): void {
    const { key } = frame;
    if (isClosing(token.token)) this.#leave(frame);
    else if (!isValue(token.token)) frame.isValue = token.token === TokenType.COLON;
    else if (!frame.isValue) frame.key = token.value;
    else if (key === '@id' || isPagingKey(key)) this.#parse(token, (value) => frame.said.set(String(key), value));
    else if (isOpening(token.token)) this.#open(frame, token.token);
    else if (token.token === TokenType.STRING && (entryLists.has(key) || catalogueLists.has(key))) {
      frame.lists.add(key);
      this.#said.parts.push(String(token.value));
    }
  }

  /** The end of a catalogue. What says of itself that it is incomplete, or has no list or nothing in it, is elsewhere. */
  #leave({ said, lists, first, parts }: CatalogueFrame): void {
    this.#frames.pop();
    const paging = pagingOf(Object.fromEntries(said));
    if (this.#frames.length === 0) this.#said.paging = joined(this.#said.paging, paging);
    else if (lists.size === 0) this.#said.parts.push(textOf(said.get('@id')) ?? '');
    else if (paging.next !== null) this.#said.parts.push(paging.next);
    else if ((paging.total ?? 0) > this.#count - first) this.#said.parts.push('');
    else if (this.#count === first && this.#said.parts.length === parts) this.#said.parts.push('');
  }

  #open(frame: Frame | undefined, token: TokenType): void {
    this.#frames.push(this.#inside(frame, token === TokenType.LEFT_BRACE));
    this.#checkDepth(0);
  }

  #inside(frame: Frame | undefined, isObject: boolean): Frame {
    if (frame?.kind === 'catalogue' && entryLists.has(frame.key)) return this.#list(frame, isObject);
    const { kind, key } = frame ?? { kind: 'catalogues', key: null };
    const isPart = frame?.kind === 'catalogue' && catalogueLists.has(key);
    if (isPart) frame.lists.add(key);
    const before = { first: this.#count, parts: this.#said.parts.length };
    if (isObject && (isPart || kind === 'catalogues'))
      return { kind: 'catalogue', key: null, isValue: false, lists: new Set(), said: new Map(), ...before };
    if (isObject && kind === 'passed') this.#passedOver(String(key));
    if (isObject || kind !== 'catalogue') return { kind: 'other', key: null };
    return { kind: isPart ? 'catalogues' : 'passed', key };
  }

  #list({ key, lists }: CatalogueFrame, isObject: boolean): Frame {
    // What is here would be held in memory until it is complete; only the entries of a list are bounded.
    if (isObject && key === 'dataset') this.#noList();
    if (lists.has(key)) this.#fault(`it has two lists \`${key}\``);
    lists.add(key);
    this.#hasList ||= !isObject;
    if (isObject) this.#passedOver(String(key));
    return isObject ? { kind: 'other', key: null } : { kind: 'entries', key };
  }

  #parse({ token, value, offset }: Token, take: (whole: unknown) => void): void {
    if (!isOpening(token)) {
      take(value);
      return;
    }
    const parser = new TokenParser({ paths: ['$'] });
    parser.onValue = ({ value: whole }) => take(whole);
    parser.write({ token, value });
    this.#entry = { parser, depth: 1, offset, values: 1 };
    this.#checkDepth(1);
  }

  #continue(entry: OpenEntry, token: Token): void {
    const { entryValues, entryBytes } = this.#limits;
    // A colon makes a name of the text before it.
    entry.values += token.token === TokenType.COLON ? -1 : Number(isValue(token.token));
    if (entry.values > entryValues)
      this.#fault(`entry ${this.#count + 1} has more than ${countText(entryValues)} values`);
    if (token.offset - entry.offset > entryBytes)
      this.#fault(`entry ${this.#count + 1} is longer than ${countText(entryBytes)} bytes`);
    entry.parser.write(token);
    if (isOpening(token.token)) this.#checkDepth(++entry.depth);
    else if (isClosing(token.token)) entry.depth -= 1;
    if (entry.depth > 0) return;
    this.#entry = null;
    this.#around.write(token);
  }

  #add(entry: Omit<CatalogueEntry, 'index'>): void {
    this.#count += 1;
    const most = this.#limits.entries;
    if (this.#count > most) this.#fault(`it has more than ${countText(most)} entries`);
    this.#found.push({ index: this.#count, ...entry });
  }

  #checkDepth(insideEntry: number): void {
    if (this.#frames.length + insideEntry > this.#limits.depth)
      this.#fault(`objects and lists are nested more than ${this.#limits.depth} levels deep`);
  }

  #notJson(error: unknown): never {
    if (error instanceof CatalogueFaultError) throw error;
    const message = errorMessage(error);
    this.#offset = Number(/absolute position "(\d+)"/.exec(message)?.[1] ?? this.#offset);
    if (/not valid/.test(message) && error instanceof TypeError)
      this.#fault('it is not valid UTF-8', 'save it as UTF-8, the encoding of JSON');
    this.#fault(`it is not JSON: ${wordsOf(message)}`, 'fix it at that position; a JSON validator helps');
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
  return `${shown} found where ${wanted[state ?? ''] ?? 'the end'} is expected`;
};

const wanted: Record<string, string> = {
  VALUE: 'a value',
  KEY: 'a key',
  COLON: 'a colon',
  COMMA: 'a comma or a closing bracket',
};
