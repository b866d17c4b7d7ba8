// What can happen at a point of a recorded run.

/**
 * `before`, `after`: the process is killed right before the point, or once the reply or the result has come and before
 * anybody has seen it. `withheld`: the reply has come, and the connection breaks instead of delivering it; the process lives.
 * `redis-before`, `redis-after`: Redis is killed there, and started again on its data. `worker-…`: one of two workers is killed.
 * `cancel`: every run in progress is cancelled there, and published again; with `-kill` the process is killed soon after.
 * `pause`: the portal is paused there as its operator does; once everything has stopped, it is resumed.
 */
export const crashModes = [
  'before',
  'after',
  'withheld',
  'redis-before',
  'redis-after',
  'worker-before',
  'worker-after',
  'cancel',
  'cancel-kill',
  'pause',
] as const;

/** See {@link crashModes}. */
export type CrashMode = (typeof crashModes)[number];
