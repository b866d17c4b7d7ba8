// Sends lineage events about the runs of this process in the background, if configured.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../model/log.ts';
import type { StoredReport } from '../model/report.ts';
import { type LineageConfig, LineageEvents, type LineageRun, LineageSender } from '../notify/lineage.ts';
import type { Ledger } from '../state/ledger.ts';
import { packageVersion } from '../util/package-version.ts';

/** Datasets that one event names, and milliseconds that a stop waits for them to be read. */
const [perEvent, readMs] = [100, 5000];

/** See the head of this file. */
export class Lineage {
  readonly #events: LineageEvents;
  readonly #sender: LineageSender;
  readonly #ledger: Pick<Ledger, 'entriesOf' | 'addressOf'>;
  readonly #log: Log;
  #turn: Promise<void> = Promise.resolve();

  constructor(config: LineageConfig, { ledger, log }: { ledger: Pick<Ledger, 'entriesOf' | 'addressOf'>; log: Log }) {
    this.#events = new LineageEvents(config.namespace, packageVersion());
    this.#sender = new LineageSender(config, log);
    this.#ledger = ledger;
    this.#log = log;
  }

  /** The run begins. */
  started(run: LineageRun): void {
    this.#sender.add(this.#events.started(run, new Date().toISOString()));
  }

  /** The run has ended: names what it has written. Returns at once. */
  ended(report: StoredReport): void {
    this.#turn = this.#turn
      .then(() => this.#report(report))
      .catch((err: unknown) => this.#log.warn({ err, runId: report.runId }, 'the lineage of a run could not be read'));
  }

  /** Waits some seconds for what is not delivered yet. */
  async close(): Promise<void> {
    await Promise.race([this.#turn, sleep(readMs, undefined, { ref: false })]);
    await this.#sender.close();
  }

  async #report(report: StoredReport): Promise<void> {
    const keys = report.items
      .filter(({ kind, outcome, actions }) => kind === 'resource' && outcome === 'done' && actions.length > 0)
      .map(({ key }) => key);
    const url = (await this.#ledger.addressOf(report)) ?? report.portal;
    for (let at = 0; ; at += perEvent) {
      const known = await this.#ledger.entriesOf(report.portal, keys.slice(at, at + perEvent));
      const entries = known.filter((entry) => entry !== null);
      const isLast = at + perEvent >= keys.length;
      this.#sender.add(isLast ? this.#events.ended(report, entries, url) : this.#events.wrote(report, entries, url));
      if (isLast) return;
    }
  }
}
