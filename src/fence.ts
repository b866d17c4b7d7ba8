// The fence of a job: nothing is written in its name any more once another worker may have it.
import { JobLostError } from './errors.ts';

/** What a job has to say of itself, and where the queue keeps that. */
export interface JobNotes {
  /** Redis key of the job, and of its log. */
  job: string;
  log: string;
  /** Its data as JSON; empty when they have not changed. */
  data: string;
  /** New lines of its log, and how many the log keeps. */
  lines: string[];
  keep: number;
}

/** One field of a Redis hash to be set; null takes it away. */
export interface FieldWrite {
  hash: string;
  field: string;
  value: string | null;
}

/** What a job has to say of itself while it is worked on. */
export interface JobBooks {
  /** Hands over what was not sent yet; null when there is nothing. */
  take(): JobNotes | null;
  /** Sends in a moment what nothing else has taken along by then. */
  gather(): void;
}

/** What a fence is made of. */
export interface FenceParts {
  /** Redis key of the job's lock, and what it holds while the job is ours. */
  key: string;
  token: string;
  /** Asks Redis: milliseconds the lock still stands, or null when it is not ours. */
  ask: () => Promise<number | null>;
  /** Told once it is known that the job is not ours any more. */
  lost: () => void;
}

/** Less than this much of a lock (milliseconds) is too little to begin a request. */
const leastMs = 100;

/**
 * Knows whether the lock of a job stands. Redis is asked with each note before a write; what it said is believed for as
 * long as the lock was to stand then, by a clock that goes on while the process is stopped.
 */
export class Fence {
  readonly key: string;
  readonly token: string;
  readonly #parts: FenceParts;
  #late: FieldWrite[] = [];
  #books: JobBooks | null = null;
  #until = 0;

  constructor(parts: FenceParts) {
    this.key = parts.key;
    this.token = parts.token;
    this.#parts = parts;
  }

  /** True while the lock stands for sure. */
  stands(): boolean {
    return clock() < this.#until;
  }

  /** Lets each write in the name of the job take along what these books hold. */
  carry(books: JobBooks): void {
    this.#books = books;
  }

  /** What the next write takes along; whoever calls this sends it. */
  takeNotes(): JobNotes | null {
    return this.#books?.take() ?? null;
  }

  /** True when something waits for the next write. */
  get hasLate(): boolean {
    return this.#late.length > 0;
  }

  /**
   * Keeps fields for the next write in the name of the job, which is sent in a moment if nothing else is. Only for what
   * a kill may lose: the effect of a write whose intent stands until then.
   */
  writeLate(writes: readonly FieldWrite[]): void {
    this.#keep(writes);
    this.#books?.gather();
  }

  /** What waits for the next write, and `writes` in their places; whoever calls this sends it. */
  takeLate(writes: readonly FieldWrite[]): FieldWrite[] {
    this.#keep(writes);
    const all = this.#late;
    this.#late = [];
    return all;
  }

  /** Of each field the newest value counts. */
  #keep(writes: readonly FieldWrite[]): void {
    for (const write of writes) {
      const at = this.#late.findIndex(({ hash, field }) => field === write.field && hash === write.hash);
      if (at < 0) this.#late.push(write);
      else this.#late[at] = write;
    }
  }

  /** Takes what Redis said of the lock; `askedAt` is {@link clock} before it was asked. @throws JobLostError when it is not ours */
  heard(askedAt: number, leftMs: number | null): void {
    if (leftMs !== null) {
      this.#until = askedAt + leftMs - leastMs;
      return;
    }
    this.#until = 0;
    this.#parts.lost();
    throw new JobLostError('another worker has taken this job over', {
      hint: 'nothing: it goes on there; this process was too slow, stopped, or cut off from Redis',
    });
  }

  /** Resolves when the lock stands for sure. @throws JobLostError when it is not ours any more */
  async pass(): Promise<void> {
    while (!this.stands()) {
      const askedAt = clock();
      this.heard(askedAt, await this.#parts.ask());
    }
  }
}

const started = { monotonic: performance.now(), wall: Date.now() };

/** Milliseconds by whichever clock went on further: one stands still while a machine sleeps, the other may be set. */
export const clock = (): number => Math.max(performance.now() - started.monotonic, Date.now() - started.wall);

const fences = new WeakMap<AbortSignal, Fence>();

/** Lets whoever is given this signal find the fence. */
export const fenceSignal = (signal: AbortSignal, fence: Fence): void => {
  fences.set(signal, fence);
};

/** Resolves when a request that changes something may be sent under this signal. @throws JobLostError */
export const mayWrite = async (signal: AbortSignal): Promise<void> => fences.get(signal)?.pass();
