// Schedules of manifests: the engine's job schedulers, kept in step with what the manifests say.
import type { RunRequest, TriggerData } from '../job.ts';
import { targetName } from '../ledger/keys.ts';
import type { Queues } from './queues.ts';

/** A manifest that runs by the clock. */
export interface Schedule {
  request: RunRequest;
  /** Cron pattern with 5 fields, or 6 with seconds. */
  cron: string;
  /** IANA time zone; UTC when absent. */
  timezone: string | undefined;
}

/** Prefix of the scheduler ids that are ours. */
const ours = 'schedule.';

/** Makes the engine's schedulers equal to `wanted`: adds, changes, removes. Returns what was changed, one line each. */
export const syncSchedules = async (queues: Queues, wanted: Schedule[]): Promise<string[]> => {
  const changed: string[] = [];
  const known = new Map(
    (await queues.runs.getJobSchedulers(0, -1)).flatMap((scheduler) =>
      scheduler.key.startsWith(ours) ? [[scheduler.key, scheduler] as const] : [],
    ),
  );
  for (const { request, cron, timezone } of wanted) {
    const id = `${ours}${targetName(request)}`;
    const tz = timezone ?? 'UTC';
    const before = known.get(id);
    known.delete(id);
    const data: TriggerData = { kind: 'trigger', ...request };
    const same =
      before?.pattern === cron && before.tz === tz && JSON.stringify(before.template?.data) === JSON.stringify(data);
    if (same) continue;
    const { jobId: _none, ...opts } = queues.runOptions(undefined);
    await queues.runs.upsertJobScheduler(id, { pattern: cron, tz }, { name: 'trigger', data, opts });
    changed.push(`${before ? 'changed' : 'added'} the schedule of ${targetName(request)}: ${cron} (${tz})`);
  }
  for (const id of known.keys()) {
    await queues.runs.removeJobScheduler(id);
    changed.push(`removed the schedule of ${id.slice(ours.length)}`);
  }
  return changed;
};
