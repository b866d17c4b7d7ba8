// Slots for requests: never more at once than there are, in order, and none is lost to those that give up.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Slots } from '../../src/portal-client/slots.ts';

const never = new AbortController().signal;

it('are never more than there are, and go to whoever has waited longest', async () => {
  const slots = new Slots(2);
  const order: number[] = [];
  let [now, most] = [0, 0];
  const work = async (n: number): Promise<void> => {
    await slots.take(never);
    order.push(n);
    now += 1;
    most = Math.max(most, now);
    await sleep(5);
    now -= 1;
    slots.give();
  };
  await Promise.all([0, 1, 2, 3, 4, 5].map(work));
  expect({ order, most }).toEqual({ order: [0, 1, 2, 3, 4, 5], most: 2 });
});

it('are left to the others by one who gives up, before and while it waits', async () => {
  const slots = new Slots(1);
  await expect(slots.take(AbortSignal.abort(new Error('no more')))).rejects.toThrow('no more');
  await slots.take(never);
  const stop = new AbortController();
  const impatient = slots.take(stop.signal);
  const patient = slots.take(never);
  stop.abort(new Error('enough'));
  await expect(impatient).rejects.toThrow('enough');
  slots.give();
  await patient;
  slots.give();
  await slots.take(never);
});

it('stay with one who was given its slot before it gave up', async () => {
  const slots = new Slots(1);
  await slots.take(never);
  const stop = new AbortController();
  const second = slots.take(stop.signal);
  slots.give();
  stop.abort(new Error('too late'));
  await second;
  const third = slots.take(never);
  slots.give();
  await third;
});
