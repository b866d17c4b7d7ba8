import { describe, expect, it } from 'vitest';
import { firesBy, nextDue, type Schedule } from '../../src/model/schedule-times.ts';
import { cases, sampled } from '../support/extent.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const years = cases([2011, 2018, 2026, 2027], [2026]);
const step = cases(15, 30);

/** The clock on the wall as if it were UTC, told by another formatter than the one under test. */
const wallClock = (zone: string): ((at: number) => number) => {
  const format = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? Number.NaN;
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  };
};

interface Change {
  zone: string;
  /** The first moment on the new clock. */
  at: number;
  /** What the clock is put forward by, milliseconds. */
  byMs: number;
}

/** All changes of the clock of a zone in a year, to the minute. */
const changesOf = (zone: string, year: number): Change[] => {
  const wall = wallClock(zone);
  const ahead = (at: number): number => wall(at) - at;
  const changes: Change[] = [];
  for (let from = Date.UTC(year, 0, 1); from < Date.UTC(year + 1, 0, 1); from += 7 * day) {
    let [before, at] = [from, from + 7 * day];
    if (ahead(before) === ahead(at)) continue;
    while (at - before > minute) {
      const middle = before + Math.floor((at - before) / minute / 2) * minute;
      if (ahead(middle) === ahead(before)) before = middle;
      else at = middle;
    }
    changes.push({ zone, at, byMs: ahead(at) - ahead(before) });
  }
  return changes;
};

/** One zone for each change that several have alike, and every zone in the long suite. */
const changes = ((): Change[] => {
  const all = Intl.supportedValuesOf('timeZone').flatMap((zone) => years.flatMap((year) => changesOf(zone, year)));
  const kinds = new Map(all.map((change) => [`${change.at} ${change.byMs}`, change]));
  return cases(all, sampled([...kinds.values()], 2));
})();

/** When a time of the day comes on each day around a change: the first moment that shows it, or as much later as is skipped. */
const expectedTimes = ({ zone, at, byMs }: Change, minuteOfDay: number): number[] => {
  const wall = wallClock(zone);
  const offset = wall(at) - at;
  const times: number[] = [];
  const first = Math.floor((at + offset) / day) * day - 2 * day;
  for (let date = first; date <= first + 4 * day; date += day) {
    const shown = date + minuteOfDay * minute;
    const [before, after] = [shown - (offset - byMs), shown - offset];
    // Either clock may show it; the skipped time is one that neither shows, and the old clock then tells how much later.
    times.push([before, after].filter((time) => wall(time) === shown).sort((a, b) => a - b)[0] ?? before);
  }
  return [...new Set(times)].sort((a, b) => a - b);
};

const written = (times: number[]): string[] => times.map((time) => new Date(time).toISOString());

const following = (schedule: Pick<Schedule, 'cron' | 'timezone'>, from: number, until: number): number[] => {
  const times: number[] = [];
  for (let at = nextDue(schedule, from); at <= until; at = nextDue(schedule, at)) times.push(at);
  return times;
};

describe(`a daily schedule, at the ${changes.length} changes of clocks of ${years}`, () => {
  it('runs once on each day, at its time or as much later as the clock skips', () => {
    for (const change of changes) {
      const wall = wallClock(change.zone);
      const changed = Math.floor((((wall(change.at) % day) + day) % day) / minute);
      for (let from = -150; from < 150; from += step) {
        const minuteOfDay = (changed + from + 1440) % 1440;
        const expected = expectedTimes(change, minuteOfDay);
        const schedule = { cron: `${minuteOfDay % 60} ${Math.floor(minuteOfDay / 60)} * * *`, timezone: change.zone };
        const found = following(schedule, (expected[0] ?? 0) - 1, expected.at(-1) ?? 0);
        expect(written(found), `${schedule.cron} ${change.zone}`).toEqual(written(expected));
      }
    }
  }, 1_200_000);

  it('is overdue only after the time that it really has', () => {
    for (const { zone, at } of changes) {
      const schedule: Schedule = { cron: '30 0 * * *', timezone: zone, jitterMs: 0, window: null, catchUp: 'once' };
      for (const due of following(schedule, at - 2 * day, at + 2 * day)) {
        const by = firesBy(schedule, { now: due, slackMs: 0 });
        expect(by - nextDue(schedule, due), zone).toBe(15 * minute);
      }
    }
  });
});

describe('a schedule of every hour', () => {
  it('pauses for an hour at most while clocks change', () => {
    for (const { zone, at, byMs } of changes.filter(({ byMs }) => Math.abs(byMs) === hour)) {
      const times = following({ cron: '*/20 * * * *', timezone: zone }, at - 3 * hour, at + 3 * hour);
      const steps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
      expect([...new Set(steps)], `${zone} ${byMs}`).toEqual([20 * minute]);
    }
  });
});
