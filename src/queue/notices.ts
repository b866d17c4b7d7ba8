// The queue of notices: each is one job, so that a kill loses none and a refused one is retried.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import { machineFault, reasonOf, SluiceError, StateFullError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { noticesQueue, type Queues } from './queues.ts';

/** Deliveries that are tried before a notice is given up: more than an hour with the default pauses. */
const attempts = 14;
const maxBackoffMs = 15 * 60_000;
/** How long a stop waits for notices that were not tried yet. */
const drainMs = 5000;

/** Milliseconds: pause before the second attempt (doubled each time), lock of a delivery, check for dead workers. */
interface NoticeSettings {
  backoffMs: number;
  lockMs: number;
  stalledCheckMs: number;
}

export class NoticeQueue {
  readonly #queues: Queues;
  readonly #settings: NoticeSettings;
  readonly #log: Log;
  #worker: Worker | null = null;
  #stop = new AbortController();

  constructor(queues: Queues, settings: NoticeSettings, log: Log) {
    this.#queues = queues;
    this.#settings = settings;
    this.#log = log;
  }

  /** Adds a notice; does nothing when one with that id was added before. */
  async add(id: string, data: object): Promise<void> {
    const options = { ...this.#queues.runOptions(id), attempts, backoff: { type: 'doubling' } };
    await this.#queues.notices.add('notice', data, options);
  }

  async work(deliver: (data: unknown, signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#worker) return;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#worker = new Worker(noticesQueue, (job: Job) => deliver(job.data, signal).catch(orGiveUp), {
      connection: this.#queues.connection,
      prefix: this.#queues.settings.prefix,
      concurrency: 2,
      lockDuration: this.#settings.lockMs,
      stalledInterval: this.#settings.stalledCheckMs,
      maxStalledCount: 1000,
      settings: { backoffStrategy: (made) => Math.min(maxBackoffMs, this.#settings.backoffMs * 2 ** (made - 1)) },
    });
    this.#worker.on('error', (error) => {
      if (machineFault(error) instanceof StateFullError) return; // told past the queue
      this.#log.warn({ err: error.message }, 'queue of notices failed');
    });
    this.#worker.on('failed', (job, error) => this.#reportFailure(job, error));
    this.#worker.on('completed', (job) => this.#log.info({ action: 'notified', notice: job.id }, 'notice delivered'));
    await this.#worker.waitUntilReady();
  }

  /** Ends; before that, notices that were not tried yet get some seconds. The others are delivered by the next worker. */
  async stop(force: boolean): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    if (!worker) return;
    const deadline = Date.now() + (force ? 0 : drainMs);
    const untried = () => this.#queues.notices.getJobCountByTypes('waiting', 'active');
    while (Date.now() < deadline && (await untried()) > 0) await sleep(20);
    this.#stop.abort(new Error('the worker was stopped'));
    await worker.close(force);
  }

  #reportFailure(job: Job | undefined, error: Error): void {
    const facts = { action: 'notify', notice: job?.id, reason: reasonOf(error.cause ?? error) };
    if (job && (job.attemptsMade >= attempts || error instanceof UnrecoverableError))
      this.#log.error(facts, 'gave up on a notice');
    else this.#log.warn(facts, 'a notice was not delivered; it will be retried');
  }
}

/** What no retry can fix is not retried. */
const orGiveUp = (error: unknown): never => {
  if (error instanceof SluiceError && !error.retryable)
    throw Object.assign(new UnrecoverableError(error.message), { cause: error });
  throw error;
};
