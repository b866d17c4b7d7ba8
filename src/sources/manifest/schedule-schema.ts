// `schedule:` of a manifest: a cron pattern alone, or a mapping with all that is to be said.
import { CronExpressionParser } from 'cron-parser';
import { z } from 'zod';
import { errorMessage } from '../../model/errors.ts';
import { catchUpPolicies } from '../../model/policy.ts';
import type { Schedule } from '../../model/schedule-times.ts';
import { keysOf, needed, text } from '../../model/schema-parts.ts';
import { durationMs, durationText } from '../../util/quantity.ts';

/** What is wrong with a cron expression of 5 fields (or 6, seconds first); null when it is sound and has a next time. */
export const cronFault = (expression: string): string | null => {
  const fields = expression.trim().split(/\s+/).length;
  if (fields !== 5 && fields !== 6)
    return `must have 5 fields (minute hour day month weekday), or 6 with seconds first; this has ${fields}`;
  try {
    CronExpressionParser.parse(expression, { tz: 'UTC' }).next();
    return null;
  } catch (error) {
    return `is not a cron expression: ${errorMessage(error)}`;
  }
};

export const timezoneFault = (name: string): string | null => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return null;
  } catch {
    return 'is not a known time zone; use an IANA name such as `Europe/Berlin` or `UTC`';
  }
};

const windowPattern = /^([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-3]):([0-5]\d)$/;
const windowRule = 'must be two times of a day such as `22:00-06:00`';

const longForm = z.strictObject({
  cron: needed(text, 'When to run: cron with 5 fields, or 6 with seconds first.', '15 3 * * *'),
  ...keysOf(
    {
      timezone: [text, 'Time zone of pattern and window.', 'Europe/Berlin'],
      jitter: [durationText, 'Start up to this much later, so that manifests do not all start at once.', '10m'],
      window: [
        z.string({ error: windowRule }).regex(windowPattern, { error: windowRule }),
        'When runs may start; others wait for it.',
        '22:00-06:00',
      ],
      catchUp: [
        z.enum(catchUpPolicies),
        'What to do about runs missed while nothing was running: one run at once, or none.',
        'skip',
      ],
    },
    { timezone: 'UTC', jitter: '0s', catchUp: 'once' },
  ),
});

export const scheduleFileSchema = z.union([text, longForm]);

/** Resolves a checked `schedule`; `timezone` is the manifest's own key, which goes with a pattern alone. */
export const resolveSchedule = (file: z.infer<typeof scheduleFileSchema>, timezone = 'UTC'): Schedule => {
  const given: z.infer<typeof longForm> = typeof file === 'string' ? { cron: file, timezone } : file;
  const { cron, timezone: zone = 'UTC', jitter = '0s', window, catchUp = 'once' } = given;
  return { cron, timezone: zone, jitterMs: durationMs(jitter), window: window ? windowOf(window) : null, catchUp };
};

/** `22:00-06:00` as minutes of the day. */
const windowOf = (written: string): Schedule['window'] => {
  const [, fromHour, fromMinute, toHour, toMinute] = (windowPattern.exec(written) ?? []).map(Number);
  return { from: (fromHour ?? 0) * 60 + (fromMinute ?? 0), to: (toHour ?? 0) * 60 + (toMinute ?? 0) };
};
