// Watches over a command while it needs Redis: tells when that is gone, and ends the process that is to stop meanwhile.
import type { Runtime } from '../service/runtime.ts';
import { exitCodes } from './exit-code.ts';

/** With the beat that asks, eight seconds at most: less than the ten after which Docker kills what it has asked to stop. */
const [beatMs, mostMissed] = [1000, 7];

/**
 * Tells through `tell` when Redis is silent and when it answers again. From the stop on, ends the process once it is
 * silent for some eight seconds, because jobs cannot be given back without it. The returned function ends the watch; call it
 * when everything is closed.
 */
export const watchRedis = (
  { redis, redisHandle }: Pick<Runtime, 'redis' | 'redisHandle'>,
  stop: AbortSignal,
  tell: (line: string) => void,
): (() => void) => {
  let isAsked = false;
  let isTold = false;
  let missed = 0; // beats, not time: a process that was stopped itself has not waited for anybody
  const answered = (): void => {
    isAsked = false;
    missed = 0;
    if (isTold) tell('Redis answers again');
    isTold = false;
  };
  const beat = (): void => {
    if (redis.status === 'end') return; // closed by ourselves, the jobs are given back
    if (isAsked) missed++;
    else {
      isAsked = true;
      redis.ping().then(answered, () => {
        isAsked = false; // refused, which is not silence, or closed meanwhile
      });
    }
    if (missed < mostMissed) return;
    if (stop.aborted) {
      tell(
        `Redis does not answer: ending at once; what was begun is resumed by the next start (${redisHandle.describe})`,
      );
      process.exit(exitCodes.interrupted);
    }
    if (isTold) return;
    isTold = true;
    tell(`Redis does not answer: waiting for it, nothing is lost meanwhile (${redisHandle.describe})`);
  };
  const onStop = (): void => {
    missed = 0; // from now on it may take so long again
  };
  const timer = setInterval(beat, beatMs);
  stop.addEventListener('abort', onStop, { once: true });
  return () => {
    stop.removeEventListener('abort', onStop);
    clearInterval(timer);
  };
};
