// Slots for requests: never more at once than there are, in order, and none is lost to those that give up. Shared work:
// whoever waits can stop waiting.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { abortable, Semaphore } from '../../src/util/concurrency.ts';

const never = new AbortController().signal;

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
