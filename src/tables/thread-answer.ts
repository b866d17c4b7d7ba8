// What worker threads answer: values, and errors, which would lose their class at the border.
import * as errors from '../model/errors.ts';
import { isSystemError } from '../util/files.ts';
import { type PoolOptions, WorkerPool } from '../util/worker-pool.ts';

type ErrorFields = { -readonly [Key in 'name' | 'message' | 'code' | 'hint']: errors.SluiceError[Key] };

export type Answer<T> = { value: T } | { error: ErrorFields };

/** In the thread: the result of `work`, or its error; `ofSystem` words an error of the system. What else is thrown is a bug. */
export const answerOf = async <T>(
  work: () => T | Promise<T>,
  ofSystem: (error: NodeJS.ErrnoException) => errors.SluiceError,
): Promise<Answer<T>> => {
  try {
    return { value: await work() };
  } catch (thrown) {
    // `ofSystem` may throw one of ours, too.
    if (isSystemError(thrown)) return answerOf<T>(() => Promise.reject(ofSystem(thrown)), ofSystem);
    if (!(thrown instanceof errors.SluiceError)) throw thrown;
    return { error: { ...thrown, message: thrown.message } };
  }
};

/** The same of work on the file at `path`. */
export const answerOfFile = <T>(path: string, work: () => T | Promise<T>): Promise<Answer<T>> =>
  answerOf(work, (error) => errors.missingSource(path, error));

/** Outside: the value; throws the error as it was in the thread. */
export const answered = <T>(answer: Answer<T>): T => {
  if ('value' in answer) return answer.value;
  const errorClass = Object.entries(errors).find(([name]) => name === answer.error.name)?.[1];
  const prototype = errorClass instanceof Function ? errorClass.prototype : Error.prototype;
  throw Object.setPrototypeOf(Object.assign(new Error(answer.error.message), answer.error), prototype);
};

/** A function whose work is done in a pool of threads; it also throws the reason of a signal that is aborted. */
export const inThreads = <Task extends object, Value>(options: PoolOptions) => {
  const pool = new WorkerPool<Task, Answer<Value>>(options);
  return async (task: Task, signal?: AbortSignal): Promise<Value> => answered(await pool.run(task, signal));
};
