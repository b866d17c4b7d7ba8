// Gives memory back to the system.
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Share of the time for which an idle process works at most. */
const idleShare = 0.05;

/**
 * Collects all garbage once the process is idle after its start, or after work: V8 keeps the memory of a busy process while
 * nothing is allocated any more. It keeps no process alive.
 */
export const freeWhenIdle = (lookMs = 5_000): void => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how: object) => void; // what that flag adds
  let before = performance.eventLoopUtilization();
  let isFree = false;
  setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(before);
    const isIdle = utilization < idleShare;
    if (isIdle && !isFree) collect({ type: 'major', flavor: 'last-resort' });
    isFree = isIdle;
    before = performance.eventLoopUtilization();
  }, lookMs).unref();
};
