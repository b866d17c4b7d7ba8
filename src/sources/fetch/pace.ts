// Politeness and patience: how fast one host is asked, and when it is left alone for a while.
import { setTimeout as sleep } from 'node:timers/promises';
import { SourceUnreachableError } from '../../model/errors.ts';

/** A shorter wait that a host asked for is waited for in place; a longer one is left to the retry of the job. */
const longestWaitMs = 5_000;

/** Turns of requests by host, in this process. */
export class Pace {
  private readonly spacingMs: number;
  private readonly next = new Map<string, number>();
  private readonly quiets = new Map<string, { until: number; why: string }>();

  /** `requestsPerSecond` 0 is no limit. */
  constructor(requestsPerSecond: number) {
    this.spacingMs = requestsPerSecond === 0 ? 0 : 1000 / requestsPerSecond;
  }

  /**
   * Resolves when the next request to a host may be sent.
   * @throws SourceUnreachableError while the host is left alone for longer than a few seconds
   */
  async turn(host: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = Date.now();
    const quiet = this.quiets.get(host);
    const quietMs = (quiet?.until ?? 0) - now;
    if (quiet && quietMs > longestWaitMs) {
      throw new SourceUnreachableError(`${host} ${quiet.why}: it is left alone for ${Math.ceil(quietMs / 1000)} s`, {
        hint: 'nothing is asked of it meanwhile; it is asked again by itself, after a long pause by the next run',
        retryAfterMs: quietMs,
      });
    }
    const at = Math.max(now, now + quietMs, this.next.get(host) ?? 0);
    this.next.set(host, at + this.spacingMs);
    if (at > now) await this.wait(at - now, signal);
  }

  /** Leaves a host alone for `ms` milliseconds; `why` goes on after its name: `asked for a pause`. */
  quiet(host: string, ms: number, why: string): void {
    const until = Date.now() + ms;
    if (until > (this.quiets.get(host)?.until ?? 0)) this.quiets.set(host, { until, why });
  }

  private async wait(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(ms, undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }
}
