// The circuit breaker of each portal: counts passing faults in a row, over all workers, and pauses the portal's queue.
import type { Redis } from 'ioredis';
import { PortalReplyError, PortalUnreachableError, type SluiceError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { Reason } from '../model/report.ts';
import { RedisScript } from '../state/redis/script.ts';
import type { PortalPauses } from './pause.ts';

/** When a portal counts as down, and how often it is asked then. */
interface BreakerSettings {
  /** Passing faults in a row. */
  failures: number;
  /** Milliseconds before the first probe; doubled for each further one. */
  probeMs: number;
  /** Longest time between two probes, milliseconds. */
  maxProbeMs: number;
  /** A portal that requests a longer pause by `Retry-After` than this (milliseconds) is paused at once. */
  longestRequestedMs: number;
}

// Fields of the portal's hash: `failures` in a row; `doubt`: resumed, and no job has succeeded since; `confirm`: the reason
// to pause again if a probe fails too.
const countFailure = new RedisScript(`
if redis.call('HEXISTS', KEYS[1], 'pause') == 1 then return 'open' end
local count = redis.call('HINCRBY', KEYS[1], 'failures', 1)
if count < tonumber(ARGV[1]) and ARGV[3] == '0' then return 'closed' end
if redis.call('HEXISTS', KEYS[1], 'doubt') == 1 then
  redis.call('HSETNX', KEYS[1], 'confirm', ARGV[2])
  return 'closed'
end
return 'opens'
`);

/** Success after success is reported at most so often: it only has to undo what others counted. */
const reportEveryMs = 250;

/** Counts what jobs meet at their portals; the state is shared by all workers of one Redis. */
export class CircuitBreaker {
  readonly settings: BreakerSettings;
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #pauses: PortalPauses;
  readonly #log: Log;
  /** When success was last reported, by portal, Unix milliseconds; after a fault seen here the next success is reported at once. */
  readonly #reportedAt = new Map<string, number>();

  constructor(parts: { redis: Redis; keys: RedisKeys; pauses: PortalPauses; settings: BreakerSettings; log: Log }) {
    this.settings = parts.settings;
    this.#redis = parts.redis;
    this.#keys = parts.keys;
    this.#pauses = parts.pauses;
    this.#log = parts.log;
  }

  /**
   * Counts a job's fault. True when the portal is paused, by this fault or already: the job is to be given back without
   * spending an attempt. A portal that was resumed and has failed ever since is paused again only when a probe fails
   * too: then the fault lies in the work, and the jobs' own attempts end it.
   */
  async failed(portal: string, error: unknown): Promise<boolean> {
    if (!isOutage(error)) return false;
    this.#reportedAt.delete(portal);
    const askedMs = error.request.retryAfterMs ?? 0;
    const isAsked = askedMs > this.settings.longestRequestedMs;
    const reason = isAsked ? requestedPause(portal, error, askedMs) : this.#reason(portal, error);
    const state = await countFailure.run(
      this.#redis,
      [this.#keys.portal(portal)],
      [this.settings.failures, JSON.stringify(reason), isAsked ? '1' : '0'],
    );
    if (state === 'closed') return false;
    if (state === 'open') await this.#pauses.hold(portal);
    else await this.open(portal, reason, askedMs);
    return true;
  }

  /** Pauses a portal until a probe succeeds; `askedMs` is what the portal asked for by `Retry-After`. */
  async open(portal: string, reason: Reason, askedMs = 0): Promise<void> {
    const { probeMs, maxProbeMs } = this.settings;
    const probe = { failed: 0, nextAt: Date.now() + Math.min(maxProbeMs, Math.max(probeMs, askedMs)) };
    if (!(await this.#pauses.pause(portal, reason, probe))) return;
    this.#log.error({ action: 'pause', portal, reason }, 'portal paused: its jobs wait until it answers again');
  }

  /** A write or a whole item came through: the portal works. Never rejects. */
  async worked(portal: string): Promise<void> {
    const now = Date.now();
    if (now - (this.#reportedAt.get(portal) ?? 0) < reportEveryMs) return;
    this.#reportedAt.set(portal, now);
    await this.#redis.hdel(this.#keys.portal(portal), 'failures', 'doubt', 'confirm').catch((error: unknown) => {
      this.#log.debug({ portal, err: error }, 'the circuit breaker could not be updated');
    });
  }

  #reason(portal: string, error: SluiceError): Reason {
    const times = this.settings.failures === 1 ? 'once' : `${this.settings.failures} times in a row`;
    return {
      code: 'portal-unreachable',
      message: `portal ${portal} failed ${times}, the last time with: ${error.message}`,
      hint: `nothing to do unless it stays down: sluice probes it and resumes by itself; ${error.hint ?? 'see its own log'}`,
    };
  }
}

/** True for the faults of a portal that is down, overloaded, or hidden behind a maintenance page. */
export const isOutage = (error: unknown): error is PortalUnreachableError | PortalReplyError =>
  error instanceof PortalUnreachableError || error instanceof PortalReplyError;

const requestedPause = (portal: string, error: SluiceError, ms: number): Reason => ({
  code: 'portal-unreachable',
  message: `portal ${portal} requested a pause of ${Math.ceil(ms / 1000)} s: ${error.message}`,
  hint: 'nothing to do: sluice probes the portal and resumes by itself, earlier if the pause is very long',
});
