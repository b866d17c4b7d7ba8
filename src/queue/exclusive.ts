// Exclusive work on a portal over all workers: a lock that is held as long as a job's lease.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { JobLease } from '../model/lease.ts';
import { redisScript } from '../state/redis/script.ts';
import { Semaphore } from '../util/concurrency.ts';

// KEYS: the lock, the lock of the job that asks. ARGV: its token, how it shows in the lock, who was seen holding the lock
// before and has lost its own lease since (empty: none). Returns nil when the job is not ours, else who holds the lock.
const take = redisScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return false end
local holder = redis.call('GET', KEYS[1])
if not holder or holder == ARGV[3] then
  redis.call('SET', KEYS[1], ARGV[2])
  return ARGV[2]
end
return holder
`);

const release = redisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`);

/**
 * Locks by name. A holder is known by its job's lock and token; it holds as long as that lock stands, which every write of
 * a job checks anyway. So there is no expiry of its own that could run out unnoticed, and a killed holder blocks no one for
 * longer than its job.
 */
export const exclusiveIn = (redis: Redis, keyOf: (name: string) => string) => {
  /** Who waits in this process, by name. */
  const slots = new Map<string, Semaphore>();

  const isGone = async (holder: string): Promise<boolean> => {
    const [key, token] = JSON.parse(holder) as [string, string]; // as it is written below
    return (await redis.get(key)) !== token;
  };

  const takeLock = async (key: string, holder: string, lease: JobLease, signal: AbortSignal): Promise<void> => {
    for (let gone = ''; ; ) {
      const found = await take(redis, [key, lease.key], [lease.token, holder, gone]);
      if (found === holder) return;
      if (typeof found !== 'string') await lease.check(); // rejects: the job is not ours
      gone = typeof found === 'string' && (await isGone(found)) ? found : '';
      if (gone === '') await sleep(50, undefined, { signal });
    }
  };

  /** Runs `work` alone; in this process first come, first served. @throws JobLostError when the job is no longer ours */
  return async <T>(name: string, lease: JobLease, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const slot = slots.get(name) ?? new Semaphore(1);
    slots.set(name, slot);
    await slot.acquire(signal);
    try {
      const key = keyOf(name);
      const holder = JSON.stringify([lease.key, lease.token]);
      await takeLock(key, holder, lease, signal);
      try {
        return await work();
      } finally {
        await release(redis, [key], [holder]);
      }
    } finally {
      slot.release();
    }
  };
};
