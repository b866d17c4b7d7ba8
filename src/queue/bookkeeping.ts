// What a job writes about itself: its data and its log, in order, without holding up the work.
import type { Job } from 'bullmq';
import type { Fence, JobNotes } from '../fence.ts';
import { noteDown, writeFields } from '../redis/job-script.ts';
import { RedisScript } from '../redis/script.ts';
import type { Queues } from './queues.ts';

/** How long lines wait for company, milliseconds. */
const gatherMs = 100;

const keep = new RedisScript(`${noteDown}
return noted and 0 or -1
`);

/**
 * Sends a job's data and its log lines together, and waits for none of them: they are for people and for the poison
 * rule, so a kill may lose the newest lines. What must be durable first is the ledger's to write, and such a write takes
 * along what is here ({@link take}); what the ledger has to tell later is sent from here when no such write comes.
 * {@link settled} waits for all.
 */
export class Bookkeeping {
  /** Whose books these are. */
  readonly job: Job;
  readonly #queues: Queues;
  readonly #fence: Fence;
  #data: object | null = null;
  #lines: string[] = [];
  #timer: NodeJS.Timeout | null = null;
  #turn: NodeJS.Immediate | null = null;
  #sending: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(job: Job, queues: Queues, fence: Fence) {
    this.job = job;
    this.#queues = queues;
    this.#fence = fence;
    fence.carry(this);
  }

  /** Replaces the job's data. */
  save(data: object): void {
    this.job.data = data;
    this.#data = data;
    this.gather();
  }

  /** Sends what there is at the end of this turn of the event loop: a step begins, and a kill in it is to be told as such. */
  hurry(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = null;
      void this.settled().catch(() => undefined); // told when the job ends
    });
  }

  /** Adds a line to the job's log, with the time in front. */
  line(text: string): void {
    this.#lines.push(`${new Date().toISOString()} ${text}`);
    this.gather();
  }

  /** Resolves when everything has been written; rejects with the first failure. */
  async settled(): Promise<void> {
    while (this.#sending || this.#hasUnsent) {
      this.#sending ??= this.#send();
      await this.#sending;
    }
    if (this.#failure !== null) throw this.#failure;
  }

  /** Hands over what was not sent yet, to whoever writes in the name of the job now; null when there is nothing. */
  take(): JobNotes | null {
    const { keepLogs } = this.#queues.settings;
    const [data, lines] = [this.#data, this.#lines];
    this.#forget();
    if (data === null && lines.length === 0) return null;
    const job = `${this.job.queueQualifiedName}:${this.job.id}`;
    return { job, log: `${job}:logs`, data: data === null ? '' : JSON.stringify(data), lines, keep: keepLogs };
  }

  /** Forgets what was not sent yet: it is on its way, or the job is another worker's, and so are its books. */
  drop(): void {
    this.#forget();
    this.#fence.takeLate([]);
  }

  #forget(): void {
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#turn) clearImmediate(this.#turn);
    this.#timer = null;
    this.#turn = null;
    this.#data = null;
    this.#lines = [];
  }

  get #hasUnsent(): boolean {
    return this.#data !== null || this.#lines.length > 0 || this.#fence.hasLate;
  }

  /** Sends what there is in a moment; one write at a time, so that they stay in order. */
  gather(): void {
    if (this.#sending) return;
    this.#timer ??= setTimeout(() => {
      this.#sending = this.#send();
    }, gatherMs);
  }

  async #send(): Promise<void> {
    try {
      if (this.#fence.hasLate) await writeFields(this.#queues.connection, this.#fence, []);
      else {
        const notes = this.take();
        await (notes && this.#write(notes));
      }
    } catch (error) {
      this.#failure ??= error;
    }
    this.#sending = null;
    if (this.#hasUnsent) this.gather();
  }

  async #write({ job, log, data, lines, keep: most }: JobNotes): Promise<void> {
    const written = await keep.run(this.#queues.connection, [job, job, log], ['', data, most, lines.length, ...lines]);
    if (written !== 0) throw new Error(`the job ${this.job.id} is not in the queue any more`);
  }
}
