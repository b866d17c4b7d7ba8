// Stored reports: deflated JSON, the report on the first line, then one line an item; and summaries, so that lists need not read reports.
import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import { z } from 'zod';
import { fateOf, itemFates } from '../model/item-state.ts';
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
    for (const line of this.lines) yield reportItemSchema.parse(JSON.parse(line));
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

export const lineOf = (item: ReportItem): string => JSON.stringify(item);

/** Gathers the items of a report; of two of one key the later one counts. */
export class ReportBuilder {
  readonly #lines = new Map<string, string>();
  readonly #counts: Report['counts'] = { dataset: {}, resource: {}, actions: {} };

  add(item: ReportItem): void {
    this.#set(item, lineOf(item));
  }

  addLine(line: string): void {
    this.#set(JSON.parse(line), line);
  }

  #set(item: CountedItem & { key: string }, line: string): void {
    const former = this.#lines.get(item.key);
    if (former !== undefined) countItem(this.#counts, JSON.parse(former), -1);
    this.#lines.set(item.key, line);
    countItem(this.#counts, item);
  }

  has(key: string): boolean {
    return this.#lines.has(key);
  }

  end(head: Omit<Report, 'items' | 'counts'>): StoredReport {
    const keys = [...this.#lines.keys()].sort();
    return { ...head, counts: this.#counts, items: new ItemLines(keys.map((key) => this.#lines.get(key) ?? '')) };
  }
}

export const packReport = ({ items, ...head }: StoredReport): Promise<Buffer> => {
  const lines = items instanceof ItemLines ? items.lines : items.map(lineOf);
  return promisify(deflate)([JSON.stringify(head), ...lines].join('\n'));
};

export const unpackReport = async (stored: Buffer): Promise<StoredReport> => {
  const [head = '', ...lines] = `${await promisify(inflate)(stored)}`.split('\n');
  return { ...reportSchema.omit({ items: true }).parse(JSON.parse(head)), items: new ItemLines(lines) };
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
  const ended: Iterable<CountedItem> =
    items instanceof ItemLines ? Iterator.from(items.lines).map((line) => JSON.parse(line)) : items;
  for (const item of ended) {
    const fate = fateOf(item);
    fates[fate] = (fates[fate] ?? 0) + 1;
  }
  return { startedAt, endedAt, fates, reason };
};
