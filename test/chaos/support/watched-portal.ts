// A portal whose requests are counted on their way, slow enough that those of several jobs are in progress together.
import { openSwitchboard, type Seen } from '../../../src/embedded-portal/faults/switchboard.ts';
import type { Reader } from '../../flow/support/reader.ts';
import { startPortalProcess } from '../../flow/support/server.ts';

/** See the head of this file. */
export interface WatchedPortal {
  url: string;
  /** When each request came, by the clock of `performance`. */
  times: readonly number[];
  /** `METHOD path` of the requests in progress when most were. */
  most(): readonly string[];
  /** The host of requests in progress is cut off: the portal has half of them, and they do not count any more. */
  cutOff(): void;
  /** Reads the portal itself, uncounted. */
  reader(): Promise<Reader>;
  close(): Promise<void>;
}

/** Starts a portal behind a switchboard that listens on `host` (this one when left out) and holds requests up. */
export const openWatchedPortal = async (delay: string, host?: string): Promise<WatchedPortal> => {
  const times: number[] = [];
  const underWay = new Set<Seen>();
  let most: string[] = [];
  const portal = await startPortalProcess();
  const switchboard = await openSwitchboard({
    target: portal.url,
    ...(host === undefined ? {} : { host }),
    plan: { seed: 1, rules: [{ route: '* /api/**', fault: 'delay', delay }] },
    onBegin: (seen) => {
      times.push(performance.now());
      underWay.add(seen);
      if (underWay.size > most.length) most = [...underWay].map(({ method, path }) => `${method} ${path}`);
    },
    onEnd: (seen) => void underWay.delete(seen),
  });
  return {
    url: switchboard.url,
    times,
    most: () => most,
    cutOff: () => underWay.clear(),
    reader: () => portal.reader(),
    close: () => switchboard.close(),
  };
};
