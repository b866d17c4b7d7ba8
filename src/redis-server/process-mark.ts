// Names one process for good: its number alone is given to another process later.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** A process. `startedAt` is opaque, equal only for the same process; empty where the system does not tell. */
export const processMarkSchema = z.object({ pid: z.int().positive(), startedAt: z.string() });
export type ProcessMark = z.infer<typeof processMarkSchema>;

/** The mark of the process that has that number now; null when none runs (a zombie does not run). */
export const markProcess = (pid: number): ProcessMark | null => {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return null;
  }
  if (process.platform !== 'linux') return { pid, startedAt: '' };
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): after the name, which may hold anything, come the state and, 19 fields on, the start in ticks since boot.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    return { pid, startedAt: `${bootId()}:${fields[19] ?? ''}` };
  } catch {
    return null; // it ended between the two looks
  }
};

/** True while exactly that process runs. */
export const isRunning = (mark: ProcessMark): boolean => markProcess(mark.pid)?.startedAt === mark.startedAt;

const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
};
