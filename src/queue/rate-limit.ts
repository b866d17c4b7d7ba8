// A token bucket in Redis: requests per second to a portal, shared by all workers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { RedisScript } from '../state/redis/script.ts';

// Returns milliseconds to wait before the request may be sent (0 = now). Tokens may go negative: each caller books
// its own slot, so waiting callers are served in order and never herd. Redis's own clock serves all hosts.
const takeToken = new RedisScript(`
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(state[1]) or burst
local at = tonumber(state[2]) or now
tokens = math.min(burst, tokens + (now - at) * rate / 1000) - 1
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], 60000)
if tokens >= 0 then return '0' end
return tostring(-tokens * 1000 / rate)
`);

/** Makes the function that waits for leave to send one request. `perSecond` is asked each time, so limits can change. */
export const tokenBucket =
  (redis: Redis, key: string, perSecond: () => number): ((signal: AbortSignal) => Promise<void>) =>
  async (signal) => {
    const rate = perSecond();
    if (rate <= 0) return;
    const wait = Number(await takeToken.run(redis, [key], [rate, Math.max(1, Math.ceil(rate))]));
    if (wait > 0) await sleep(wait, undefined, { signal });
  };
