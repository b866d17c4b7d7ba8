// Heartbeats: each run calls a monitor when it begins and ends, so that its absence is noticed elsewhere.
import type { Heartbeat, HeartbeatUrls } from '../config/notify-schema.ts';
import { reasonOf } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { deliver, type Post } from './channels.ts';

/** Timeout of one call, and how long `close` waits, milliseconds. */
const [callMs, drainMs] = [5000, 8000];

/** Most calls in progress; further ones are skipped. */
const mostCalls = 200;

interface HeartbeatCall {
  heartbeat: Heartbeat;
  /** Name of the target; its calls are made one after the other. */
  target: string;
  urls: HeartbeatUrls;
  text: string;
  /** For addresses that manifests name, which must be guarded. */
  post?: Post;
}

/** Calls monitors. A call is not retried: the monitor reports a missing one, which errs on the safe side. */
export const heartbeatsOf = (log: Log) => {
  const stop = new AbortController();
  const last = new Map<string, Promise<void>>();
  let calls = 0;

  return {
    /** Begins a call and returns at once; failures are only logged. */
    call: (call: HeartbeatCall): void => {
      const { target, heartbeat, urls } = call;
      const url = urls[heartbeat];
      if (url === undefined) return;
      const about = { action: 'heartbeat', target, heartbeat };
      if (calls >= mostCalls) {
        log.warn(about, 'a heartbeat was skipped: too many are pending');
        return;
      }
      calls += 1;
      const turn = (last.get(target) ?? Promise.resolve())
        .then(() => sendHeartbeat(url, call, stop.signal))
        .catch((error: unknown) => log.warn({ ...about, reason: reasonOf(error) }, 'a heartbeat was not delivered'))
        .finally(() => {
          calls -= 1;
          if (last.get(target) === turn) last.delete(target);
        });
      last.set(target, turn);
    },

    /** Waits some seconds for the calls in progress. Idempotent. */
    close: async (): Promise<void> => {
      const timer = setTimeout(() => stop.abort(new Error('the process ends')), drainMs);
      await Promise.all(last.values());
      clearTimeout(timer);
    },
  };
};

/** Makes one call; any 2xx answer within five seconds is success. @throws what {@link deliver} throws */
export const sendHeartbeat = (url: string, { text, post }: Pick<HeartbeatCall, 'text' | 'post'>, stop: AbortSignal) =>
  deliver(
    url,
    { receiver: 'the monitor', what: 'a heartbeat', hint: 'check notify.heartbeat, and that its server runs', post },
    {
      headers: { 'content-type': 'text/plain', 'user-agent': 'sluice' },
      body: text,
      signal: AbortSignal.any([stop, AbortSignal.timeout(callMs)]),
    },
  );
