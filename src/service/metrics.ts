// Metrics for Prometheus: read from counters and indices when they are requested, never a label for each key.
import { Gauge, Histogram, Registry } from 'prom-client';
import { targetOfName } from '../model/redis-keys.ts';
import { queueDepths } from '../queue/queues.ts';
import { lastRuns, lastSuccesses } from '../state/targets.ts';
import { packageVersion } from '../util/installation.ts';
import type { Overview } from './overview.ts';
import type { Runtime } from './runtime.ts';

type Sample = [labels: Record<string, string>, value: number];

export const gauges = {
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

/** Seconds. */
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** The metrics of a service; requests to portals are those of this process, everything else is of all workers. */
export const metricsOf = (runtime: Runtime, overview: Overview) => {
  const registry = new Registry();
  const registers = [registry];
  for (const [name, [help, ...labelNames]] of Object.entries(gauges)) new Gauge({ name, help, labelNames, registers });
  const help = 'Duration of requests to portals.';
  const name = 'sluice_request_duration_seconds';
  const labelNames = ['portal', 'kind'] as const;
  const requests = new Histogram({ name, help, labelNames, buckets, registers });
  runtime.observeRequests((portal, kind, ms) => requests.observe({ portal, kind }, ms / 1000));
  const text = async (): Promise<string> => {
    for (const [name, samples] of Object.entries(await samplesOf(runtime, overview))) {
      const gauge = registry.getSingleMetric(name) as Gauge; // made above
      gauge.reset(); // targets come and go
      for (const [labels, value] of samples) gauge.set(labels, value);
    }
    return registry.metrics();
  };
  return { contentType: registry.contentType, text };
};

const samplesOf = async (runtime: Runtime, overview: Overview): Promise<Record<keyof typeof gauges, Sample[]>> => {
  const { redis, keys, deadlines, queues, pauses, config } = runtime;
  const portals = Object.keys(config.portals);
  const now = Date.now();
  const [workers, overdue, last, successes, targets, depths, paused] = await Promise.all([
    runtime.liveWorkers(),
    deadlines.countLate(now),
    lastRuns.all(redis, keys),
    lastSuccesses.all(redis, keys),
    overview.counts(),
    queueDepths(queues, portals),
    Promise.all(portals.map(async (portal): Promise<Sample> => [{ portal }, (await pauses.state(portal)) ? 1 : 0])),
  ]);
  const runs = [...last].map(([name, { startedAt, endedAt }]) => {
    const [begun, ended] = [Date.parse(startedAt), Date.parse(endedAt)];
    return { labels: targetOfName(name), endedS: ended / 1000, tookS: (ended - begun) / 1000 };
  });
  return {
    sluice_build_info: [[{ version: packageVersion() }, 1]],
    sluice_workers: [[{}, workers.length]],
    sluice_overdue: [[{}, overdue]],
    sluice_items: targets.flatMap(({ counts, ...labels }) =>
      Object.entries(counts).map(([state, count]): Sample => [{ ...labels, state }, count]),
    ),
    sluice_run_last_success_timestamp_seconds: [...successes].map(([name, at]) => [targetOfName(name), at / 1000]),
    sluice_run_last_end_timestamp_seconds: runs.map(({ labels, endedS }) => [labels, endedS]),
    sluice_run_duration_seconds: runs.map(({ labels, tookS }) => [labels, tookS]),
    sluice_portal_paused: paused,
    sluice_queue_jobs: depths.flatMap(({ queue, jobs }) =>
      Object.entries(jobs).map(([state, count]): Sample => [{ queue, state }, count]),
    ),
    sluice_queue_oldest_job_age_seconds: depths.map(({ queue, oldest }) => [
      { queue },
      Math.max(0, now - (oldest ?? now)) / 1000,
    ]),
  };
};
