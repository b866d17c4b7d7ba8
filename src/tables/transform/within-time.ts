// Work on rows that ends, whatever patterns a publisher has written: some regular expressions take longer than the sun has left.
import { createContext, Script } from 'node:vm';

/** Work was stopped because it took too long. */
export class OutOfTime extends Error {}

/** Longest time for a batch of rows, milliseconds; honest batches take a few. */
export const mostBatchMs = 20_000;

const context = createContext({ work: (): void => undefined });
const script = new Script('work()');

/**
 * Does work and returns what comes of it; throws {@link OutOfTime} when it has not ended after `ms`. Only the virtual
 * machine itself can stop a regular expression, and does so for scripts with a time limit, which this is made to be.
 */
export const withinTime = <T>(ms: number, work: () => T): T => {
  const done: T[] = [];
  context.work = (): void => {
    done.push(work());
  };
  try {
    script.runInContext(context, { timeout: ms });
  } catch (error) {
    if (isTimeout(error)) throw new OutOfTime(`not done after ${ms} ms`);
    throw error;
  }
  return done[0] as T; // the work has ended, so its result is there
};

/** The error is one of the other context, so of another class `Error`. */
const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
