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
type NoticeSettings = Record<'backoffMs' | 'lockMs' | 'stalledCheckMs', number>;

export const noticeQueue = (queues: Queues, { backoffMs, lockMs, stalledCheckMs }: NoticeSettings, log: Log) => {
  let working: { worker: Worker; stop: AbortController } | null = null;

  const reportFailure = (job: Job | undefined, error: Error): void => {
    const facts = { action: 'notify', notice: job?.id, reason: reasonOf(error.cause ?? error) };
    if (job && (job.attemptsMade >= attempts || error instanceof UnrecoverableError))
      log.error(facts, 'gave up on a notice');
    else log.warn(facts, 'a notice was not delivered; it will be retried');
  };

  return {
    /** Adds a notice; does nothing when one with that id was added before. */
    add: async (id: string, data: object): Promise<void> => {
      const options = { ...queues.runOptions(id), attempts, backoff: { type: 'doubling' } };
      await queues.notices.add('notice', data, options);
    },

    work: async (deliver: (data: unknown, signal: AbortSignal) => Promise<void>): Promise<void> => {
      if (working) return;
      const stop = new AbortController();
      const worker = new Worker(noticesQueue, (job: Job) => deliver(job.data, stop.signal).catch(orGiveUp), {
        connection: queues.connection,
        prefix: queues.settings.prefix,
        concurrency: 2,
        lockDuration: lockMs,
        stalledInterval: stalledCheckMs,
        maxStalledCount: 1000,
        settings: { backoffStrategy: (made) => Math.min(maxBackoffMs, backoffMs * 2 ** (made - 1)) },
      });
      working = { worker, stop };
      worker.on('error', (error) => {
        if (machineFault(error) instanceof StateFullError) return; // told past the queue
        log.warn({ err: error.message }, 'queue of notices failed');
      });
      worker.on('failed', reportFailure);
      worker.on('completed', (job) => log.info({ action: 'notified', notice: job.id }, 'notice delivered'));
      await worker.waitUntilReady();
    },

    /** Ends; before that, notices that were not tried yet get some seconds. The others are delivered by the next worker. */
    stop: async (force: boolean): Promise<void> => {
      if (!working) return;
      const { worker, stop } = working;
      working = null;
      const deadline = Date.now() + (force ? 0 : drainMs);
      const untried = () => queues.notices.getJobCountByTypes('waiting', 'active');
      while (Date.now() < deadline && (await untried()) > 0) await sleep(20);
      stop.abort(new Error('the worker was stopped'));
      await worker.close(force);
    },
  };
};

/** What no retry can fix is not retried. */
const orGiveUp = (error: unknown): never => {
  if (error instanceof SluiceError && !error.retryable)
    throw Object.assign(new UnrecoverableError(error.message), { cause: error });
  throw error;
};
