// Slots for requests: never more at once than there are, in order, and none is lost to those that give up.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Semaphore } from '../../src/util/concurrency.ts';

const never = new AbortController().signal;

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
