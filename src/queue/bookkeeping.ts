// What a job writes about itself: its data and its log, in order, without holding up the work.
import type { Job } from 'bullmq';

/**
 * Sends a job's data and log lines at once and in order on the queue's one connection, but waits for none of them: what
 * is durable before what follows from the order of the commands, not from round trips. {@link settled} waits for all.
 */
export class Bookkeeping {
  readonly #job: Job;
  readonly #open = new Set<Promise<void>>();
  #failure: unknown = null;

  constructor(job: Job) {
    this.#job = job;
  }

  /** Replaces the job's data. */
  save(data: object): void {
    this.#track(this.#job.updateData(data));
  }

  /** Adds a line to the job's log, with the time in front. */
  line(text: string): void {
    this.#track(this.#job.log(`${new Date().toISOString()} ${text}`));
  }

  /** Resolves when everything has been written; rejects with the first failure. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
    if (this.#failure !== null) throw this.#failure;
  }

  #track(written: Promise<unknown>): void {
    const tracked: Promise<void> = written.then(
      () => {
        this.#open.delete(tracked);
      },
      (error: unknown) => {
        this.#open.delete(tracked);
        this.#failure ??= error;
      },
    );
    this.#open.add(tracked);
  }
}
