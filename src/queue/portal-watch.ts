// Watches paused portals: one of all workers probes a portal that is down, and resumes it once it answers.
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { isOutage, PortalLoginError, PortalNotApiError, reasonOf } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { Reason } from '../model/report.ts';
import { RedisScript } from '../state/redis/script.ts';
import type { CircuitBreaker, EndedPause, Pause, PortalPauses } from './pause.ts';

/** A page of something in front of the portal is no answer of the portal; any refusal of its own is one. */
const isDown = (error: unknown): boolean => isOutage(error) || error instanceof PortalNotApiError;

/** What the watch is made of. */
interface PortalWatchParts {
  redis: Redis;
  keys: RedisKeys;
  pauses: PortalPauses;
  breaker: CircuitBreaker;
  /** Portals to watch. */
  portals: string[];
  /** One cheap read of a portal; rejects as the portal client does. */
  probe: (portal: string, signal: AbortSignal) => Promise<void>;
  /** Called again and again, by every worker, with the pause and the last ended one; must be idempotent. */
  report: (portal: string, state: { pause: Pause | null; last: EndedPause | null }) => Promise<void>;
  /** Milliseconds after which another worker takes over from one that died while it probed. */
  lockMs: number;
  log: Log;
}

const releaseTurn = new RedisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

const renewTurn = new RedisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
`);

/** Checks every portal about once a second; `stop()` when done. */
export class PortalWatch {
  readonly #parts: PortalWatchParts;
  readonly #id = randomUUID();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #turn: Promise<void> | null = null;

  constructor(parts: PortalWatchParts) {
    this.#parts = parts;
  }

  /** Begins. Portals that are paused because they were down are probed at once: a worker has just started. */
  async start(): Promise<void> {
    for (const portal of this.#parts.portals) await this.#probeSoon(portal);
    const everyMs = Math.min(1000, Math.max(50, this.#parts.breaker.settings.probeMs / 2));
    this.#timer = setInterval(() => this.#next(), everyMs);
    this.#timer.unref();
  }

  /** Ends after it has reported every pause once more, without a probe. `force` ends at once: Redis may be gone. */
  async stop(force = false): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#stop.abort(new Error('the watch of portals was stopped'));
    if (force) return;
    await this.#turn;
    for (const portal of this.#parts.portals) await this.#report(portal).catch(() => undefined); // Redis may be gone
  }

  #next(): void {
    this.#turn ??= this.#checkAll().finally(() => {
      this.#turn = null;
    });
  }

  async #checkAll(): Promise<void> {
    await Promise.all(
      this.#parts.portals.map((portal) =>
        this.#check(portal).catch((error: unknown) => {
          if (!this.#stop.signal.aborted)
            this.#parts.log.warn({ portal, err: error }, 'the portal could not be watched');
        }),
      ),
    );
  }

  async #check(portal: string): Promise<void> {
    const pause = await this.#report(portal);
    await this.#parts.pauses.reconcile(portal, pause);
    if (await this.#due(portal, pause)) await this.#alone(portal, () => this.#probe(portal));
  }

  /** What a probe is due for: the pause that it may end, or the reason of one that it may confirm. Null for neither. */
  async #due(portal: string, pause: Pause | null): Promise<{ pause: Pause } | { reason: Reason } | null> {
    if (pause) return pause.probe !== null && Date.now() >= pause.probe.nextAt ? { pause } : null;
    const reason = await this.#parts.breaker.unconfirmed(portal);
    return reason && { reason };
  }

  async #report(portal: string): Promise<Pause | null> {
    const { pauses, report } = this.#parts;
    const [pause, last] = [await pauses.state(portal), await pauses.last(portal)];
    await report(portal, { pause, last });
    return pause;
  }

  /** Under the lock everything is read again: another worker may just have probed. */
  async #probe(portal: string): Promise<void> {
    const { pauses, breaker, log } = this.#parts;
    const due = await this.#due(portal, await pauses.state(portal));
    if (!due) return;
    const error = await this.#ask(portal);
    if (this.#stop.signal.aborted) return;
    if (error instanceof PortalLoginError) {
      if (await pauses.pause(portal, reasonOf(error))) {
        log.error(
          { action: 'pause', portal, reason: reasonOf(error) },
          'portal stays paused: it answers, but refused the login',
        );
      }
    } else if ('pause' in due)
      await (isDown(error) ? this.#askLater(portal, due.pause) : this.#resume(portal, due.pause));
    else await (isDown(error) ? breaker.confirm(portal, due.reason) : breaker.dismiss(portal, due.reason));
  }

  /** Null when the portal answered, else the error of the probe; one that is no outage counts as an answer. */
  async #ask(portal: string): Promise<unknown> {
    try {
      await this.#parts.probe(portal, this.#stop.signal);
      return null;
    } catch (error) {
      return error;
    }
  }

  async #askLater(portal: string, pause: Pause): Promise<void> {
    const { pauses, breaker, log } = this.#parts;
    const failed = (pause.probe?.failed ?? 0) + 1;
    const waitMs = Math.min(breaker.settings.maxProbeMs, breaker.settings.probeMs * 2 ** failed);
    await pauses.replace(portal, pause, { ...pause, probe: { failed, nextAt: Date.now() + waitMs } });
    log.info({ action: 'probe', portal, failed, nextMs: waitMs }, 'portal does not answer yet');
  }

  async #resume(portal: string, pause: Pause): Promise<void> {
    const ended = await this.#parts.pauses.resume(portal, pause);
    if (!ended) return;
    const facts = {
      action: 'resume',
      portal,
      since: new Date(ended.since).toISOString(),
      ms: ended.until - ended.since,
    };
    this.#parts.log.warn(facts, 'portal answers again: resumed');
    await this.#report(portal);
  }

  async #probeSoon(portal: string): Promise<void> {
    const pause = await this.#parts.pauses.state(portal);
    if (!pause?.probe) return;
    await this.#parts.pauses.replace(portal, pause, { ...pause, probe: { ...pause.probe, nextAt: Date.now() } });
  }

  /** Runs `work` unless another worker does; the lock of one that dies expires. */
  async #alone(portal: string, work: () => Promise<void>): Promise<void> {
    const { redis, keys, lockMs } = this.#parts;
    const key = keys.probeLock(portal);
    if ((await redis.set(key, this.#id, 'PX', lockMs, 'NX')) === null) return;
    const renewal = setInterval(() => {
      renewTurn.run(redis, [key], [this.#id, lockMs]).catch(() => undefined); // then another worker may probe as well
    }, lockMs / 3);
    try {
      await work();
    } finally {
      clearInterval(renewal);
      await releaseTurn.run(redis, [key], [this.#id]);
    }
  }
}
