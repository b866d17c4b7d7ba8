// What `start` and `worker` say on a terminal: a line for each file and failure, and what the log warns of.
import { Writable } from 'node:stream';
import { causesOf, type ReportItem, type StoredReport } from '../model/report.ts';
import { fateOf } from '../state/run-summary.ts';
import { plural } from '../util/plural.ts';
import { type Io, say } from './io.ts';

/** Items of a run that get a line each; of larger runs the counts are told, and the causes of failures. */
const listedItems = 20;

/** Says lines with the time of the day in front. */
export class ServiceLines {
  readonly #io: Io;
  /** The failure that was told last of each key, while it lasts. */
  readonly #told = new Map<string, string>();

  constructor(io: Io) {
    this.#io = io;
  }

  /** Says a line. */
  say(text: string): void {
    say(this.#io, `${new Date().toTimeString().slice(0, 8)}  ${text}`);
  }

  /** Says what a run did; a failure that was told is not told again before the item is well or fails otherwise. */
  closed(report: StoredReport): void {
    const { manifest, portal, reason } = report;
    const name = `${manifest}@${portal}`;
    if (this.#isNews(name, reason && `${reason.code} ${reason.message}`)) this.#fail(name, reason);
    const news: ReportItem[] = [];
    for (const item of report.items) {
      const isNew = this.#isNews(`${portal} ${item.key}`, item.reason && `${item.reason.code} ${item.reason.message}`);
      if (isNew || (item.reason === null && item.actions.length > 0)) news.push(item);
    }
    if (news.length <= listedItems) for (const item of news) this.#item(item);
    else this.#many(name, news);
  }

  #isNews(name: string, sign: string | null): boolean {
    const before = this.#told.get(name) ?? null;
    if (sign === null) this.#told.delete(name);
    else this.#told.set(name, sign);
    return sign !== null && sign !== before;
  }

  #item({ reason, ...item }: ReportItem): void {
    if (reason) {
      this.#fail(item.key, reason, fateOf(item));
      return;
    }
    const rows = item.rows === null ? '' : `, ${plural(item.rows, 'row')}`;
    this.say(`${item.key}  ${fateOf(item)}${item.live ? ', live' : ''}${rows}`);
  }

  #fail(name: string, reason: StoredReport['reason'], fate = 'failed'): void {
    const [first = ''] = (reason?.message ?? '').split('\n');
    this.say(`${name}  ${fate}: ${reason?.code}: ${first}`);
    if (reason?.hint) say(this.#io, `            -> ${reason.hint}`);
  }

  #many(name: string, news: ReportItem[]): void {
    const fates = Map.groupBy(news, fateOf);
    this.say(
      `${name}  ${[...fates].map(([fate, items]) => `${items.length.toLocaleString('en')} ${fate}`).join(', ')}`,
    );
    for (const { reason, count, items } of causesOf(news, 3)) {
      const rest = count > items.length ? ', …' : '';
      this.say(`  ${plural(count, 'item')} with ${reason.code}: ${items.map(({ key }) => key).join(', ')}${rest}`);
    }
  }

  /** Where a log goes: what it warns of becomes a line, except of items, which their run tells of. */
  get log(): Writable {
    return new Writable({
      decodeStrings: false,
      write: (line: string, _encoding, done) => {
        const { level, msg, action, portal, reason } = JSON.parse(line); // as our own log wrote it
        const where = portal === undefined ? '' : `portal ${portal}: `;
        if (action !== 'give-up') this.say(`${level}: ${where}${msg}${reason ? `: ${reason.message}` : ''}`);
        done();
      },
    });
  }
}
