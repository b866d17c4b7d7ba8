// Limits that several workers agree on, as one of them joins.
import { expect, it } from 'vitest';
import { createLog } from '../../src/model/log.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { type AgreedLimits, type PortalLimits, workerHeartbeat } from '../../src/queue/heartbeat.ts';
import { openTestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

const { redis } = openTestRedis();

const log = createLog({ level: 'silent' });

type Heartbeat = ReturnType<typeof workerHeartbeat>;

/** Limits that a worker put in force when it joined. */
const join = async (limits: PortalLimits): Promise<{ heartbeat: Heartbeat; set: AgreedLimits[] }> => {
  const heartbeat = workerHeartbeat(
    redis,
    redisKeys('t'),
    { role: 'worker', limits: { city: limits }, silence: () => null },
    log,
  );
  const set: AgreedLimits[] = [];
  await heartbeat.start(async (_portal, agreed) => void set.push(agreed));
  return { heartbeat, set };
};

it('a worker that joins with higher limits never puts them in force, not even for a moment', async () => {
  const low = { concurrency: 2, requestsPerSecond: 5 };
  const first = await join(low);
  const second = await join({ concurrency: 8, requestsPerSecond: 0 });
  expect(first.set).toEqual([{ ...low, isShared: false, workers: 1 }]);
  expect(second.set).toEqual([{ ...low, isShared: true, workers: 2 }]);
  expect(second.heartbeat.limits('city')).toEqual({ ...low, isShared: true, workers: 2 });
  await second.heartbeat.stop();
  await first.heartbeat.stop();
});

it('a worker learns whether it has a portal to itself, at once and when that changes', async () => {
  const limits = { concurrency: 2, requestsPerSecond: 0 };
  const first = await join(limits);
  expect(first.set).toEqual([{ ...limits, isShared: false, workers: 1 }]);
  const second = await join(limits);
  expect(second.set).toEqual([{ ...limits, isShared: true, workers: 2 }]);
  await waitUntil('the first to see the second', () => first.heartbeat.limits('city').isShared);
  await second.heartbeat.stop();
  const gone = performance.now();
  await waitUntil('the first to be alone again', () => !first.heartbeat.limits('city').isShared);
  // What the other had sent may still be in progress for a while.
  expect(performance.now() - gone).toBeGreaterThan(2000);
  expect(first.set.map(({ isShared, workers }) => [isShared, workers])).toEqual([
    [false, 1],
    [true, 2],
    [true, 1],
    [false, 1],
  ]);
  await first.heartbeat.stop();
});

it('a worker that joins while another raises its limits is not overlooked', async () => {
  const limits = { concurrency: 2, requestsPerSecond: 0 };
  const first = workerHeartbeat(
    redis,
    redisKeys('t'),
    { role: 'worker', limits: { city: limits }, silence: () => null },
    log,
  );
  const inForce: boolean[] = [];
  let second: Heartbeat | null = null;
  await first.start(async (_portal, { isShared }) => {
    if (!isShared && second === null) {
      second = workerHeartbeat(
        redis,
        redisKeys('t'),
        { role: 'worker', limits: { city: limits }, silence: () => null },
        log,
      );
      await second.start(async (_city, agreed) => void inForce.push(agreed.isShared));
    }
    inForce.push(isShared); // later than the one that joined in between
  });
  expect(inForce).toEqual([true, false, true]);
  await first.stop();
  await (second as Heartbeat | null)?.stop();
});
