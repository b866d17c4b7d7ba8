// What a job writes about itself: its data and its log, in order, without holding up the work.
import type { Job } from 'bullmq';

/**
 * Sends a job's log lines at once, and its data once a turn of the event loop, but waits for none of them: they are for
 * people and for the poison rule, so a kill may lose the newest. What must be durable first is the ledger's to write.
 * {@link settled} waits for all.
 */
export class Bookkeeping {
  readonly #job: Job;
  readonly #open = new Set<Promise<void>>();
  #failure: unknown = null;
  #unsent: object | null = null;
  #turn: NodeJS.Immediate | null = null;

  constructor(job: Job) {
    this.#job = job;
  }

  /** Replaces the job's data. */
  save(data: object): void {
    this.#unsent = data;
    this.#turn ??= setImmediate(() => this.#send());
  }

  /** Adds a line to the job's log, with the time in front. */
  line(text: string): void {
    this.#track(this.#job.log(`${new Date().toISOString()} ${text}`));
  }

  /** Resolves when everything has been written; rejects with the first failure. */
  async settled(): Promise<void> {
    this.#send();
    while (this.#open.size > 0) await Promise.all(this.#open);
    if (this.#failure !== null) throw this.#failure;
  }

  #send(): void {
    if (this.#turn) clearImmediate(this.#turn);
    this.#turn = null;
    const data = this.#unsent;
    this.#unsent = null;
    if (data) this.#track(this.#job.updateData(data));
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
