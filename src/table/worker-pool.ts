// A few worker threads for one kind of work, opened at first use.
import { extname } from 'node:path';
import { Piscina } from 'piscina';

/** A flag that a worker thread looks at between two pieces of work: not 0 = stop. */
export type CancelFlag = Int32Array<SharedArrayBuffer>;

/** A task as a worker thread gets it. */
export type Cancellable<Task> = Task & { cancelled: CancelFlag };

/** Thrown in a worker thread when its task was cancelled; the main thread has stopped waiting by then. */
export class CancelledError extends Error {}

/** Throws a {@link CancelledError} when the flag is up. */
export const throwIfCancelled = (flag: CancelFlag): void => {
  if (Atomics.load(flag, 0) !== 0) throw new CancelledError('cancelled');
};

/** What a pool runs. */
export interface PoolOptions {
  /** Worker file beside the module `of` without its extension: `.ts` in the source, `.js` in `dist/`. */
  file: string;
  /** `import.meta.url` of the module that opens the pool. */
  of: string;
  /** The function that the worker file exports. */
  name: string;
  threads: number;
}

/**
 * Runs tasks in worker threads. The threads start with the first task and are kept, because starting one costs more than
 * a small task; idle ones do not keep the process alive.
 */
export class WorkerPool<Task extends object, Answer> {
  readonly #options: PoolOptions;
  #pool: Piscina | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * Starts one task, which is given to the worker with `cancelled`, a flag that `cancel` raises; the worker then answers
   * soon, in its own way. (Piscina's cancellation kills the thread and can fail the process when the answer is under way.)
   */
  start(task: Task): { answer: Promise<Answer>; cancel: () => void } {
    const cancelled: CancelFlag = new Int32Array(new SharedArrayBuffer(4));
    const answer: Promise<Answer> = this.#open().run({ ...task, cancelled });
    return { answer, cancel: () => Atomics.store(cancelled, 0, 1) };
  }

  /** Runs one task; throws the reason of `signal` at once when it aborts, while the worker stops in the background. */
  async run(task: Task, signal?: AbortSignal): Promise<Answer> {
    signal?.throwIfAborted();
    const { answer, cancel } = this.start(task);
    if (signal === undefined) return answer;
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => {
      cancel();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    return Promise.race([answer, promise]).finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Ends the threads; tasks that are running fail. Idempotent; a later task opens new ones. */
  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    pool?.on('error', () => undefined); // an answer that was under way when its thread ended
    await pool?.destroy();
  }

  #open(): Piscina {
    const { file, of, name, threads } = this.#options;
    this.#pool ??= new Piscina({
      filename: new URL(`./${file}${extname(of)}`, of).href,
      name,
      minThreads: 1,
      maxThreads: threads,
      idleTimeout: 30_000,
      recordTiming: false,
      // Rows live for a moment only: a large nursery would only grow the process before they are thrown away.
      // No honest table comes near the other limit; one that does must end its thread, not the machine.
      resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 1536 },
    });
    return this.#pool;
  }
}
