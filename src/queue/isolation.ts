// Which jobs of a worker are in a step, and whether one of them is alone.
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';

/** How long a job waits for steps of others that are in progress, and how long it has the worker to itself, milliseconds. */
const [patienceMs, longestMs] = [2000, 10_000];

export class JobIsolation {
  readonly #inSteps = new Set<string>();
  /** Jobs in work under a lock, once for each. */
  readonly #locked: string[] = [];
  readonly #events = new EventEmitter().setMaxListeners(0);
  #alone: string | null = null;

  /** Resolves when the job may begin a step; the returned function ends it. Rejects when the signal aborts. */
  async enter({ job, item = '' }: { job: string; item?: string }, signal: AbortSignal): Promise<() => void> {
    const id = `${job} ${item}`;
    if (this.#inSteps.has(id)) return () => undefined; // a step within a step
    while (this.#alone !== null && this.#alone !== job && !this.#locked.includes(job)) await this.#change(signal);
    this.#inSteps.add(id);
    return () => {
      this.#inSteps.delete(id);
      this.#events.emit('change');
    };
  }

  /** As {@link enter}, for work under a lock. Its steps do not wait for a job that is alone, as that may wait for the lock. */
  async enterLocked(job: string, signal: AbortSignal): Promise<() => void> {
    const leave = await this.enter({ job, item: randomUUID() }, signal);
    this.#locked.push(job);
    return () => {
      this.#locked.splice(this.#locked.indexOf(job), 1);
      leave();
    };
  }

  /**
   * Resolves when no other job is in a step, and none will begin one until the returned function is called. Neither lasts
   * forever: it does not wait for a long step, and isolation ends by itself. Rejects when the signal aborts.
   */
  async begin(id: string, signal: AbortSignal): Promise<() => void> {
    while (this.#alone !== null) await this.#change(signal);
    this.#alone = id;
    const end = (): void => {
      clearTimeout(timer);
      if (this.#alone !== id) return;
      this.#alone = null;
      this.#events.emit('change');
    };
    const timer = setTimeout(end, patienceMs + longestMs);
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    try {
      while (this.#inSteps.size > 0) await this.#change(patience);
    } catch (error) {
      if (!signal.aborted) return end;
      end();
      throw error;
    }
    return end;
  }

  /** Resolves after a change; the caller checks the state in the same turn, before another one does. */
  async #change(signal: AbortSignal): Promise<void> {
    await once(this.#events, 'change', { signal });
  }
}
