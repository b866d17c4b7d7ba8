// A few worker threads for one kind of work, opened at first use.
import { extname } from 'node:path';
import type { Piscina } from 'piscina';

/**
 * Memory shared with a worker thread: element 0 is not 0 once its task is cancelled, which the thread checks between two
 * pieces of work; the thread counts element 1 up to show that it is not stuck, see {@link beat}.
 */
export type CancelFlag = Int32Array<SharedArrayBuffer>;

export type Cancellable<Task> = Task & { cancelled: CancelFlag };

/** Thrown in a worker thread when its task was cancelled; the main thread has stopped waiting by then. */
export class CancelledError extends Error {}

export const isCancelled = (flag: CancelFlag): boolean => Atomics.load(flag, 0) !== 0;

export const throwIfCancelled = (flag: CancelFlag): void => {
  if (isCancelled(flag)) throw new CancelledError('cancelled');
};

/** Reports progress to a caller that set `silenceMs`. */
export const beat = (flag: CancelFlag): void => void Atomics.add(flag, 1, 1);

/** A task reported no progress for `silenceMs`; its thread was terminated. */
export class SilentError extends Error {}

/** A task took longer than it may; its thread stops. */
export class OverlongError extends Error {}

const looks = 10;

/** Time (ms) that a cancelled thread has to answer; then it counts as stuck and is terminated. */
const stopMs = 10_000;

export interface PoolOptions {
  /** Worker file beside the module `of` without its extension: `.ts` in the source, `.js` in `dist/`. */
  file: string;
  /** `import.meta.url` of the module that opens the pool. */
  of: string;
  name: string;
  threads: number;
}

/**
 * Runs tasks in worker threads. They start with the first task and end with the process, which idle ones do not keep
 * alive: starting one costs more than a small task, and Node may crash where one thread is terminated while another
 * starts (nodejs/node#56312). Only a thread that is stuck is terminated. So a pool belongs to a module, not to an object.
 */
export class WorkerPool<Task extends object, Answer> {
  readonly #options: PoolOptions;
  #pool: Promise<Piscina> | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * Starts one task, which is given to the worker with `cancelled`, a flag that `cancel` raises; the worker then answers
   * soon, in its own way. (Piscina's cancellation kills the thread and can fail the process when the answer is in progress,
   * so `end` is for threads that are stuck.)
   */
  start(task: Task): { answer: Promise<Answer>; cancel: () => void; end: () => void; beats: () => number } {
    const cancelled: CancelFlag = new Int32Array(new SharedArrayBuffer(8));
    const killer = new AbortController();
    this.#pool ??= this.#open();
    const answer: Promise<Answer> = this.#pool.then((pool) =>
      pool.run({ ...task, cancelled }, { signal: killer.signal }),
    );
    const end = (): void => killer.abort();
    const cancel = (): void => {
      Atomics.store(cancelled, 0, 1);
      const timer = setTimeout(end, stopMs).unref();
      const clear = (): void => clearTimeout(timer);
      answer.then(clear, clear);
    };
    return { answer, cancel, end, beats: () => Atomics.load(cancelled, 1) };
  }

  /**
   * Runs one task; throws the reason of `signal` at once when it aborts, while the worker stops in the background. With
   * `silenceMs`, a started task that does not {@link beat} for so long fails with a {@link SilentError}; with `mostMs`, one
   * that has not ended so long after its first beat fails with an {@link OverlongError}.
   */
  async run(
    task: Task,
    signal?: AbortSignal,
    { silenceMs, mostMs }: { silenceMs?: number | undefined; mostMs?: number | undefined } = {},
  ): Promise<Answer> {
    signal?.throwIfAborted();
    const { answer, cancel, end, beats } = this.start(task);
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = (stop: () => void, why: unknown): void => {
      reject(why); // first: a thread that is ended rejects the answer, too
      stop();
    };
    const onAbort = (): void => giveUp(cancel, signal?.reason);
    let [before, looked] = [0, 0]; // a queued task has not begun to beat
    const onSilence = (): void => {
      const now = beats();
      if (now === before && now > 0) giveUp(end, new SilentError(`no response for ${silenceMs} ms`));
      before = now;
    };
    const onLook = (): void => {
      if (beats() > 0 && looked++ >= looks) giveUp(cancel, new OverlongError(`no result after ${mostMs} ms`));
    };
    const timers = [mostMs && setInterval(onLook, mostMs / looks), silenceMs && setInterval(onSilence, silenceMs)];
    signal?.addEventListener('abort', onAbort, { once: true });
    return Promise.race([answer, promise]).finally(() => {
      for (const timer of timers) clearInterval(timer);
      signal?.removeEventListener('abort', onAbort);
    });
  }

  async #open(): Promise<Piscina> {
    const { file, of, name, threads } = this.#options;
    const { Piscina } = await import('piscina'); // the threads themselves, which import this file, do without
    return new Piscina({
      filename: new URL(`./${file}${extname(of)}`, of).href,
      name,
      minThreads: 1,
      maxThreads: threads,
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      // Rows live for a moment only: a large nursery would only grow the process before they are thrown away.
      // No real table comes near the other limit; one that does must crash its thread, not the machine.
      resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 1536 },
    });
  }
}
