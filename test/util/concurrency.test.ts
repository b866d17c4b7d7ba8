// Slots for requests: never more at once than there are, in order, and none is lost to those that give up. Shared work:
// whoever waits can stop waiting.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  type AdaptiveSlots,
  abortable,
  adaptiveSlots,
  eachAtOnce,
  repeat,
  Semaphore,
} from '../../src/util/concurrency.ts';

const never = new AbortController().signal;

describe('repeated work', () => {
  it('never overlaps, goes on after a failure, and is over once stopping resolves', async () => {
    let [running, most, turns] = [0, 0, 0];
    const failures: unknown[] = [];
    const { promise: third, resolve } = Promise.withResolvers<void>();
    const stop = repeat(
      1,
      async () => {
        most = Math.max(most, ++running);
        await new Promise((done) => setTimeout(done, 10));
        running -= 1;
        if (++turns === 3) resolve();
        throw new Error(`turn ${turns}`);
      },
      (error) => failures.push(error),
    );
    await third;
    await stop();
    const ended = turns;
    await new Promise((done) => setTimeout(done, 20));
    expect([most, running, turns, failures.length]).toEqual([1, 0, ended, ended]);
  });
});

describe('work on many items', () => {
  it('has its results in the order of the items, and is never on more of them than it may', async () => {
    let [running, most] = [0, 0];
    const work = async (turns: number): Promise<number> => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < turns; turn += 1) await sleep(0);
      running -= 1;
      return turns;
    };
    expect(await eachAtOnce(new Set([9, 1, 5, 2]).values(), 2, work)).toEqual([9, 1, 5, 2]);
    expect([most, await eachAtOnce([], 2, work)]).toEqual([2, []]);
  });

  it('begins no other after a failure, waits for what is in progress, and fails as the first did', async () => {
    const begun: string[] = [];
    const ended: string[] = [];
    const second = Promise.withResolvers<void>();
    const work = async (name: string): Promise<void> => {
      begun.push(name);
      if (name === 'b') {
        await sleep(0);
        second.resolve();
        throw new Error('b failed');
      }
      await second.promise;
      await sleep(5);
      ended.push(name);
      if (name === 'a') throw new Error('a failed later');
    };
    await expect(eachAtOnce(['a', 'b', 'c', 'd', 'e'], 3, work)).rejects.toThrow('b failed');
    expect([begun, ended]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'c'],
    ]);
  });
});

describe('slots', () => {
  it('are never more than there are, and go to whoever has waited longest', async () => {
    const semaphore = new Semaphore(2);
    const order: number[] = [];
    let [now, most] = [0, 0];
    const work = async (n: number): Promise<void> => {
      await semaphore.acquire(never);
      order.push(n);
      now += 1;
      most = Math.max(most, now);
      await sleep(5);
      now -= 1;
      semaphore.release();
    };
    await Promise.all([0, 1, 2, 3, 4, 5].map(work));
    expect({ order, most }).toEqual({ order: [0, 1, 2, 3, 4, 5], most: 2 });
  });

  it('are left to the others by one who gives up, before and while it waits', async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.acquire(AbortSignal.abort(new Error('no more')))).rejects.toThrow('no more');
    await semaphore.acquire(never);
    const stop = new AbortController();
    const impatient = semaphore.acquire(stop.signal);
    const patient = semaphore.acquire(never);
    stop.abort(new Error('enough'));
    await expect(impatient).rejects.toThrow('enough');
    semaphore.release();
    await patient;
    semaphore.release();
    await semaphore.acquire(never);
  });

  it('stay with one who was given its slot before it gave up', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire(never);
    const stop = new AbortController();
    const second = semaphore.acquire(stop.signal);
    semaphore.release();
    stop.abort(new Error('too late'));
    await second;
    const third = semaphore.acquire(never);
    semaphore.release();
    await third;
  });
});

describe('abortable', () => {
  it('gives what the shared promise gives', async () => {
    await expect(abortable(Promise.resolve(1), never)).resolves.toBe(1);
    await expect(abortable(Promise.reject(new Error('failed')), never)).rejects.toThrow('failed');
  });

  it.each([
    ['before', (stop: AbortController) => stop.abort(new Error('no more'))],
    ['while', (stop: AbortController) => setImmediate(() => stop.abort(new Error('no more')))],
  ])("rejects when it is aborted %s it waits; a later failure is nobody's", async (_, abort) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): unknown => unhandled.push(error);
    process.on('unhandledRejection', note);
    const { promise, reject } = Promise.withResolvers<never>();
    const stop = new AbortController();
    abort(stop);
    await expect(abortable(promise, stop.signal)).rejects.toThrow('no more');
    reject(new Error('too late'));
    await sleep(20);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});

describe('slots for work that fails when too much of it overlaps', () => {
  const crowded = new Error('deadlock');
  const isCrowded = (error: unknown): boolean => error === crowded;

  /** Runs so many pieces of work that fail when more than `tolerated` overlap; what failed is repeated. */
  const runAll = async (slots: AdaptiveSlots, pieces: number, tolerated: number) => {
    const seen = { now: 0, most: 0, last: 0, failures: 0 };
    const piece = async (): Promise<void> => {
      seen.now += 1;
      seen.last = seen.now;
      seen.most = Math.max(seen.most, seen.now);
      const isTooMuch = seen.now > tolerated;
      await sleep(1);
      seen.now -= 1;
      if (isTooMuch) throw crowded;
    };
    const untilDone = async (): Promise<void> => {
      while (
        !(await slots.run(piece, isCrowded, never).then(
          () => true,
          () => false,
        ))
      )
        seen.failures += 1;
    };
    await Promise.all(Array.from({ length: pieces }, untilDone));
    return seen;
  };

  it('are all used while nothing fails', async () => {
    expect(await runAll(adaptiveSlots(4), 40, 4)).toMatchObject({ most: 4, failures: 0 });
  });

  it('become as few as succeed, and one more is tried now and then', async () => {
    for (const tolerated of [1, 2, 3]) {
      const { most, failures } = await runAll(adaptiveSlots(8), 300, tolerated);
      expect(most).toBe(8);
      expect(failures).toBeGreaterThan(0);
      expect(failures).toBeLessThan(50);
    }
  });

  it('come back, to as many as there were', async () => {
    const slots = adaptiveSlots(4);
    await runAll(slots, 40, 1);
    expect(await runAll(slots, 400, 4)).toMatchObject({ most: 4, failures: 0 });
  });

  it('are not fewer after another failure, and none is lost to those that give up', async () => {
    const slots = adaptiveSlots(2);
    const fails = () => Promise.reject(new Error('refused'));
    for (let each = 0; each < 20; each++) await expect(slots.run(fails, isCrowded, never)).rejects.toThrow('refused');
    const gone = AbortSignal.abort(new Error('stopped'));
    await expect(slots.run(async () => 1, isCrowded, gone)).rejects.toThrow('stopped');
    expect(await runAll(slots, 20, 2)).toMatchObject({ most: 2, failures: 0 });
  });
});
