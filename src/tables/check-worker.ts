// Worker-thread entry: inspects one file.
import { type CheckTask, type Inspection, inspectFile } from './inspect-file.ts';
import type { Cancellable } from './worker-pool.ts';

/** The answer across the thread border, where errors would lose their class. */
export type CheckAnswer =
  | { kind: 'inspected'; inspection: Inspection }
  | { kind: 'unreadable'; code: string; message: string };

/** Checks one file; never throws for a faulty or unreadable file. */
export const checkFile = (task: Cancellable<CheckTask>): CheckAnswer => {
  try {
    return { kind: 'inspected', inspection: inspectFile(task) };
  } catch (error) {
    if (error instanceof Error && 'code' in error && 'syscall' in error) {
      return { kind: 'unreadable', code: String(error.code), message: error.message };
    }
    throw error;
  }
};
