// System calls on files: flags, small files at once, what the system reports.
import { type BigIntStats, chmodSync, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Flags to open a file for reading: a pipe that was put there meanwhile must not hang the open. */
export const readFlags = constants.O_RDONLY | constants.O_NONBLOCK;

/** Up to this size, reading a file at once is faster than having another thread open and read it. */
export const smallBytes = 16 * 1024;

export const isSmall = (bytes: number): boolean => bytes <= smallBytes;

/** A small file as it was read, with what the system says of it afterwards. */
interface SmallFile {
  /** One byte more than was requested where the file has grown. */
  content: Buffer;
  stats: BigIntStats;
}

/**
 * Reads a small file of `bytes` bytes within this turn of the event loop. To be called right after `stat` found
 * it: where its drive does not answer, that call waits and blocks nothing else. The content is in `memory`, which has room
 * for a byte more.
 */
export const readSmall = (path: string, bytes: number, memory = Buffer.allocUnsafeSlow(bytes + 1)): SmallFile => {
  const file = openSync(path, readFlags);
  try {
    let length = 0;
    for (let got = -1; got !== 0 && length <= bytes; length += got) {
      got = readSync(file, memory, length, bytes + 1 - length, null);
    }
    return { content: memory.subarray(0, length), stats: fstatSync(file, { bigint: true }) };
  } finally {
    closeSync(file);
  }
};

/** True for an error of a system call. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException & { code: string } =>
  error instanceof Error && 'code' in error && 'syscall' in error;

/** Sets the mode of a file or folder; file systems without modes are left alone. */
export const keepPrivate = (path: string, mode: 0o600 | 0o700): void => {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
};
