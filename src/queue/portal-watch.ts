// Watches paused portals: one worker of all asks a portal that is down whether it answers, and resumes it.
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { PortalLoginError, PortalNotApiError, reasonOf } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import { type Reason, reasonSchema } from '../model/report.ts';
import { RedisScript } from '../state/redis/script.ts';
import { type CircuitBreaker, isOutage } from './breaker.ts';
import type { EndedPause, Pause, PortalPauses } from './pause.ts';

/** A page of something that stands before the portal is no answer of the portal; any refusal of its own is one. */
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
  /** Told of each pause and each end of one again and again, by every worker; must be idempotent. */
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

/** Looks at every portal about once a second; `stop()` when done. */
export class PortalWatch {
  readonly #parts: PortalWatchParts;
  readonly #id = randomUUID();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #turn: Promise<void> | null = null;

  constructor(parts: PortalWatchParts) {
    this.#parts = parts;
  }

  /** Begins. Portals that are paused because they were down are probed at once: a worker was just started. */
  async start(): Promise<void> {
    for (const portal of this.#parts.portals) await this.#probeSoon(portal);
    const everyMs = Math.min(1000, Math.max(50, this.#parts.breaker.settings.probeMs / 2));
    this.#timer = setInterval(() => this.#next(), everyMs);
    this.#timer.unref();
  }

  /** Ends after a last look that reports every pause, but probes no more. `force` ends at once: Redis may be gone. */
  async stop(force = false): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#stop.abort(new Error('the watch of portals was stopped'));
    if (force) return;
    await this.#turn;
    for (const portal of this.#parts.portals) await this.#report(portal).catch(() => undefined); // Redis may be gone
  }

  #next(): void {
    this.#turn ??= this.#lookAtAll().finally(() => {
      this.#turn = null;
    });
  }

  async #lookAtAll(): Promise<void> {
    await Promise.all(
      this.#parts.portals.map((portal) =>
        this.#look(portal).catch((error: unknown) => {
          if (!this.#stop.signal.aborted)
            this.#parts.log.warn({ portal, err: error }, 'the portal could not be watched');
        }),
      ),
    );
  }

  async #look(portal: string): Promise<void> {
    const pause = await this.#report(portal);
    await this.#parts.pauses.reconcile(portal, pause);
    if (pause ? pause.probe !== null && Date.now() >= pause.probe.nextAt : (await this.#doubt(portal)) !== null) {
      await this.#alone(portal, () => this.#probe(portal));
    }
  }

  async #report(portal: string): Promise<Pause | null> {
    const { pauses, report } = this.#parts;
    const [pause, last] = [await pauses.state(portal), await pauses.last(portal)];
    await report(portal, { pause, last });
    return pause;
  }

  /** Under the lock everything is read again: another worker may just have probed. */
  async #probe(portal: string): Promise<void> {
    const { pauses, log } = this.#parts;
    const pause = await pauses.state(portal);
    const doubt = pause ? null : await this.#doubt(portal);
    if (pause ? pause.probe === null || Date.now() < pause.probe.nextAt : doubt === null) return;
    const error = await this.#ask(portal);
    if (this.#stop.signal.aborted) return;
    if (error instanceof PortalLoginError) {
      if (await pauses.pause(portal, reasonOf(error))) {
        log.error(
          { action: 'pause', portal, reason: reasonOf(error) },
          'portal stays paused: it answers, but refused the login',
        );
      }
    } else if (pause) await (isDown(error) ? this.#askLater(portal, pause) : this.#resume(portal, pause));
    else if (doubt) await this.#judge(portal, doubt, error);
  }

  /** Null when the portal answered; what hinders the probe but is no outage counts as an answer. */
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

  /** The portal was resumed and has failed ever since: paused again only if it does not even answer a read. */
  async #judge(portal: string, reason: Reason, error: unknown): Promise<void> {
    const { redis, keys, breaker, log } = this.#parts;
    if (isDown(error)) await breaker.open(portal, reason);
    else
      log.warn({ action: 'probe', portal, reason }, 'portal answers, but its jobs fail: they use their own attempts');
    await redis.hdel(keys.portal(portal), 'failures', 'confirm');
  }

  async #doubt(portal: string): Promise<Reason | null> {
    const text = await this.#parts.redis.hget(this.#parts.keys.portal(portal), 'confirm');
    return text === null ? null : reasonSchema.parse(JSON.parse(text));
  }

  async #probeSoon(portal: string): Promise<void> {
    const pause = await this.#parts.pauses.state(portal);
    if (!pause?.probe) return;
    await this.#parts.pauses.replace(portal, pause, { ...pause, probe: { ...pause.probe, nextAt: Date.now() } });
  }

  /** Runs `work` unless another worker does; the lock of one that dies ends by itself. */
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
