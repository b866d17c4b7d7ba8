// Reads a catalogue with all its pages and the parts that it refers to, as one list of entries, and says whether that is all.
import { SluiceError } from '../../model/errors.ts';
import { isObject } from '../../util/json.ts';
import { peeked } from '../../util/peek.ts';
import { countText } from '../../util/plural.ts';
import { shown } from '../fetch/policy.ts';
import type { CatalogueDocument, CatalogueSource } from './catalogue-bytes.ts';
import { detectSyntax, documentFault as fault, readLinkedData } from './linked-data.ts';
import { countedNext, isUnpaged, joined, larger, noPaging, type Paging, pageDoubt } from './paging.ts';
import { type CatalogueEntry, catalogueLimits, readCatalogue, type Said } from './read-catalogue.ts';
import { identifierOf, referenceOf } from './values.ts';

const mostDocuments = 10_000;
const mostEmptyPages = 100;

export interface WalkedEntry extends CatalogueEntry {
  name: string;
  isRepeated: boolean;
}

/** A list in one or more pages, as far as it was read. */
class List {
  readonly ids = new Set<string>();
  /** Entries that are named, but not described. */
  readonly named = new Set<string>();
  count = 0;
  repeated = 0;
  empty = 0;
  /** Pages in a row without a new entry, as those are behind the last one. */
  idle = 0;
  page = 1;
  total: number | null = null;
  pages: number | null = null;
  /** How the present page was found: by a link, or by counting on in the address. */
  by: 'link' | 'count' | null = null;

  mayGoOn = true;

  /** Notes what a page says of the list, and how many entries it has. */
  take(paging: Paging, { read, isNew }: { read: number; isNew: boolean }): void {
    // A count that is not larger than the page may be its own.
    this.total = larger(this.total, larger(paging.total, (paging.count ?? 0) > read ? paging.count : null));
    this.pages = paging.pages ?? this.pages;
    this.empty += Number(read === 0);
    this.idle = isNew ? 0 : this.idle + 1;
    this.mayGoOn = isNew || (read === 0 && this.empty <= mostEmptyPages);
  }

  /** Entries that were read, also those that are only named. */
  get size(): number {
    return this.count + [...this.named].filter((name) => !this.ids.has(name)).length;
  }
}

export class CatalogueWalk {
  readonly doubts = new Set<string>();
  readonly lost: { address: string; error: SluiceError }[] = [];
  documents = 0;
  readonly #source: CatalogueSource;
  readonly #limits: typeof catalogueLimits;
  readonly #passedOver: (key: string) => void;
  readonly #ids = new Set<string>();
  readonly #visited = new Set<string>();
  /** Addresses of parts, in the order in which they are met. */
  readonly #parts = new Set<string>();
  #entries = 0;
  #bytes = 0;

  constructor(source: CatalogueSource, limits = catalogueLimits, passedOver: (key: string) => void = () => undefined) {
    this.#source = source;
    this.#limits = limits;
    this.#passedOver = passedOver;
  }

