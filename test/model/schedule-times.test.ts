import { describe, expect, it } from 'vitest';
import { decide, isOpen, nextDue, type Schedule, startOf } from '../../src/model/schedule-times.ts';

const at = (text: string): number => Date.parse(text);
const iso = (ms: number): string => new Date(ms).toISOString();

const schedule = (more: Partial<Schedule> = {}): Schedule => ({
  cron: '15 3 * * *',
  timezone: 'Europe/Berlin',
  jitterMs: 0,
  window: null,
  catchUp: 'once',
  ...more,
});
const night = { from: 22 * 60, to: 6 * 60 };
const minute = 60_000;

describe('the next time of a pattern', () => {
  it('is in the time zone of the schedule, summer and winter', () => {
    expect(iso(nextDue(schedule(), at('2026-01-10T12:00:00Z')))).toBe('2026-01-11T02:15:00.000Z');
    expect(iso(nextDue(schedule(), at('2026-07-10T12:00:00Z')))).toBe('2026-07-11T01:15:00.000Z');
  });

  it('comes once in the night in which the clock is put forward over it', () => {
    const due = nextDue(schedule({ cron: '30 2 * * *' }), at('2026-03-28T12:00:00Z'));
    expect(iso(due)).toBe('2026-03-29T01:30:00.000Z'); // 3:30, because there is no 2:30
    expect(iso(nextDue(schedule({ cron: '30 2 * * *' }), due))).toBe('2026-03-30T00:30:00.000Z');
  });

  it('comes once in the night in which the clock is put back over it', () => {
    const due = nextDue(schedule({ cron: '30 2 * * *' }), at('2026-10-24T12:00:00Z'));
    expect(iso(due)).toBe('2026-10-25T00:30:00.000Z'); // the first 2:30
    expect(iso(nextDue(schedule({ cron: '30 2 * * *' }), due))).toBe('2026-10-26T01:30:00.000Z');
  });

  it.each([
    ['30 0 * * *', 'Africa/Cairo', '2026-04-23', ['2026-04-22T22:30Z', '2026-04-23T22:30Z', '2026-04-24T21:30Z']],
    ['30 0 * * *', 'Asia/Beirut', '2026-03-28', ['2026-03-27T22:30Z', '2026-03-28T22:30Z', '2026-03-29T21:30Z']],
    ['30 0 * * *', 'America/Sao_Paulo', '2018-11-03', ['2018-11-03T03:30Z', '2018-11-04T03:30Z', '2018-11-05T02:30Z']],
    [
      '10 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03',
      ['2026-10-02T15:40Z', '2026-10-03T15:40Z', '2026-10-04T15:10Z'],
    ],
    [
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04',
      ['2026-04-03T14:45Z', '2026-04-04T14:45Z', '2026-04-05T15:15Z'],
    ],
    ['0 12 * * *', 'Pacific/Apia', '2011-12-30', ['2011-12-29T22:00Z', '2011-12-30T22:00Z', '2011-12-31T22:00Z']],
  ])('comes on each day: %s in %s', (cron, timezone, day, times) => {
    const found: number[] = [];
    while (found.length < times.length)
      found.push(nextDue({ cron, timezone }, found.at(-1) ?? at(`${day}T00:00Z`) - 43_200_000));
    expect(found).toEqual(times.map(at));
  });

  it('tells of times that are put together where the clock is put forward over one of them', () => {
    const twice = { cron: '10,30 2,3 * * *', timezone: 'Europe/Berlin' };
    const times = [nextDue(twice, at('2026-03-28T12:00Z'))];
    while (times.length < 3) times.push(nextDue(twice, times.at(-1) ?? 0));
    expect(times.map(iso)).toEqual([
      '2026-03-29T01:10:00.000Z',
      '2026-03-29T01:30:00.000Z',
      '2026-03-30T00:10:00.000Z',
    ]);
  });

  it('continues every quarter of an hour through both nights', () => {
    for (const day of ['2026-03-28', '2026-10-24']) {
      const times: number[] = [at(`${day}T22:00:00Z`)];
      while (times.length < 30) times.push(nextDue(schedule({ cron: '*/15 * * * *' }), times.at(-1) ?? 0));
      const steps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
      expect(new Set(steps)).toEqual(new Set([15 * minute]));
    }
  });
});

