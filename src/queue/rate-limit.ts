// The pace of requests to a portal, in Redis and so shared by all workers: a token bucket whose rate follows the answers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { redisScript } from '../state/redis/script.ts';

/** Requests per second at first, which slow answers never bring it below, and the least that failed ones leave. */
const [firstRate, leastRate] = [10, 1];

/** Without a request for so long, a portal is approached anew, milliseconds. */
const forgetMs = 60_000;

// Redis's own clock serves all hosts.
const opening = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local most = tonumber(ARGV[2]) or math.huge
local state = {}
local stored = redis.call('HGETALL', KEYS[1])
for at = 1, #stored, 2 do state[stored[at]] = tonumber(stored[at + 1]) end
local rate = math.min(most, state.rate or ${firstRate})
`;

// Returns milliseconds to wait before the request may be sent (0 = now). Tokens may go negative: each caller books
// its own slot, so waiting callers are served in order and never herd.
const bookScript = redisScript(`${opening}
local burst = math.max(1, math.ceil(rate))
local tokens = math.min(burst, (state.tokens or burst) + (now - (state.at or now)) * rate / 1000) - 1
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], ${forgetMs})
if tokens >= 0 then return '0' end
redis.call('HSET', KEYS[1], 'waited', now)
return tostring(-tokens * 1000 / rate)
`);

// Additive increase, multiplicative decrease (RFC 5681): up to the first decrease the rate doubles within a second, then it
// rises by one per second; only while requests wait for it, because another rate was not tried. It is lowered at most once
// a second, as answers that are under way are those of the former rate. The usual latency follows a lower one at once and a
// higher one within a minute, so that a portal that slows down under our requests is recognized.
const answerScript = redisScript(`${opening}
local ms = tonumber(ARGV[3])
local mayEase = now - (state.eased or 0) >= 1000
if not ms then
  if not mayEase then return end
  redis.call('HSET', KEYS[1], 'rate', math.min(rate, math.max(${leastRate}, rate / 2)), 'eased', now)
  return
end
local recent = state.recent and state.recent + (ms - state.recent) / 8 or ms
local passed = math.min(1, (now - (state.seen or now)) / ${forgetMs})
local usual = math.min(recent, state.usual and state.usual + (recent - state.usual) * passed or recent)
redis.call('HSET', KEYS[1], 'recent', recent, 'usual', usual, 'seen', now)
if recent > 2 * usual + 25 then
  if not mayEase then return end
  redis.call('HSET', KEYS[1], 'rate', math.min(rate, math.max(${firstRate}, rate * 0.8)), 'eased', now)
elseif state.waited and now - state.waited < 1000 then
  redis.call('HSET', KEYS[1], 'rate', math.min(most, rate + (state.eased and 1 / rate or 1)))
end
`);

/**
 * @param most requests per second that are never exceeded, 0 for no limit at all, null for what the portal takes; asked
 * each time, so limits can change
 * @param now Unix milliseconds; null for the clock of Redis
 */
export const paceIn = (redis: Redis, key: string, most: () => number | null, now: () => number | null = () => null) => {
  const given = (): [string | number, string | number] => [now() ?? '', most() ?? ''];

  /** Books one request, and returns the milliseconds after which it may be sent. */
  const book = async (): Promise<number> => (most() === 0 ? 0 : Number(await bookScript(redis, [key], given())));

  return {
    book,

    take: async (signal: AbortSignal): Promise<void> => {
      const wait = await book();
      if (wait > 0) await sleep(wait, undefined, { signal });
    },

    /** Takes an answer into account: of a read, how long it took; of any request, whether there was one. */
    answered: async (isRead: boolean, ms: number, status: number | null): Promise<void> => {
      // Answers of a portal, or of a proxy before it, that ask for fewer requests.
      const isSlowDown = status === null || status === 429 || (status >= 502 && status <= 504);
      if (most() === 0 || !(isSlowDown || (isRead && status === 200))) return;
      await answerScript(redis, [key], [...given(), isSlowDown ? '' : ms]);
    },
  };
};
