// Politeness: how fast one host is asked, and when it asked to be left alone.
import { setTimeout as sleep } from 'node:timers/promises';
import { SourceUnreachableError } from '../errors.ts';

/** A shorter wait that a host asked for is waited for in place; a longer one is left to the retry of the job. */
const longestWaitMs = 5_000;

/** Turns of requests by host, in this process. */
export class Pace {
  private readonly spacingMs: number;
  private readonly next = new Map<string, number>();
  private readonly quietUntil = new Map<string, number>();

  /** `requestsPerSecond` 0 is no limit. */
  constructor(requestsPerSecond: number) {
    this.spacingMs = requestsPerSecond === 0 ? 0 : 1000 / requestsPerSecond;
  }

  /**
   * Resolves when the next request to a host may be sent.
   * @throws SourceUnreachableError while the host asked for silence for longer than a few seconds
   */
  async turn(host: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = Date.now();
    const quietMs = (this.quietUntil.get(host) ?? 0) - now;
    if (quietMs > longestWaitMs) {
      throw new SourceUnreachableError(`${host} asked to be left alone for another ${Math.ceil(quietMs / 1000)} s`, {
        hint: 'it is asked again by itself after that time',
        retryAfterMs: quietMs,
      });
    }
    const at = Math.max(now, now + quietMs, this.next.get(host) ?? 0);
    this.next.set(host, at + this.spacingMs);
    if (at > now) await this.wait(at - now, signal);
  }

  /** Notes that a host asked for `ms` milliseconds without requests (`Retry-After`). */
  quiet(host: string, ms: number): void {
    this.quietUntil.set(host, Math.max(this.quietUntil.get(host) ?? 0, Date.now() + ms));
  }

  private async wait(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(ms, undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }
}
