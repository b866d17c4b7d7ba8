// Cancelled runs and paused portals: the mark that every worker sees, and the signals that end jobs after their step.
import type { Redis } from 'ioredis';
import { CancelledError } from '../model/errors.ts';
import { cancelledHint, GiveBack } from '../model/job.ts';
import type { RedisKeys } from '../model/redis-keys.ts';
import type { PortalPauses } from './pause.ts';

/** How often marks are checked while jobs are running, milliseconds. */
const checkMs = 250;

/** The error of everything that a cancelled run leaves undone. */
export const cancelledError = (of: { runId: string; export?: object }): CancelledError =>
  new CancelledError(`run ${of.runId} was cancelled before this was done`, { hint: cancelledHint(of) });

/** Marks a run as cancelled, for good; false when it was marked already. */
export const markCancelled = async (redis: Redis, keys: RedisKeys, runId: string): Promise<boolean> =>
  (await redis.hsetnx(keys.cancelled, runId, Date.now())) === 1;

/** Tells the jobs of this process when their run is cancelled, or when their portal is paused until a person acts. */
export class StopWatch {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  readonly #pauses: Pick<PortalPauses, 'state'>;
  readonly #runs = new Watched();
  readonly #portals = new Watched();
  #timer: NodeJS.Timeout | null = null;
  #checkedAt = 0;

  constructor(redis: Redis, keys: RedisKeys, pauses: Pick<PortalPauses, 'state'>) {
    this.#redis = redis;
    this.#keys = keys;
    this.#pauses = pauses;
  }

  /** A job begins: its signals abort once the run is cancelled or the portal is paused. To be followed by {@link leave}. */
  async enter({ runId, portal }: WatchedJob): Promise<{ cancelled: AbortSignal; paused: AbortSignal }> {
    this.#timer ??= setInterval(() => void this.#check().catch(() => undefined), checkMs).unref(); // the next one may succeed
    this.#runs.enter(runId);
    this.#portals.enter(portal);
    const isOld = Date.now() - this.#checkedAt >= checkMs;
    if (isOld || this.#portals.signal(portal).aborted) await this.#check().catch(() => undefined);
    return { cancelled: this.#runs.signal(runId), paused: this.#portals.signal(portal) };
  }

  /** The job has ended. */
  leave({ runId, portal }: WatchedJob): void {
    this.#runs.leave(runId);
    this.#portals.leave(portal);
    if (this.#runs.names.length > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  async #check(): Promise<void> {
    this.#checkedAt = Date.now();
    for (const runId of await this.#redis.hkeys(this.#keys.cancelled))
      this.#runs.abort(runId, cancelledError({ runId }));
    for (const portal of this.#portals.names) {
      const pause = await this.#pauses.state(portal);
      if (pause && pause.probe === null) this.#portals.abort(portal, new GiveBack(pause.reason.message));
      else this.#portals.renew(portal);
    }
  }
}

/** What stops a job. */
interface WatchedJob {
  runId: string;
  portal: string;
}

/** Signals by name, while jobs listen to them. */
class Watched {
  readonly #all = new Map<string, { controller: AbortController; jobs: number }>();

  get names(): string[] {
    return [...this.#all.keys()];
  }

  enter(name: string): void {
    const known = this.#all.get(name) ?? { controller: new AbortController(), jobs: 0 };
    this.#all.set(name, known);
    known.jobs += 1;
  }

  /** The signal of a name that was entered. */
  signal(name: string): AbortSignal {
    return this.#all.get(name)?.controller.signal ?? AbortSignal.abort();
  }

  leave(name: string): void {
    const known = this.#all.get(name);
    if (known) known.jobs -= 1;
    if (known?.jobs === 0) this.#all.delete(name);
  }

  abort(name: string, reason: Error): void {
    this.#all.get(name)?.controller.abort(reason);
  }

  /** After an abort, whoever enters gets a new signal. */
  renew(name: string): void {
    const known = this.#all.get(name);
    if (known?.controller.signal.aborted) known.controller = new AbortController();
  }
}
