// Ends a process that is to stop while Redis is gone: jobs cannot be given back without it.
import type { Runtime } from '../runtime.ts';
import { exitCodes } from './exit-code.ts';

/** The next beat after the last that may be missed comes within the ten seconds after which Docker kills what it has asked to stop. */
const [beatMs, mostMissed] = [1000, 7];

/**
 * From the stop on, ends the process once Redis has missed its answers for eight seconds, and tells so. The returned
 * function ends the watch; call it when everything is closed.
 */
export const endWithoutRedis = (runtime: Runtime, stop: AbortSignal, tell: (line: string) => void): (() => void) => {
  const { redis, redisHandle } = runtime;
  let timer: NodeJS.Timeout | undefined;
  let missed = 0; // beats, not time: a process that was stopped itself has not waited for anybody
  const beat = (): void => {
    if (redis.status === 'end') return; // closed by ourselves, the jobs are given back
    if (missed >= mostMissed) {
      tell(
        `Redis does not answer: ending at once; what was begun is resumed by the next start (${redisHandle.describe})`,
      );
      process.exit(exitCodes.interrupted);
    }
    missed++;
    redis.ping().then(
      () => {
        missed = 0;
      },
      () => undefined, // closed meanwhile
    );
  };
  const begin = (): void => {
    timer = setInterval(beat, beatMs);
  };
  if (stop.aborted) begin();
  else stop.addEventListener('abort', begin, { once: true });
  return () => {
    stop.removeEventListener('abort', begin);
    clearInterval(timer);
  };
};
