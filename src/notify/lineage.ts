// OpenLineage events, sent in the background: one when a run begins and one when it ends, with its outputs.
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../model/errors.ts';
import { uuidOfKey } from '../model/key.ts';
import type { LedgerEntry } from '../model/ledger-entry.ts';
import type { Log } from '../model/log.ts';
import { type Target, targetName } from '../model/redis-keys.ts';
import { isSuccess, type StoredReport } from '../model/report.ts';
import { columnsOf } from '../model/table-history.ts';
import { packageVersion } from '../util/installation.ts';
import { postDirectly } from './channels.ts';

/** Where events go; `token` null: without one. */
interface LineageConfig {
  url: string;
  token: string | null;
  /** Of the jobs. */
  namespace: string;
}

/** What an event says of a run: the manifest is the job, its resources are the datasets. */
interface LineageRun extends Target {
  runId: string;
}

/** Most datasets of one event, and how long `close` waits for reads, milliseconds. */
const [perEvent, readMs] = [100, 5000];

/** What it reads of the ledger. */
interface LineageLedger {
  entriesOf(portal: string, keys: readonly string[]): Promise<(LedgerEntry | null)[]>;
  addressOf(target: Target): Promise<string | null>;
}

/** Sends events about the runs of this process; `close()` when done. */
export class Lineage {
  readonly #events: LineageEvents;
  readonly #sender: LineageSender;
  readonly #ledger: LineageLedger;
  readonly #log: Log;
  #turn: Promise<void> = Promise.resolve();

  constructor(config: LineageConfig, { ledger, log }: { ledger: LineageLedger; log: Log }) {
    this.#events = new LineageEvents(config.namespace);
    this.#sender = new LineageSender(config, log);
    this.#ledger = ledger;
    this.#log = log;
  }

  /** The run begins. */
  started(run: LineageRun): void {
    this.#sender.add(this.#events.started(run, new Date().toISOString()));
  }

