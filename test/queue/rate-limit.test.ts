// The pace of requests to a portal, by a clock that the tests move.
import { beforeEach, describe, expect, it } from 'vitest';
import { paceIn } from '../../src/queue/rate-limit.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = openTestRedis();
const signal = new AbortController().signal;
const key = 'bucket';

let now = 0;
beforeEach(async () => {
  now = 1_700_000_000_000;
  await redis.flushdb();
});

type Pace = ReturnType<typeof paceIn>;

const paceOf = (most: number | null): Pace =>
  paceIn(
    redis,
    key,
    () => most,
    () => now,
  );

/** Milliseconds to wait that each of so many requests is told. */
const booked = async (pace: Pace, requests: number): Promise<number[]> => {
  const waits: number[] = [];
  for (let each = 0; each < requests; each++) waits.push(await pace.book());
  return waits;
};

/** Requests per second in force: a full bucket is emptied, and the next two requests are a slot apart. */
const rateOf = async (pace: Pace): Promise<number> => {
  now += 10_000;
  let [before, last] = [0, 0];
  while (before === 0) [before, last] = [last, await pace.book()];
  now += last;
  return 1000 / (last - before);
};

/** Sends requests for some seconds as fast as the pace allows; each is answered after `ms`. */
const ask = async (pace: Pace, seconds: number, answer: { ms: number; status?: number | null; isRead?: boolean }) => {
  const { ms, status = 200, isRead = true } = answer;
  const sent = { requests: 0 };
  for (const end = now + seconds * 1000; now < end; sent.requests++) {
    now += await pace.book();
    await pace.answered(isRead, ms, status);
  }
  return sent.requests;
};

describe('a fixed part of the pace', () => {
  it('lets a burst through and books the rest one after the other, over all who take from it', async () => {
    const [one, two] = [
      paceOf(20),
      paceIn(
        redis,
        key,
        () => 20,
        () => now,
      ),
    ];
    await redis.hset(key, 'rate', 20);
    expect(await booked(one, 19)).toEqual(Array.from({ length: 19 }, () => 0));
    expect(await booked(two, 3)).toEqual([0, 50, 100]);
    expect(await booked(one, 1)).toEqual([150]);
    now += 200;
    expect(await booked(two, 2)).toEqual([0, 50]);
  });

  it('does not wait without a limit, and gives up when told to', async () => {
    await paceOf(0).take(signal);
    expect(await redis.exists(key)).toBe(0);
    const slow = paceOf(0.01);
    await slow.take(signal);
    await expect(slow.take(AbortSignal.timeout(50))).rejects.toThrow();
  });
});

describe('the pace that a portal takes', () => {
  it('begins at ten requests a second and rises within seconds while the portal answers as quickly', async () => {
    const pace = paceOf(null);
    expect(await booked(pace, 11)).toEqual([...Array.from({ length: 10 }, () => 0), 100]);
    const first = await ask(pace, 5, { ms: 200 });
    expect(first).toBeGreaterThan(75);
    expect(await ask(pace, 2, { ms: 200 })).toBeGreaterThan(first * 2);
  });

  it('does not rise while no request waits for it', async () => {
    const pace = paceOf(null);
    for (let each = 0; each < 100; each++) {
      now += 200;
      expect(await pace.book()).toBe(0);
      await pace.answered(true, 200, 200);
    }
    expect(await rateOf(pace)).toBeCloseTo(10, 3);
  });

  it('never exceeds what is configured', async () => {
    for (const most of [0.5, 3, 25]) {
      await redis.flushdb();
      const pace = paceOf(most);
      await ask(pace, 60, { ms: 200 });
      expect(await ask(pace, 20, { ms: 200 })).toBeLessThanOrEqual(most * 20 + 1);
    }
  });

  it.each([429, 502, 503, 504, null])('halves at answer %s, once a second, down to one a second', async (status) => {
    const pace = paceOf(null);
    await ask(pace, 4, { ms: 200 });
    const before = await rateOf(pace);
    // What was under way at the former rate fails as well.
    for (let each = 0; each < 4; each++) await pace.answered(false, 5, status);
    expect(await rateOf(pace)).toBeCloseTo(before / 2, 3);
    for (let each = 0; each < 20; each++) {
      now += 1000;
      await pace.answered(false, 5, status);
    }
    expect(await rateOf(pace)).toBeCloseTo(1, 3);
  });

  it('rises by about one a second after it was lowered', async () => {
    const pace = paceOf(null);
    await ask(pace, 3, { ms: 200 });
    await pace.answered(true, 5, 429);
    const lowered = await rateOf(pace);
    await ask(pace, 10, { ms: 200 });
    expect((await rateOf(pace)) - lowered).toBeGreaterThan(7);
    expect((await rateOf(pace)) - lowered).toBeLessThan(13);
  });

  it('falls to where it began when reads slow down, and no further', async () => {
    const pace = paceOf(null);
    await ask(pace, 2, { ms: 200 });
    await ask(pace, 20, { ms: 900 });
    expect(await rateOf(pace)).toBeCloseTo(10, 0);
  });

  it('takes the refusals of single writes, and how long writes take, for no reason to slow down', async () => {
    const pace = paceOf(null);
    await ask(pace, 3, { ms: 200 });
    const before = await rateOf(pace);
    for (const status of [200, 403, 404, 406, 500]) await pace.answered(false, 30_000, status);
    for (const status of [403, 404, 500]) await pace.answered(true, 30_000, status);
    expect(await rateOf(pace)).toBeCloseTo(before, 3);
  });

  it('is found anew after a minute without requests', async () => {
    const pace = paceOf(null);
    await pace.book();
    expect(await redis.pttl(key)).toBeGreaterThan(50_000);
    expect(await redis.pttl(key)).toBeLessThanOrEqual(60_000);
  });
});
