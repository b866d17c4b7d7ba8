// Schedules of manifests: the engine's job schedulers, kept in sync with the manifests.
import { jobSchemas, type RunRequest, type TriggerData } from '../model/job.ts';
import { type Target, targetName } from '../model/redis-keys.ts';
import { missedAfterMs, type Schedule, startOf } from '../model/schedule-times.ts';
import { membersOf } from '../state/redis/fields.ts';
import type { Queues } from './queues.ts';

export interface ScheduledTarget {
  request: RunRequest;
  schedule: Schedule;
}

export interface KeptSchedule extends ScheduledTarget {
  /** When the pattern is due next, Unix milliseconds. */
  due: number;
  /** When a run begins that waits for its window or its jitter; null when none waits. */
  waitsUntil: number | null;
}

/** Prefix of the scheduler ids that are ours, and of the jobs of triggers that wait. */
const ours = 'schedule.';

/** Makes the engine's schedulers those of `wanted`, beside targets that are kept. Returns what was changed, one line each. */
export const syncSchedules = async (queues: Queues, wanted: ScheduledTarget[], isKept = (_: string) => false) => {
  const changed: string[] = [];
  const known = new Map((await ourSchedulers(queues)).map((scheduler) => [scheduler.key, scheduler]));
  for (const { request, schedule } of wanted) {
    const id = `${ours}${targetName(request)}`;
    const { cron: pattern, timezone: tz } = schedule;
    const before = known.get(id);
    known.delete(id);
    const data: TriggerData = { kind: 'trigger', ...request, schedule, waited: false };
    const same =
      before?.pattern === pattern && before.tz === tz && JSON.stringify(before.template?.data) === JSON.stringify(data);
    if (same) continue;
    await queues.runs.upsertJobScheduler(id, { pattern, tz }, { name: 'trigger', data, opts: queues.runOptions() });
    await forgetWaiting(queues, id);
    await catchUp(queues, data, before?.next ?? null);
    changed.push(`${before ? 'changed' : 'added'} the schedule of ${targetName(request)}: ${pattern} (${tz})`);
  }
  for (const id of known.keys()) {
    if (isKept(id.slice(ours.length))) continue;
    await queues.runs.removeJobScheduler(id);
    await forgetWaiting(queues, id);
    changed.push(`removed the schedule of ${id.slice(ours.length)}`);
  }
  return changed;
};

/** A schedule that was changed while nothing ran still makes up for what was missed before. */
const catchUp = async (queues: Queues, data: TriggerData, due: number | null): Promise<void> => {
  const now = Date.now();
  if (due === null || now - due <= missedAfterMs || data.schedule?.catchUp !== 'once') return;
  await holdTrigger(queues, data, startOf(data.schedule, now, targetName(data)));
};

/**
 * Lets a trigger come again at `until`, Unix milliseconds, unless its schedule was changed meanwhile. Triggers of a target
 * that wait for the same time become one.
 */
export const holdTrigger = async (queues: Queues, data: TriggerData, until: number): Promise<void> => {
  const scheduler = `${ours}${targetName(data)}`;
  const id = `${scheduler}.${until}`;
  const delay = Math.max(0, until - Date.now());
  await queues.runs.add('trigger', { ...data, waited: true }, { ...queues.runOptions(id), delay });
  // A change before this look is seen by it, and one after it forgets what waits.
  if (rulesOf((await queues.runs.getJobScheduler(scheduler))?.template?.data) === rulesOf(data)) return;
  const held = await queues.runs.getJob(id); // under the rules in force, another one may wait for the same time
  if (rulesOf(held?.data) === rulesOf(data)) await held?.remove();
};

/** What a trigger asks for and when, to be compared. */
const rulesOf = (stored: unknown): string => {
  const { data } = jobSchemas.trigger.safeParse(stored);
  return JSON.stringify(data && { ...data, waited: false, trace: undefined });
};

export const keptSchedules = async (queues: Queues): Promise<Map<string, KeptSchedule>> => {
  const delayed = await namesOf(queues, 'delayed');
  const kept = new Map<string, KeptSchedule>();
  for (const { key, next, template } of await ourSchedulers(queues)) {
    const parsed = jobSchemas.trigger.safeParse(template?.data);
    if (!parsed.success || parsed.data.schedule === null) continue; // of an older release: the service renews it
    const { kind: _kind, waited: _waited, schedule, ...request } = parsed.data;
    const times = waitingTriggers(delayed, key).map((id) => Number(id.slice(key.length + 1)));
    const waitsUntil = times.length === 0 ? null : Math.min(...times);
    kept.set(targetName(request), { request, schedule, due: next ?? 0, waitsUntil });
  }
  return kept;
};

/** Why the schedule of a target does not fire: its entry is gone, the queue is paused, or its trigger is not taken. */
export const whyNotFired = async (queues: Queues, target: Target): Promise<'gone' | 'paused' | 'waits'> => {
  if (!(await queues.runs.getJobScheduler(`${ours}${targetName(target)}`))) return 'gone';
  return (await queues.runs.isPaused()) ? 'paused' : 'waits';
};

const ourSchedulers = async (queues: Queues) => {
  const names = await namesOf(queues, 'repeat');
  const schedulers = await Promise.all(names.map((name) => queues.runs.getJobScheduler(name)));
  return schedulers.filter((scheduler) => scheduler !== undefined);
};

/** Of delayed jobs, the triggers of a scheduler that wait: its id, and after a dot when they begin, Unix milliseconds. */
const waitingTriggers = (delayed: string[], schedulerId: string): string[] =>
  delayed.filter((id) => id.startsWith(schedulerId) && /^\.\d+$/.test(id.slice(schedulerId.length)));

const namesOf = async ({ connection, runs }: Queues, set: 'repeat' | 'delayed'): Promise<string[]> => [
  ...new Set(await Array.fromAsync(membersOf(connection, runs.toKey(set), `${ours}*`))),
];

/** Removes the triggers that wait under rules that are gone. */
const forgetWaiting = async (queues: Queues, schedulerId: string): Promise<void> => {
  for (const id of waitingTriggers(await namesOf(queues, 'delayed'), schedulerId)) await queues.runs.remove(id);
};
