// Stored reports: deflated JSON, the report on the first line, then one line an item; and summaries, so that lists need not read reports.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createDeflate, createInflate } from 'node:zlib';
import { z } from 'zod';
import { fateOf, itemFates } from '../model/ledger-entry.ts';
import {
  type CountedItem,
  countItem,
  type Report,
  type ReportItem,
  type ReportItems,
  reasonSchema,
  reportItemSchema,
  reportSchema,
  type StoredReport,
} from '../model/report.ts';
import { byName } from '../util/natural.ts';

/** Items as lines of JSON, a tenth of what the objects would take; each is parsed as it is read. */
const itemLines = (lines: readonly string[]) => {
  const values = () => Iterator.from(lines).map((line) => reportItemSchema.parse(JSON.parse(line)));
  return { lines, length: lines.length, values, [Symbol.iterator]: values, toJSON: () => [...values()] };
};

const areLines = (items: ReportItems): items is ReturnType<typeof itemLines> => 'lines' in items;

/** Gathers the items of a report; of two of one key the later one counts. */
export class ReportBuilder {
  readonly #lines = new Map<string, string>();
  readonly counts: Report['counts'] = { dataset: {}, resource: {}, actions: {} };

  add(item: ReportItem): void {
    this.#set(item, JSON.stringify(item));
  }

  addLine(line: string): void {
    this.#set(JSON.parse(line), line);
  }

  #set(item: CountedItem & { key: string }, line: string): void {
    const former = this.#lines.get(item.key);
    if (former !== undefined) countItem(this.counts, JSON.parse(former), -1);
    this.#lines.set(item.key, line);
    countItem(this.counts, item);
  }

  has(key: string): boolean {
    return this.#lines.has(key);
  }

  end(head: Omit<Report, 'items' | 'counts'>): StoredReport {
    const keys = [...this.#lines.keys()].sort(byName);
    return { ...head, counts: this.counts, items: itemLines(keys.map((key) => this.#lines.get(key) ?? '')) };
  }
}

export const packReport = ({ items, ...head }: StoredReport): Promise<Buffer> => {
  const lines = areLines(items) ? items.lines : Array.from(items, (item) => JSON.stringify(item));
  const pieces = function* (): Generator<string> {
    yield JSON.stringify(head);
    for (let at = 0; at < lines.length; at += linesAtOnce) yield `\n${lines.slice(at, at + linesAtOnce).join('\n')}`;
  };
  return pipeline(Readable.from(pieces()), createDeflate(), buffer);
};

/** The text of a whole report may be longer than a string can be. */
const linesAtOnce = 1000;

const headSchema = reportSchema.omit({ items: true });

export const unpackReport = async (stored: Buffer): Promise<StoredReport> => {
  const lines: string[] = [];
  let begun = '';
  // No readline: it also splits at U+2028, which JSON does not escape.
  for await (const text of Readable.from([stored]).pipe(createInflate()).setEncoding('utf8')) {
    const pieces = `${begun}${text}`.split('\n');
    begun = pieces.pop() ?? '';
    lines.push(...pieces);
  }
  lines.push(begun);
  return { ...headSchema.parse(JSON.parse(lines.shift() ?? '')), items: itemLines(lines) };
};

export const runSummarySchema = z.object({
  startedAt: z.string(),
  endedAt: z.string(),
  /** Items by what became of them; those with none are left out. */
  fates: z.partialRecord(z.enum(itemFates), z.number().int()),
  reason: reasonSchema.nullable(),
});

export type RunSummary = z.infer<typeof runSummarySchema>;

/** The summary of a report. Of stored items nothing else is checked. */
export const summaryOf = ({ startedAt, endedAt, items, reason }: StoredReport): RunSummary => {
  const fates: RunSummary['fates'] = {};
  const ended: Iterable<CountedItem> = areLines(items)
    ? Iterator.from(items.lines).map((line) => JSON.parse(line))
    : items;
  for (const item of ended) {
    const fate = fateOf(item);
    fates[fate] = (fates[fate] ?? 0) + 1;
  }
  return { startedAt, endedAt, fates, reason };
};
