// What people and monitors learn of runs: heartbeats, notices of faults and recoveries, and what is no longer overdue.
import type { Heartbeat } from '../config/notify-schema.ts';
import type { RunRequest, TriggerData } from '../model/job.ts';
import { targetName } from '../model/redis-keys.ts';
import { isSuccess, type StoredReport } from '../model/report.ts';
import { firesBy } from '../model/schedule-times.ts';
import type { Post } from '../notify/channels.ts';
import { heartbeatsOf } from '../notify/heartbeats.ts';
import type { ManifestFacts } from '../notify/notifier.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { isDropManifest } from '../sources/manifest/schema.ts';
import { expectedOf, newsIn } from '../state/deadlines.ts';
import { plainWriter } from '../state/redis/fields.ts';
import { lastSuccesses, lastTriggers, type TriggerRecord } from '../state/targets.ts';
import type { Connections } from './connections.ts';

export const runNoticesOf = (
  { redis, keys, deadlines, notifier, fetcher, config, log }: Connections,
  onRunClosed: (report: StoredReport) => void,
) => {
  const heartbeats = heartbeatsOf(log);
  const { write } = plainWriter(redis);
  const post: Post = (url, posting) => fetcher.post(url, posting);

  /** The monitor of the manifest takes precedence over the configured one. */
  const beat = async (heartbeat: Heartbeat, request: RunRequest, text: string): Promise<void> => {
    const manifest = await loadManifest(request.manifestPath).catch(() => null);
    const own = manifest?.notify?.heartbeat;
    const call = { heartbeat, target: targetName(request), text };
    if (own) heartbeats.call({ ...call, urls: own, post });
    else if (config.notify.heartbeat) heartbeats.call({ ...call, urls: config.notify.heartbeat });
  };

  /** Only for runs of everything: one of some items proves nothing about the others. */
  const wholeClosed = async (report: StoredReport, request: RunRequest): Promise<void> => {
    const heartbeat = isSuccess(report) ? 'ok' : 'fail';
    await beat(heartbeat, request, `run ${report.runId}: ${JSON.stringify(report.counts)}`);
    if (heartbeat === 'fail') return;
    await deadlines.happened([expectedOf.success(report)], Date.now());
    await write([lastSuccesses.write(keys, report, Date.parse(report.endedAt))]);
  };

  return {
    /** A run begins; waits for nothing and never fails. */
    started: (request: RunRequest & { runId: string }): void => {
      if (isOfWhole(request)) void beat('start', request, `run ${request.runId} begins`);
    },
    /** A run has its report. A fault here must not keep it from closing. */
    closed: async (report: StoredReport, request: RunRequest): Promise<void> => {
      const facts = async (): Promise<ManifestFacts> => {
        const manifest = await loadManifest(request.manifestPath).catch(() => null); // its faults are the report's reason
        const isLimited = request.only !== null || request.plan !== null || request.remove !== null;
        const isWhole = manifest !== null && !isDropManifest(manifest) && !isLimited;
        return { notify: manifest?.notify ?? { email: null, webhook: null }, isWhole };
      };
      try {
        onRunClosed(report);
        await deadlines.happened(newsIn(report), Date.now());
        if (isOfWhole(request)) await wholeClosed(report, request);
        await notifier.runClosed(report, facts);
      } catch (error) {
        log.error({ runId: report.runId, err: error }, 'the notice of a run could not be made');
      }
    },
    triggered: async (data: TriggerData, record: TriggerRecord): Promise<void> => {
      await write([lastTriggers.write(keys, data, record)]);
      if (data.schedule === null) return;
      const waits = record.did === 'wait' ? { until: record.until } : {};
      const at = firesBy(data.schedule, { now: Date.now(), ...waits, slackMs: config.watch.everyMs });
      await deadlines.keepPromise({ member: expectedOf.schedule(data), at });
    },
    close: (): Promise<void> => heartbeats.close(),
  };
};

const isOfWhole = ({ only, remove, decision }: RunRequest): boolean =>
  only === null && remove === null && decision === undefined;
