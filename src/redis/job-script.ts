// Writes in the name of a job: refused once another worker has it, and they take along what it wrote down of itself.
import type { Redis } from 'ioredis';
import { clock, type Fence, type FieldWrite, type JobNotes } from '../fence.ts';
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

/** From KEYS[4] on the hash of each field, and after the lines its name and value (empty: it goes). */
const script = new RedisScript(`${ifLockStands}${noteDown}
for i = 4, #KEYS do
  local at = 2 * (i - 4) + 5 + lines
  if ARGV[at + 1] == '' then redis.call('HDEL', KEYS[i], ARGV[at]) else redis.call('HSET', KEYS[i], ARGV[at], ARGV[at + 1]) end
end
return left
`);

/**
 * Writes fields of hashes in the name of a job, or in nobody's: in one round trip, all or nothing, with what the job has
 * to say of itself and what it learnt before ({@link Fence.writeLate}). Values are not empty.
 * @throws JobLostError when another worker has the job
 */
export const writeFields = async (redis: Redis, fence: Fence | null, writes: readonly FieldWrite[]): Promise<void> => {
  const askedAt = clock();
  const fields = fence?.takeLate(writes) ?? writes;
  const notes = fence?.takeNotes() ?? null;
  const { data, lines, keep } = notes ?? noNotes;
  // A server may allow this user only keys of certain names, so one of those stands where none is meant.
  const any = fence?.key ?? fields[0]?.hash ?? '';
  const left = await script.run(
    redis,
    [any, notes?.job ?? any, notes?.log ?? any, ...fields.map(({ hash }) => hash)],
    [
      fence?.token ?? '',
      data,
      keep,
      lines.length,
      ...lines,
      ...fields.flatMap(({ field, value }) => [field, value ?? '']),
    ],
  );
  fence?.heard(askedAt, typeof left === 'number' ? left : null);
};

/** Writes fields as {@link writeFields} does; of a job with its next note, where a kill may lose them ({@link Fence.writeLate}). */
export const writeFieldsLate = async (
  redis: Redis,
  fence: Fence | null,
  writes: readonly FieldWrite[],
): Promise<void> => {
  if (fence) fence.writeLate(writes);
  else await writeFields(redis, null, writes);
};
