// Metrics for Prometheus: read from counters and indices when they are requested, never a label for each key.
import { Gauge, Histogram, Registry } from 'prom-client';
import { targetOfName } from '../model/redis-keys.ts';
import { queueDepths } from '../queue/queues.ts';
import { lastRuns, lastSuccesses } from '../state/targets.ts';
import { packageVersion } from '../util/installation.ts';
import type { Overview } from './overview.ts';
import type { Runtime } from './runtime.ts';

/** Every gauge with its help text and labels. */
const gauges = {
  sluice_build_info: ['Always 1, with the version of sluice.', 'version'],
  sluice_workers: ['Worker processes.'],
  sluice_overdue: ['Expected signs of life, runs and new data that are overdue.'],
  sluice_items: ['Datasets and resources by state.', 'manifest', 'portal', 'state'],
  sluice_run_last_success_timestamp_seconds: ['When the last successful run ended.', 'manifest', 'portal'],
  sluice_run_last_end_timestamp_seconds: ['When the last run ended.', 'manifest', 'portal'],
  sluice_run_duration_seconds: ['How long the last run took.', 'manifest', 'portal'],
  sluice_portal_paused: ['1 while a portal is paused, else 0.', 'portal'],
  sluice_queue_jobs: ['Jobs in a queue by state.', 'queue', 'state'],
  sluice_queue_oldest_job_age_seconds: ['How long the oldest job of a queue has waited for a worker.', 'queue'],
} as const;

type GaugeName = keyof typeof gauges;

const requestMetric = 'sluice_request_duration_seconds';

/** Every metric by name, with its labels. */
export const metricLabels: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(gauges).map(([name, [, ...labels]]) => [name, labels])),
  [requestMetric]: ['portal', 'kind'],
};

/** Seconds. */
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** How long metrics are cached, milliseconds. */
const freshMs = 1000;

/** The metrics of a service; requests to portals are those of this process, everything else is of all workers. */
export class Metrics {
  readonly #runtime: Runtime;
  readonly #registry = new Registry();
  readonly #gauges: Record<GaugeName, Gauge>;
  readonly #overview: Overview;
  #last: { at: number; text: Promise<string> } | null = null;

  constructor(runtime: Runtime, overview: Overview) {
    this.#runtime = runtime;
    this.#overview = overview;
    const registers = [this.#registry];
    this.#gauges = Object.fromEntries(
      Object.entries(gauges).map(([name, [help, ...labelNames]]) => [
        name,
        new Gauge({ name, help, labelNames, registers }),
      ]),
    ) as Record<GaugeName, Gauge>; // its own keys
    const help = 'Duration of requests to portals.';
    const requests = new Histogram({ name: requestMetric, help, labelNames: ['portal', 'kind'], buckets, registers });
    runtime.onRequest = (portal, kind, ms) => requests.observe({ portal, kind }, ms / 1000);
    this.#gauges.sluice_build_info.set({ version: packageVersion() }, 1);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics as Prometheus reads them, at most a second old. */
  text(): Promise<string> {
    const now = Date.now();
    if (this.#last === null || now - this.#last.at > freshMs) {
      const text = this.#collect().then(() => this.#registry.metrics());
      text.catch(() => {
        this.#last = null;
      });
      this.#last = { at: now, text };
    }
    return this.#last.text;
  }

  async #collect(): Promise<void> {
    const { redis, keys, deadlines } = this.#runtime;
    const [workers, overdue] = await Promise.all([
      this.#runtime.liveWorkers(),
      deadlines.countLate(Date.now()),
      this.#collectRuns(await lastRuns(redis, keys)),
      this.#collectQueues(),
    ]);
    this.#gauges.sluice_workers.set(workers.length);
    this.#gauges.sluice_overdue.set(overdue);
  }

  async #collectRuns(runs: Awaited<ReturnType<typeof lastRuns>>): Promise<void> {
    const { redis, keys } = this.#runtime;
    const [successes, targets] = await Promise.all([lastSuccesses(redis, keys), this.#overview.counts()]);
    const items = this.#gauges.sluice_items;
    const success = this.#gauges.sluice_run_last_success_timestamp_seconds;
    const end = this.#gauges.sluice_run_last_end_timestamp_seconds;
    const duration = this.#gauges.sluice_run_duration_seconds;
    for (const gauge of [items, success, end, duration]) gauge.reset(); // targets come and go
    for (const [name, at] of successes) success.set({ ...targetOfName(name) }, at / 1000);
    for (const [name, { startedAt, endedAt }] of runs) {
      const [begun, ended] = [Date.parse(startedAt), Date.parse(endedAt)];
      end.set({ ...targetOfName(name) }, ended / 1000);
      duration.set({ ...targetOfName(name) }, (ended - begun) / 1000);
    }
    for (const { counts, ...labels } of targets)
      for (const [state, count] of Object.entries(counts)) items.set({ ...labels, state }, count);
  }

  async #collectQueues(): Promise<void> {
    const { queues, pauses, config } = this.#runtime;
    const portals = Object.keys(config.portals);
    const [depths] = await Promise.all([
      queueDepths(queues, portals),
      ...portals.map(async (portal) =>
        this.#gauges.sluice_portal_paused.set({ portal }, (await pauses.state(portal)) ? 1 : 0),
      ),
    ]);
    const now = Date.now();
    for (const { queue, jobs, oldest } of depths) {
      for (const [state, count] of Object.entries(jobs)) this.#gauges.sluice_queue_jobs.set({ queue, state }, count);
      const age = Math.max(0, now - (oldest ?? now)) / 1000;
      this.#gauges.sluice_queue_oldest_job_age_seconds.set({ queue }, age);
    }
  }
}
