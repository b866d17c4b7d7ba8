// Limits that several workers agree on, as one of them joins.
import { expect, it } from 'vitest';
import { redisKeys } from '../../src/ledger/keys.ts';
import { createLog } from '../../src/log.ts';
import { type PortalLimits, Presence } from '../../src/queue/workers-alive.ts';
import { openTestRedis } from '../support/redis.ts';

const { redis } = await openTestRedis();

const log = createLog({ level: 'silent' });

/** Limits that a worker put in force when it joined. */
const join = async (limits: PortalLimits): Promise<{ presence: Presence; set: PortalLimits[] }> => {
  const presence = new Presence(redis, redisKeys('t'), { role: 'worker', limits: { city: limits } }, log);
  const set: PortalLimits[] = [];
  await presence.start(async (_portal, agreed) => void set.push(agreed));
  return { presence, set };
};

it('a worker that joins with higher limits never puts them in force, not even for a moment', async () => {
  const low = { concurrency: 2, requestsPerSecond: 5 };
  const first = await join(low);
  const second = await join({ concurrency: 8, requestsPerSecond: 0 });
  expect(first.set).toEqual([low]);
  expect(second.set).toEqual([low]);
  expect(second.presence.limits('city')).toEqual(low);
  await second.presence.stop();
  await first.presence.stop();
});