  /** The run has ended: reports what it wrote. Returns at once. */
  ended(report: StoredReport): void {
    this.#turn = this.#turn
      .then(() => this.#report(report))
      .catch((err: unknown) => this.#log.warn({ err, runId: report.runId }, 'the lineage of a run could not be read'));
  }

  /** Waits some seconds for pending events. */
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

const spec = 'https://openlineage.io/spec';
const facetUrl = (name: string, version: string): string => `${spec}/facets/${version}/${name}.json#/$defs/${name}`;

/** Events for the schema of OpenLineage 2-0-2. */
class LineageEvents {
  readonly #producer: string;
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
    this.#producer = `urn:sluice:${packageVersion()}`;
  }

  /** The run begins. */
  started(run: LineageRun, at: string): object {
    return this.#event('START', run, at, {});
  }

  /** A part of what a run wrote, before its end: events stay small. */
  wrote(report: StoredReport, entries: LedgerEntry[], portalUrl: string): object {
    return this.#event('RUNNING', report, report.endedAt, this.#datasets(entries, portalUrl));
  }

  /** The run has ended: COMPLETE when everything is live, ABORT when it was cancelled, else FAIL with the number of faults. */
  ended(report: StoredReport, entries: LedgerEntry[], portalUrl: string): object {
    const { reason, counts } = report;
    const isCancelled = [counts.dataset, counts.resource].some((table) => table.cancelled);
    const type = isSuccess(report) ? 'COMPLETE' : isCancelled ? 'ABORT' : 'FAIL';
    const message = `${reason?.code ?? 'items failed'}: ${JSON.stringify(counts.resource)}`;
    const facets =
      type === 'COMPLETE'
        ? {}
        : {
            errorMessage: this.#facet('ErrorMessageRunFacet', '1-0-1', { message, programmingLanguage: 'JavaScript' }),
          };
    return this.#event(type, report, report.endedAt, { facets, ...this.#datasets(entries, portalUrl) });
  }

  #event(
    eventType: 'START' | 'RUNNING' | 'COMPLETE' | 'ABORT' | 'FAIL',
    { runId, manifest, portal }: LineageRun,
    eventTime: string,
    { facets = {}, inputs = [], outputs = [] }: { facets?: object; inputs?: object[]; outputs?: object[] },
  ): object {
    return {
      eventType,
      eventTime,
      producer: this.#producer,
      schemaURL: `${spec}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
      run: { runId: uuidOfKey(runId), facets },
      job: { namespace: this.#namespace, name: targetName({ manifest, portal }) },
      inputs,
      outputs,
    };
  }

  #datasets(entries: LedgerEntry[], portalUrl: string): { inputs: object[]; outputs: object[] } {
    return {
      inputs: entries.flatMap(({ sourcePath }) => (sourcePath === null ? [] : [inputOf(sourcePath)])),
      outputs: entries.map((entry) => this.#output(entry, portalUrl)),
    };
  }

  #output({ key, file, rows, version }: LedgerEntry, portalUrl: string): object {
    const columns = version === null ? [] : columnsOf(version);
    const size = file === null ? {} : { size: file.bytes };
    const facets =
      columns.length === 0
        ? {}
        : {
            schema: this.#facet('SchemaDatasetFacet', '1-1-1', {
              fields: columns.map(({ name, kind }) => ({ name, type: kind })),
            }),
            dataQualityMetrics: this.#facet('DataQualityMetricsDatasetFacet', '1-0-0', {
              rowCount: version?.rows ?? 0,
              bytes: version?.bytes ?? 0,
              columnMetrics: Object.fromEntries(columns.map(({ name, empty }) => [name, { nullCount: empty }])),
            }),
          };
    const outputFacets =
      rows === null
        ? {}
        : {
            outputStatistics: this.#facet('OutputStatisticsOutputDatasetFacet', '1-0-2', { rowCount: rows, ...size }),
          };
    return { namespace: portalUrl, name: key, facets, outputFacets };
  }

  #facet(name: string, version: string, content: object): object {
    return { _producer: this.#producer, _schemaURL: facetUrl(name, version), ...content };
  }
}

/** A file of this host or of the web; a query may hold a secret. */
const inputOf = (path: string): object => {
  const url = /^https?:/.test(path) ? URL.parse(path) : null;
  return url ? { namespace: url.origin, name: url.pathname } : { namespace: 'file', name: path };
};

/** Most pending events, timeout of one delivery, and how long `close` waits, milliseconds. */
const [mostWaiting, deliveryMs, drainMs] = [1000, 10_000, 5000];

/** Sends events one after the other in the background; failures are logged and dropped. */
export class LineageSender {
  readonly #config: LineageConfig;
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #waiting: object[] = [];
  #sending: Promise<void> | null = null;
  #dropped = 0;

  constructor(config: LineageConfig, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /** Queues an event; false when the queue is full and the event is dropped. */
  add(event: object): boolean {
    if (this.#waiting.length >= mostWaiting) {
      if (this.#dropped === 0)
        this.#log.warn({ action: 'lineage' }, 'lineage events are dropped: too many are pending');
      this.#dropped += 1;
      return false;
    }
    this.#waiting.push(event);
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
    return true;
  }

  /** Waits some seconds for pending events. Idempotent. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(new Error('the process ends')), drainMs);
    await this.#sending;
    clearTimeout(timer);
  }

  async #send(): Promise<void> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event === undefined || this.#stop.signal.aborted) return;
      await this.#post(event).catch((error: unknown) => {
        const origin = new URL(this.#config.url).origin;
        const why = errorMessage(error).replaceAll(this.#config.url, origin);
        this.#log.warn({ action: 'lineage', to: origin, why }, 'a lineage event was not delivered');
      });
      if (this.#waiting.length === 0 && this.#dropped > 0) {
        this.#log.warn({ action: 'lineage', events: this.#dropped }, 'lineage events were dropped');
        this.#dropped = 0;
      }
    }
  }

  async #post(event: object): Promise<void> {
    const { url, token } = this.#config;
    const status = await postDirectly(url, {
      headers: {
        'content-type': 'application/json',
        'user-agent': 'sluice',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(event),
      signal: AbortSignal.any([this.#stop.signal, AbortSignal.timeout(deliveryMs)]),
    });
    if (status >= 300) throw new Error(`status ${status}`);
  }
}
