// The lease of a job: nothing is written in its name once another worker may have it.
import { JobLostError } from './errors.ts';

export interface HashField {
  hash: string;
  field: string;
}

/** A field to be set; null removes it. */
export type FieldWrite = HashField & { value: string | Buffer | null };

/** A write that may be repeated: of a field, or of a member of a sorted set, which null removes. The last one counts. */
export type StateWrite = FieldWrite | { set: string; member: string; score: number | null };

export interface StateWriter {
  /** Null outside of any job. */
  readonly lease: JobLease | null;
  /** Writes these, and everything buffered before, in one atomic step. */
  write(writes: readonly StateWrite[]): Promise<void>;
  /** Buffers writes for a moment. For what a kill may lose: the effect of a portal write, pending until then. */
  writeLater(writes: readonly StateWrite[]): Promise<void>;
  /** Resolves when everything is written, so that what this job reads afterwards is what it wrote; rejects where that failed. */
  catchUp(): Promise<void>;
  /** A field that nobody else writes meanwhile, as the job wrote or read it last; else as `ask` reads it. */
  read(field: HashField, ask: () => Promise<Buffer | null>): Promise<FieldWrite['value']>;
}

/** Writes in the name of a job; all of them are refused with JobLostError once another worker has the job. */
export type JobWriter = StateWriter & { readonly lease: JobLease };

interface LeaseParts {
  /** Redis key of the job's lock, and the token it holds while the job is ours. */
  key: string;
  token: string;
  /** Asks Redis: milliseconds until the lock expires, or null when it is not ours. */
  ask: () => Promise<number | null>;
  /** Called once it is known that another worker has the job. */
  lost: () => void;
}

/** Time left on a lock (milliseconds) that is too short to begin a request. */
const leastMs = 100;

export type JobLease = ReturnType<typeof jobLease>;

/**
 * The right to act for a job. The reply to every write in its name says how long the lock still stands; until then the
 * lease is valid, by a clock that also runs while the process is suspended.
 */
export const jobLease = ({ key, token, ask, lost }: LeaseParts) => {
  let until = 0;

  const stands = (): boolean => clock() < until;

  /** Takes the answer of Redis about the lock; `askedAt` is {@link clock} before it was asked. @throws JobLostError when it is not ours */
  const renewed = (askedAt: number, leftMs: number | null): void => {
    if (leftMs !== null) {
      until = askedAt + leftMs - leastMs;
      return;
    }
    until = 0;
    lost();
    throw new JobLostError('another worker has taken this job over', {
      hint: 'nothing to do: it continues there; this process was too slow, suspended, or cut off from Redis',
    });
  };

  /** Resolves when a write may be sent in the name of the job. @throws JobLostError when it is no longer ours */
  const check = async (): Promise<void> => {
    while (!stands()) {
      const askedAt = clock();
      renewed(askedAt, await ask());
    }
  };

  return { key, token, stands, renewed, check };
};

const started = { monotonic: performance.now(), wall: Date.now() };

/** Milliseconds by the clock that advanced further: one stops while the machine sleeps, the other may be set back. */
export const clock = (): number => Math.max(performance.now() - started.monotonic, Date.now() - started.wall);
