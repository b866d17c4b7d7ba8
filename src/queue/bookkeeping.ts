// What a job writes about itself: its data and its log, in order, without holding up the work.
import type { Job } from 'bullmq';
import { RedisScript } from '../redis/script.ts';
import type { Queues } from './queues.ts';

/** How long lines wait for company, milliseconds. */
const gatherMs = 20;

// Where the engine keeps a job's data and log; a job that is gone stays gone.
const keep = new RedisScript(`
local job, logs, data, most = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
if redis.call('EXISTS', job) == 0 then return -1 end
if data ~= '' then redis.call('HSET', job, 'data', data) end
for i = 3, #ARGV do redis.call('RPUSH', logs, ARGV[i]) end
if #ARGV > 2 then redis.call('LTRIM', logs, -most, -1) end
return 0
`);

/**
 * Sends a job's data and its log lines together, and waits for none of them: they are for people and for the poison
 * rule, so a kill may lose the newest lines. What must be durable first is the ledger's to write. {@link settled} waits
 * for all.
 */
export class Bookkeeping {
  /** Whose books these are. */
  readonly job: Job;
  readonly #queues: Queues;
  #data: object | null = null;
  #lines: string[] = [];
  #timer: NodeJS.Timeout | null = null;
  #turn: NodeJS.Immediate | null = null;
  #sending: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(job: Job, queues: Queues) {
    this.job = job;
    this.#queues = queues;
  }

  /** Replaces the job's data. */
  save(data: object): void {
    this.job.data = data;
    this.#data = data;
    this.#gather();
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
    this.#gather();
  }

  /** Resolves when everything has been written; rejects with the first failure. */
  async settled(): Promise<void> {
    while (this.#sending || this.#hasUnsent) {
      this.#sending ??= this.#send();
      await this.#sending;
    }
    if (this.#failure !== null) throw this.#failure;
  }

  /** Forgets what was not sent yet: the job is another worker's, and so are its books. */
  drop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#turn) clearImmediate(this.#turn);
    this.#timer = null;
    this.#turn = null;
    this.#data = null;
    this.#lines = [];
  }

  get #hasUnsent(): boolean {
    return this.#data !== null || this.#lines.length > 0;
  }

  /** One write at a time, so that they stay in order. */
  #gather(): void {
    if (this.#sending) return;
    this.#timer ??= setTimeout(() => {
      this.#sending = this.#send();
    }, gatherMs);
  }

  async #send(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const [data, lines] = [this.#data, this.#lines];
    this.#data = null;
    this.#lines = [];
    try {
      await this.#write(data, lines);
    } catch (error) {
      this.#failure ??= error;
    }
    this.#sending = null;
    if (this.#hasUnsent) this.#gather();
  }

  async #write(data: object | null, lines: string[]): Promise<void> {
    const { connection, settings } = this.#queues;
    const key = `${this.job.queueQualifiedName}:${this.job.id}`;
    const text = data === null ? '' : JSON.stringify(data);
    const written = await keep.run(connection, [key, `${key}:logs`], [text, settings.keepLogs, ...lines]);
    if (written !== 0) throw new Error(`the job ${this.job.id} is not in the queue any more`);
  }
}
