// Watches paused portals: one of all workers probes a portal that is down, and resumes it once it answers.
import { isOutage, PortalLoginError, PortalNotApiError, reasonOf } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { repeat } from '../util/concurrency.ts';
import type { CircuitBreaker, EndedPause, Pause, PortalPauses } from './pause.ts';

interface PortalWatchParts {
  pauses: PortalPauses;
  breaker: CircuitBreaker;
  portals: string[];
  /** One cheap read of a portal; rejects as the portal client does. */
  probe: (portal: string, signal: AbortSignal) => Promise<void>;
  /** Called again and again, by every worker, with the pause and the last ended one; must be idempotent. */
  report: (portal: string, state: { pause: Pause | null; last: EndedPause | null }) => Promise<void>;
  log: Log;
}

/** Checks every portal about once a second; `stop()` when done. */
export const portalWatch = ({ pauses, breaker, portals, probe, report, log }: PortalWatchParts) => {
  const stopped = new AbortController();
  let endChecks: (() => Promise<void>)[] = [];

  const tell = async (portal: string): Promise<Pause | null> => {
    const { now: pause, last } = await pauses.record(portal);
    await report(portal, { pause, last });
    return pause;
  };

  /**
   * Probes a portal: any refusal of its own is an answer, and a page of something in front of it is none. One that refuses
   * the login is paused until a person acts: null then, and where the watch has ended.
   */
  const ask = async (portal: string): Promise<'up' | 'down' | null> => {
    const error = await probe(portal, stopped.signal).catch((failure: unknown) => failure);
    if (stopped.signal.aborted) return null;
    if (!(error instanceof PortalLoginError))
      return isOutage(error) || error instanceof PortalNotApiError ? 'down' : 'up';
    const facts = { action: 'pause', portal, reason: reasonOf(error) };
    if (await pauses.pause(portal, facts.reason))
      log.error(facts, 'portal stays paused: it answers, but refused the login');
    return null;
  };

  const resume = async (portal: string, pause: Pause): Promise<void> => {
    const ended = await pauses.resume(portal, pause);
    if (!ended) return;
    const times = { since: new Date(ended.since).toISOString(), ms: ended.until - ended.since };
    log.info({ action: 'resume', portal, ...times }, 'portal answers again: resumed');
    await tell(portal);
  };

  /** Probes a paused portal when that is due. The one worker that sets the time of the next probe does this one. */
  const probeIfDue = async (portal: string, pause: Pause): Promise<void> => {
    if (pause.probe === null || Date.now() < pause.probe.nextAt) return;
    const failed = pause.probe.failed + 1;
    const nextMs = Math.min(breaker.settings.maxProbeMs, breaker.settings.probeMs * 2 ** failed);
    const next = { ...pause, probe: { failed, nextAt: Date.now() + nextMs } };
    if (!(await pauses.replace(portal, pause, next))) return;
    const found = await ask(portal);
    if (found === 'down') log.info({ action: 'probe', portal, failed, nextMs }, 'portal does not answer yet');
    else if (found === 'up') await resume(portal, next);
  };

  const check = async (portal: string): Promise<void> => {
    const pause = await tell(portal);
    await pauses.reconcile(portal, pause);
    if (pause) return probeIfDue(portal, pause);
    const reason = await breaker.unconfirmed(portal);
    if (!reason) return;
    await breaker.confirm(portal, async () => {
      const found = await ask(portal);
      if (found === 'down') return breaker.pause(portal, reason);
      if (found !== 'up') return;
      const facts = { action: 'probe', portal, reason };
      log.warn(facts, 'portal answers, but its jobs fail: they use their own attempts');
    });
  };

  return {
    /** Begins. Portals that are paused because they were down are probed at once: a worker has just started. */
    start: async (): Promise<void> => {
      for (const portal of portals) {
        const pause = await pauses.state(portal);
        if (!pause?.probe) continue;
        await pauses.replace(portal, pause, { ...pause, probe: { ...pause.probe, nextAt: Date.now() } });
      }
      const everyMs = Math.min(1000, Math.max(50, breaker.settings.probeMs / 2));
      endChecks = portals.map((portal) => {
        const failed = (err: unknown): void => {
          if (!stopped.signal.aborted) log.warn({ portal, err }, 'the portal could not be watched');
        };
        return repeat(everyMs, () => check(portal), failed);
      });
    },

    /** Ends after it has reported every pause once more, without a probe. `force` ends at once: Redis may be gone. */
    stop: async (force = false): Promise<void> => {
      const ended = Promise.all(endChecks.map((end) => end()));
      stopped.abort(new Error('the watch of portals was stopped'));
      if (force) return;
      await ended;
      for (const portal of portals) await tell(portal).catch(() => undefined); // Redis may be gone
    },
  };
};