describe('a window', () => {
  it('is open from its first minute until before its last, over midnight', () => {
    const open = (text: string): boolean => isOpen(schedule({ window: night }), at(text));
    expect(
      ['2026-01-10T20:59:59Z', '2026-01-10T21:00:00Z', '2026-01-11T04:59:59Z', '2026-01-11T05:00:00Z'].map(open),
    ).toEqual([false, true, true, false]);
  });

  it('may lie within one day', () => {
    const noon = schedule({ timezone: 'UTC', window: { from: 11 * 60, to: 13 * 60 } });
    expect(isOpen(noon, at('2026-01-10T12:30:00Z'))).toBe(true);
    expect(isOpen(noon, at('2026-01-10T13:00:00Z'))).toBe(false);
  });

  it('makes a run that is due outside wait for its beginning, by the local clock', () => {
    const windowed = schedule({ window: night });
    expect(iso(startOf(windowed, at('2026-01-10T12:00:00Z'), 'a@b'))).toBe('2026-01-10T21:00:00.000Z');
    expect(iso(startOf(windowed, at('2026-07-10T12:00:00Z'), 'a@b'))).toBe('2026-07-10T20:00:00.000Z');
    expect(iso(startOf(windowed, at('2026-01-10T23:15:00Z'), 'a@b'))).toBe('2026-01-10T23:15:00.000Z');
  });

  it('that the change of clocks leaves out is that of the next day', () => {
    const gap = schedule({ window: { from: 2 * 60 + 10, to: 2 * 60 + 50 } });
    expect(iso(startOf(gap, at('2026-03-28T12:00:00Z'), 'a@b'))).toBe('2026-03-30T00:10:00.000Z');
  });
});

describe('jitter', () => {
  const jittered = schedule({ jitterMs: 10 * minute });
  const due = at('2026-01-10T02:15:00Z');

  it('is the same for the same target and time, and differs between targets and nights', () => {
    const delay = (target: string, when = due): number => startOf(jittered, when, target) - when;
    const delays = Array.from({ length: 200 }, (_, index) => delay(`m${index}@city`));
    expect(delay('m7@city')).toBe(delays[7]);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThan(10 * minute);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(8 * minute);
    expect(delay('m7@city', due + 24 * 60 * minute)).not.toBe(delays[7]);
  });

  it('never leads out of the window', () => {
    const late = schedule({ jitterMs: 60 * minute, window: night, timezone: 'UTC' });
    const edge = at('2026-01-10T05:55:00Z');
    for (let index = 0; index < 100; index += 1) {
      const start = startOf(late, edge, `m${index}@city`);
      expect(start).toBeGreaterThanOrEqual(edge);
      expect(isOpen(late, start)).toBe(true);
    }
  });
});

describe('the decision about a run that is due', () => {
  const target = 'city@portal';
  const due = at('2026-01-10T02:15:00Z');

  it('lets it begin, also without any rules', () => {
    expect(decide(schedule(), { target, due, now: due + 400, waited: false })).toEqual({ do: 'run' });
    expect(decide(null, { target, due, now: due + 9e9, waited: false })).toEqual({ do: 'run' });
  });

  it('runs a missed one once, or leaves it out, as catchUp says', () => {
    const missed = { target, due, now: due + 5 * 60 * minute, waited: false };
    expect(decide(schedule(), missed)).toEqual({ do: 'run' });
    expect(decide(schedule({ catchUp: 'skip' }), missed)).toMatchObject({
      do: 'skip',
      why: expect.stringContaining('2026-01-10T02:15'),
    });
    expect(decide(schedule({ catchUp: 'skip' }), { ...missed, now: due + 59_000 })).toEqual({ do: 'run' });
  });

  it('lets one wait for its window, also a missed one, and begins it there', () => {
    const windowed = schedule({ window: night });
    const noon = at('2026-01-10T11:00:00Z');
    const opens = at('2026-01-10T21:00:00Z');
    expect(decide(windowed, { target, due: noon, now: noon, waited: false })).toEqual({
      do: 'wait',
      until: opens,
      why: 'for its window',
    });
    expect(decide(windowed, { target, due, now: noon, waited: false })).toMatchObject({ do: 'wait', until: opens });
    expect(decide(windowed, { target, due: opens, now: opens + 5, waited: true })).toEqual({ do: 'run' });
  });

  it('lets one whose window passed while nothing ran wait for the next, or leaves it out', () => {
    const waited = { target, due: at('2026-01-10T21:00:00Z'), now: at('2026-01-11T09:00:00Z'), waited: true };
    expect(decide(schedule({ window: night }), waited)).toMatchObject({
      do: 'wait',
      until: at('2026-01-11T21:00:00Z'),
    });
    expect(decide(schedule({ window: night, catchUp: 'skip' }), waited)).toMatchObject({ do: 'skip' });
  });

  it('lets jitter pass once', () => {
    const jittered = schedule({ jitterMs: 10 * minute });
    const first = decide(jittered, { target, due, now: due, waited: false });
    expect(first).toMatchObject({ do: 'wait', why: 'by its jitter' });
    const until = first.do === 'wait' ? first.until : 0;
    expect(decide(jittered, { target, due: until, now: until + 3, waited: true })).toEqual({ do: 'run' });
  });
});
