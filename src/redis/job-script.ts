// Scripts in the name of a job: refused once another worker has it, and they take along what it wrote down of itself.
import type { Redis } from 'ioredis';
import { clock, type Fence, type JobNotes } from '../fence.ts';
import { RedisScript } from './script.ts';

/**
 * Lua that begins a script which only the holder of a job's lock may run: KEYS[1] is the lock, ARGV[1] what it holds
 * while the job is ours (empty: nobody is asked). The script ends with nil when it holds something else; `left` is how
 * many milliseconds it still stands.
 */
export const ifLockStands = `
local left = 0
if ARGV[1] ~= '' then
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
  left = redis.call('PTTL', KEYS[1])
end
`;

/**
 * Lua that writes down what a job says of itself, where the queue keeps that: KEYS[2] the job, KEYS[3] its log, ARGV[2]
 * its data (empty: as they are), ARGV[3] how many lines the log may have (0: nothing is said), ARGV[4] how many new ones
 * follow. A job that is gone stays gone: then `noted` is false.
 */
export const noteDown = `
local most, lines, noted = tonumber(ARGV[3]), tonumber(ARGV[4]), true
if most > 0 then
  noted = redis.call('EXISTS', KEYS[2]) == 1
  if noted and ARGV[2] ~= '' then redis.call('HSET', KEYS[2], 'data', ARGV[2]) end
  if noted and lines > 0 then
    for i = 5, 4 + lines, 1000 do redis.call('RPUSH', KEYS[3], unpack(ARGV, i, math.min(i + 999, 4 + lines))) end
    redis.call('LTRIM', KEYS[3], -most, -1)
  end
end
`;

const noNotes = { data: '', lines: [], keep: 0 } satisfies Partial<JobNotes>;

/** One script; a call of it is one round trip and all or nothing. */
export class JobScript {
  readonly #script: RedisScript;

  /** `text` is Lua that finds its own keys and arguments with `key(1)`, `arg(1)` and so on. */
  constructor(text: string) {
    this.#script = new RedisScript(`${ifLockStands}${noteDown}
local function key(i) return KEYS[3 + i] end
local function arg(i) return ARGV[4 + lines + i] end
${text}
return left
`);
  }

  /** Runs the script in the name of a job, or in nobody's. @throws JobLostError when another worker has the job */
  async run(redis: Redis, fence: Fence | null, keys: string[], args: string[]): Promise<void> {
    const askedAt = clock();
    const notes = fence?.takeNotes() ?? null;
    const { data, lines, keep } = notes ?? noNotes;
    // A server may allow this user only keys of certain names, so one of those stands where none is meant.
    const [any = ''] = keys;
    const left = await this.#script.run(
      redis,
      [fence?.key ?? any, notes?.job ?? any, notes?.log ?? any, ...keys],
      [fence?.token ?? '', data, keep, lines.length, ...lines, ...args],
    );
    fence?.heard(askedAt, typeof left === 'number' ? left : null);
  }
}

/** Sets a field of a hash. */
export const setField = new JobScript("redis.call('HSET', key(1), arg(1), arg(2))");
