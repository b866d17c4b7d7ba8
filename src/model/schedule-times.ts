// Times of schedules: pure arithmetic on cron, time zone, window and jitter. All times are Unix milliseconds.
import { hash } from 'node:crypto';
import { CronExpressionParser } from 'cron-parser';
import { z } from 'zod';
import { catchUpPolicies } from './policy.ts';

const dayMs = 24 * 60 * 60 * 1000;
const minuteOfDay = z.int().min(0).max(1439);

export const scheduleSchema = z.object({
  /** Cron pattern with 5 fields, or 6 with seconds first. */
  cron: z.string(),
  timezone: z.string(),
  /** Runs begin by up to so much later, milliseconds; a target has the same delay for the same time, whoever computes it. */
  jitterMs: z.int().nonnegative(),
  /** Minutes of the local day between which runs begin, from `from` on and before `to`, over midnight when `to` is less. */
  window: z.object({ from: minuteOfDay, to: minuteOfDay }).nullable(),
  catchUp: z.enum(catchUpPolicies),
});

export type Schedule = z.infer<typeof scheduleSchema>;

/** A run that begins later than this after its time (milliseconds) was missed. */
export const missedAfterMs = 60_000;

type Decision = { do: 'run' } | { do: 'wait'; until: number; why: string } | { do: 'skip'; why: string };

interface Due {
  target: string;
  /** When the run was due; of one that waited, when its waiting ended. */
  due: number;
  now: number;
  /** True for a run that has waited for its window or its jitter already. */
  waited: boolean;
}

/** Decides about a run that is due; `null` stands for a run without rules, which begins. */
export const decide = (schedule: Schedule | null, { target, due, now, waited }: Due): Decision => {
  if (schedule === null) return { do: 'run' };
  const missed = now - due > missedAfterMs;
  if (missed && schedule.catchUp === 'skip') {
    return { do: 'skip', why: `it was due at ${new Date(due).toISOString()}, and \`catchUp\` is \`skip\`` };
  }
  if (waited && isOpen(schedule, now)) return { do: 'run' };
  const start = startOf(schedule, missed || waited ? now : due, target);
  if (start <= now) return { do: 'run' };
  return { do: 'wait', until: start, why: isOpen(schedule, now) ? 'by its jitter' : 'for its window' };
};

/**
 * The next time after `after` that a checked pattern names, without window and jitter; the engine asks here, too. Patterns
 * are about the clock on the wall: a time that a change of clocks skips comes as much later as it skips, and one that
 * occurs twice counts once, unless the pattern names every hour.
 */
export const nextDue = ({ cron, timezone }: Pick<Schedule, 'cron' | 'timezone'>, after: number): number => {
  const around = (at: number): [before: number, later: number] => [
    offsetAt(timezone, at - dayMs),
    offsetAt(timezone, at + dayMs),
  ];
  const here = offsetAt(timezone, after);
  // Next to a change, what comes later may be earlier on the wall.
  const from = after + Math.min(here, ...around(after));
  const walls = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(from) });
  const isHourly = walls.fields.hour.values.length === 24;
  let next = Number.POSITIVE_INFINITY;
  for (;;) {
    const wall = walls.next().getTime();
    const offsets = around(wall);
    if (wall - Math.max(...offsets) >= next) return next;
    const real = offsets.map((offset) => wall - offset).filter((at) => at + offsetAt(timezone, at) === wall);
    const times = real.length === 0 ? [wall - offsets[0]] : isHourly ? real : real.slice(0, 1);
    next = Math.min(next, ...times.filter((at) => at > after));
  }
};

/** When a run begins that is due at `due`: in the window, then later by the jitter, which never leads out of the window. */
export const startOf = (schedule: Schedule, due: number, target: string): number => {
  const base = opensAt(schedule, due);
  const { window, timezone } = schedule;
  const closes = window === null ? null : nextDue({ cron: daily(window.to), timezone }, base);
  const room = closes === null ? schedule.jitterMs : Math.min(schedule.jitterMs, closes - base);
  // 0 to 1, spread evenly over targets and times, always the same for the same ones.
  return base + Math.floor((hash('sha256', `${target} ${base}`, 'buffer').readUInt32BE(0) / 2 ** 32) * room);
};

/** How late a schedule may fire before it is overdue: a share of its period, and at most so many milliseconds. */
const [latePart, latestMs] = [0.5, 15 * 60_000];

/** By when a schedule must fire again after `now`, or `until` where it waits for that; `slackMs` later is in time. */
export const firesBy = (
  schedule: Schedule,
  { now, until, slackMs }: { now: number; until?: number; slackMs: number },
): number => {
  const next = nextDue(schedule, now);
  const period = nextDue(schedule, next) - next;
  return Math.min(next, until ?? next) + Math.max(slackMs, Math.min(latePart * period, latestMs));
};

/** When the next run begins; `due` as the scheduler knows it, `waitsUntil` of one that waits for window or jitter. */
export const nextStart = (
  schedule: Schedule,
  target: string,
  kept: { due?: number; waitsUntil?: number | null },
  now: number,
): number => {
  const { due = nextDue(schedule, now), waitsUntil = null } = kept;
  const isMissed = (at: number): boolean => now - at > missedAfterMs;
  const waits = waitsUntil === null || isMissed(waitsUntil) ? Number.POSITIVE_INFINITY : waitsUntil;
  const missed = isMissed(due) || (waitsUntil !== null && isMissed(waitsUntil));
  // A missed run is made up for as soon as a service runs, or is skipped.
  if (missed && schedule.catchUp === 'once') return Math.min(startOf(schedule, now, target), waits);
  return Math.min(startOf(schedule, isMissed(due) ? nextDue(schedule, now) : due, target), waits);
};

export const isOpen = ({ window, timezone }: Schedule, at: number): boolean => {
  if (window === null) return true;
  const minute = Math.floor(((at + offsetAt(timezone, at)) % dayMs) / 60_000);
  const { from, to } = window;
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
};

/** `at` itself in the window, else its next beginning; where a clock change skips the window, that of the next day. */
const opensAt = (schedule: Schedule, at: number): number => {
  let opens = at;
  while (schedule.window !== null && !isOpen(schedule, opens)) {
    opens = nextDue({ cron: daily(schedule.window.from), timezone: schedule.timezone }, opens);
  }
  return opens;
};

const daily = (minute: number): string => `${minute % 60} ${Math.floor(minute / 60)} * * *`;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** How far the clock of a zone is ahead of UTC, milliseconds. */
const offsetAt = (timezone: string, at: number): number => {
  // Swedish writes dates as ISO 8601 does.
  const clock =
    clocks.get(timezone) ??
    new Intl.DateTimeFormat('sv', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' });
  clocks.set(timezone, clock);
  return Date.parse(`${clock.format(at)}Z`) - Math.floor(at / 1000) * 1000;
};