  /** All entries. @throws CatalogueFaultError also where it says that there is more, and that cannot be had */
  async *entries(from: string): AsyncGenerator<WalkedEntry> {
    yield* this.#list(from, from);
    for (const part of this.#parts) {
      if (this.#visited.has(part)) continue;
      const address = shown(new URL(part));
      const before = this.#entries + this.#parts.size;
      try {
        yield* this.#list(part, address);
        if (this.#entries + this.#parts.size === before) this.doubts.add(`its part ${address} is empty`);
      } catch (error) {
        if (!isOfSource(error)) throw error;
        this.lost.push({ address, error });
      }
    }
  }

  isLike(other: CatalogueWalk): boolean {
    const [mine, others] = [this.#ids, other.#ids];
    return this.#entries === other.#entries && mine.size === others.size && mine.values().every((id) => others.has(id));
  }

  async *#list(from: string, listName: string): AsyncGenerator<WalkedEntry> {
    const list = new List();
    for (let address: string | null = from; address !== null; list.page += 1) {
      const name = list.page === 1 ? listName : `page ${list.page} of ${listName}`;
      const opened = await this.#open(address, list, name);
      if (opened === null) return this.#checkSize(list, listName, list.page - 1);
      const [seen, repeated, entries] = [list.count + list.named.size, list.repeated, this.#entries];
      const said = yield* this.#document(opened, list, name);
      for (const part of said.parts) this.#addPart(part, opened.url);
      const paging = joined(opened.paging, said.paging);
      const read = this.#entries - entries;
      if (read === 0 && list.by === 'link' && opened.url !== address)
        this.doubts.add(`${name} leads to ${opened.url && shown(new URL(opened.url))}, where there is nothing`);
      list.take(paging, { read, isNew: list.count + list.named.size > seen });
      if (list.idle === 0 && list.repeated > repeated)
        this.doubts.add(`entries of ${listName} moved between its pages while they were read`);
      if (list.idle === 0 && list.by === 'count' && list.empty > 0) this.doubts.add(`a page before ${name} is empty`);
      address = this.#nextOf(list, { paging, url: opened.url, name });
      if (list.by === 'count' && list.idle > 1) return this.#checkSize(list, listName, list.page - 1);
    }
  }

  /** The address of the next page; null after the last one, which is compared with what the list says of itself. */
  #nextOf(list: List, { paging, url, name }: { paging: Paging; url: string | null; name: string }): string | null {
    const { page, total, pages } = list;
    if (page === 1 && paging.isLater) this.doubts.add(`${name} is not the first page of its list`);
    if (paging.next) {
      if (!list.mayGoOn) throw fault(name, 'it only repeats entries of earlier pages, or has none, and links to more');
      list.by = 'link';
      return this.#resolved(paging.next, url, name);
    }
    const mayHaveMore = isUnpaged(paging) || list.by === 'count';
    const isShort = total === null ? (pages === null ? mayHaveMore : page < pages) : list.size < total;
    const next = url !== null && list.by !== 'link' && (isShort || paging.next === '') ? countedNext(url) : null;
    if (next !== null) {
      list.by = 'count';
      return next;
    }
    if (paging.next === '') throw fault(name, 'it says that there is more, but not where, or that its server failed');
    this.#checkSize(list, name, page);
    const isCounted = page > 1 || total !== null || pages !== null;
    const doubt = isCounted ? null : pageDoubt(url, paging.limit, list.count);
    if (doubt !== null) this.doubts.add(`${name} ${doubt}`);
    return null;
  }

  /** Compares what the list says of its size with what was read; entries of parts may be counted with it. */
  #checkSize(list: List, name: string, read: number): void {
    const { total, pages, size } = list;
    const missing =
      total !== null && size < total
        ? `its list has ${countText(total)} entries, ${countText(size)} were read`
        : pages !== null && total === null && read < pages && 'its list has more pages, but no link to them';
    if (missing && this.#parts.size === 0) throw fault(name, `it is incomplete: ${missing}`);
    if (missing) this.doubts.add(`${name} may be incomplete: ${missing}`);
  }

  /** Opens a page; null where the list has ended, or, with a doubt, for one that is not fetched here or may not exist. */
  async #open(address: string, { page, by, idle }: List, name: string): Promise<CatalogueDocument | null> {
    this.documents += 1;
    if (this.documents > mostDocuments)
      throw fault(name, `the catalogue has more than ${countText(mostDocuments)} pages and parts`);
    const document = await this.#source.open(address, this.#bytes).catch((cause: unknown) => {
      if (page === 1 || !isOfSource(cause)) throw cause;
      if (by === 'count' && idle > 0 && !cause.retryable) return undefined;
      if (by === 'link' || cause.retryable)
        throw fault(name, `it cannot be had: ${cause.message}`, { cause, hint: cause.hint });
      this.doubts.add(`whether there is a ${name} is not known: ${cause.message}`);
      return undefined;
    });
    if (document === null) this.doubts.add(`it continues at ${address}, which is not fetched here`);
    if (!document) return null;
    const at = document.url ?? address;
    const isKnown = this.documents > 1 && this.#visited.has(at);
    if (isKnown && by === 'link') throw fault(name, 'it leads back to a page that was read already');
    this.#visited.add(address).add(at);
    return isKnown ? null : document;
  }

  async *#document({ bytes, url }: CatalogueDocument, list: List, name: string): AsyncGenerator<WalkedEntry, Said> {
    const { syntax, all } = await detectSyntax(asUtf8(url === null ? bytes : this.#counted(bytes, name)));
    const reading =
      syntax === null
        ? readCatalogue(all, name, { limits: this.#limits, passedOver: this.#passedOver })
        : readLinkedData(all, name, syntax, { isLater: list.page > 1, base: url });
    const fresh = new Set<string>();
    const first = this.#entries;
    try {
      let step = await reading.next();
      for (; !step.done; step = await reading.next()) {
        this.#entries = first + step.value.index;
        yield { ...step.value, index: this.#entries, name, isRepeated: this.#note(step.value, list, { name, fresh }) };
      }
      for (const id of fresh) list.ids.add(id);
      if (step.value.isOpen) this.doubts.add(`the last line of ${name} has no line end, as if it were cut off`);
      return step.value;
    } finally {
      await reading.return({ paging: noPaging, parts: [] });
    }
  }

  /** Counts an entry; returns true for one that an earlier page of its list has. */
  #note({ value }: CatalogueEntry, list: List, { name, fresh }: { name: string; fresh: Set<string> }): boolean {
    if (this.#entries > this.#limits.entries)
      throw fault(name, `the catalogue has more than ${countText(this.#limits.entries)} entries`);
    const reference = referenceOf(value);
    const id = reference ?? (isObject(value) ? identifierOf(value) : null);
    if (id !== null) this.#ids.add(id);
    if (reference !== null) list.named.add(reference);
    else if (id !== null) fresh.add(id);
    const isRepeated = reference === null && id !== null && list.ids.has(id);
    if (isRepeated) list.repeated += 1;
    else if (reference === null) list.count += 1;
    return isRepeated;
  }

  async *#counted(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      this.#bytes += chunk.length;
      if (this.#bytes > this.#source.maxBytes)
        throw fault(name, `the catalogue has more than ${countText(this.#source.maxBytes)} bytes`, {
          hint: 'raise sources.maxSize in the configuration; nothing was published or removed',
        });
      yield chunk;
    }
  }

  #addPart(part: string, base: string | null): void {
    const url = part === '' ? null : webUrl(part, base);
    if (url !== null) this.#parts.add(url.href);
    else this.doubts.add(part === '' ? 'a catalogue in it is empty or incomplete' : `its part ${part} has no address`);
  }

  #resolved(next: string, base: string | null, name: string): string {
    const url = webUrl(next, base);
    if (url === null) throw fault(name, `it continues at ${JSON.stringify(next.slice(0, 200))}, which is no address`);
    url.hash = '';
    if (this.#visited.has(url.href)) throw fault(name, `it continues at ${shown(url)}, which was read already`);
    return url.href;
  }
}

const webUrl = (address: string, base: string | null): URL | null => {
  const url = URL.parse(address, base ?? undefined);
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
};

/** The bytes of a document in UTF-16, which begins with its mark or an ASCII character, as UTF-8; any other as they are. */
async function* asUtf8(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { start, all } = await peeked(bytes, 2);
  const begin = start.toString('hex', 0, 2);
  const isLittle = /^(?:fffe|(?!00)..00)/.test(begin);
  if (!isLittle && !/^(?:feff|00(?!00))/.test(begin)) return yield* all;
  const decoder = new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be');
  for await (const chunk of all) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

const isOfSource = (error: unknown): error is SluiceError =>
  error instanceof SluiceError && /^(?:source|catalogue)-/.test(error.code);
