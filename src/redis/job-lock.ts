// The lock of a job, as scripts see it.

/**
 * Lua that begins a script which only the holder of a job's lock may run: KEYS[1] is the lock (empty: nobody is asked),
 * ARGV[1] what it holds while the job is ours. The script ends with nil when it holds something else; `left` is how many
 * milliseconds it still stands.
 */
export const ifLockStands = `
local left = 0
if KEYS[1] ~= '' then
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
  left = redis.call('PTTL', KEYS[1])
end
`;
