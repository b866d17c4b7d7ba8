// Watches whether Redis takes data: says once, in log and notice, that its disk or memory is full, and when that has ended.
import { hostname } from 'node:os';
import { machineFault, reasonOf, StateFullError } from '../model/errors.ts';
import type { Reason } from '../model/report.ts';
import { stateNotice } from '../notify/notice.ts';
import { liveWorkers } from '../queue/heartbeat.ts';
import { repeat } from '../util/concurrency.ts';
import type { Connections } from './connections.ts';

const everyMs = 5000;

/** Why Redis takes no more data; null while it does. */
export const stateFault = async ({ redis, keys }: Pick<Connections, 'redis' | 'keys'>): Promise<Reason | null> => {
  try {
    await redis.setrange(keys.nothing, 0, ''); // changes nothing, and is refused as every write
    return null;
  } catch (thrown) {
    const fault = machineFault(thrown);
    if (fault instanceof StateFullError) return reasonOf(fault);
    throw thrown;
  }
};

type StateWatchParts = Pick<Connections, 'redis' | 'keys' | 'role' | 'log'> & {
  notifier: Pick<Connections['notifier'], 'sendPastQueue'>;
};

export const stateWatch = (parts: StateWatchParts) => {
  let isTeller = false;
  let endLooks: (() => Promise<void>) | undefined;

  /** One of all processes tells of it: a service rather than a worker. Nobody can give signs of life now, so that old ones count. */
  const isFirst = async (): Promise<boolean> => {
    const { redis, keys, role } = parts;
    const rank = (each: { role: string; host: string; pid: number }): string =>
      [each.role === 'start' ? 0 : 1, each.host, each.pid].join(' ');
    const own = rank({ role, host: hostname(), pid: process.pid });
    return (await liveWorkers(redis, keys, 0)).values().every((other) => own <= rank(other));
  };

  const watch = {
    /** As {@link stateFault} found last. */
    fault: null as Reason | null,

    look: async (): Promise<void> => {
      const before = watch.fault;
      const fault = await stateFault(parts);
      watch.fault = fault;
      if ((fault === null) === (before === null)) return;
      if (fault) parts.log.error({ action: 'state-full', reason: fault }, 'the state takes no more data: work waits');
      else parts.log.info({ action: 'resume' }, 'the state takes data again: work goes on');
      if (fault) isTeller = await isFirst();
      if (isTeller) await parts.notifier.sendPastQueue(stateNotice(fault));
    },

    start: (): void => {
      endLooks ??= repeat(everyMs, watch.look, () => undefined); // others report a Redis that is gone
    },

    stop: async (): Promise<void> => endLooks?.(),
  };
  return watch;
};
