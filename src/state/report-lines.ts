// Reports as they are stored: deflated JSON, the report without its items on the first line, then one line an item.
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createDeflate, createInflate } from 'node:zlib';
import {
  countItem,
  type Report,
  type ReportItem,
  type ReportItems,
  reportItemSchema,
  reportSchema,
  type StoredReport,
} from '../model/report.ts';
import { withOwnUuid, withoutOwnUuid } from './packed.ts';

/** Items as lines of JSON, a tenth of what the objects would take; each is parsed as it is read. */
class ItemLines implements ReportItems {
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.lines = lines;
  }

  get length(): number {
    return this.lines.length;
  }

  *[Symbol.iterator](): Iterator<ReportItem> {
    for (const line of this.lines) yield parseItem(JSON.parse(line));
  }

  map<T>(of: (item: ReportItem) => T): T[] {
    return Iterator.from(this).map(of).toArray();
  }

  filter(keep: (item: ReportItem) => boolean): ReportItem[] {
    return Iterator.from(this).filter(keep).toArray();
  }

  find(is: (item: ReportItem) => boolean): ReportItem | undefined {
    return Iterator.from(this).find(is);
  }

  some(is: (item: ReportItem) => boolean): boolean {
    return Iterator.from(this).some(is);
  }

  toJSON(): ReportItem[] {
    return [...this];
  }
}

const parseItem = (item: ReportItem): ReportItem => reportItemSchema.parse(withOwnUuid(item.key, item));

const lineOf = (item: ReportItem): string => JSON.stringify(withoutOwnUuid(item.key, item));

/** Gathers the items of a report; of two of one key the later one counts. */
export class ReportBuilder {
  readonly #lines = new Map<string, string>();
  readonly #counts: Report['counts'] = { dataset: {}, resource: {}, actions: {} };

  add(item: ReportItem): void {
    const former = this.#lines.get(item.key);
    if (former !== undefined) countItem(this.#counts, parseItem(JSON.parse(former)), -1);
    this.#lines.set(item.key, lineOf(item));
    countItem(this.#counts, item);
  }

  /** True for the key of an item that was added. */
  has(key: string): boolean {
    return this.#lines.has(key);
  }

  /** The report of what was gathered, ordered by key. */
  end(head: Omit<Report, 'items' | 'counts'>): StoredReport {
    const keys = [...this.#lines.keys()].sort();
    return { ...head, counts: this.#counts, items: new ItemLines(keys.map((key) => this.#lines.get(key) ?? '')) };
  }
}

/** A report as it is stored. */
export const packReport = async ({ items, ...head }: StoredReport): Promise<Buffer> =>
  pipeline(Readable.from(piecesOf(head, items)), createDeflate(), buffer);

function* piecesOf(head: object, items: ReportItems): Generator<string> {
  yield `${JSON.stringify(head)}\n`;
  const lines = items instanceof ItemLines ? items.lines : items.map(lineOf);
  for (let at = 0; at < lines.length; at += linesAtOnce) yield `${lines.slice(at, at + linesAtOnce).join('\n')}\n`;
}

const linesAtOnce = 1000;

/** What was stored with {@link packReport}, or by an earlier version: as one text, which once was not deflated. */
export const unpackReport = async (stored: Buffer): Promise<StoredReport> => {
  const text = Readable.from([stored]);
  const isDeflated = stored.toString('latin1', 0, 1) !== '{';
  const lines: string[] = [];
  for await (const line of createInterface({ input: isDeflated ? text.pipe(createInflate()) : text })) lines.push(line);
  const { items, ...head } = JSON.parse(lines.shift() ?? '');
  return {
    ...reportSchema.omit({ items: true }).parse(head),
    items: items ? items.map(parseItem) : new ItemLines(lines),
  };
};
