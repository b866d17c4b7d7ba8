// System calls on files: as promises without the file handles of `node:fs/promises`, which take twice the time, and at
// once for small files.
import {
  type BigIntStats,
  chmodSync,
  close,
  closeSync,
  constants,
  fstat,
  fstatSync,
  open,
  openSync,
  read,
  readSync,
  stat,
} from 'node:fs';
import { promisify } from 'node:util';

/** Opens a file and gives its descriptor, which is the caller's to close. */
export const openFile = promisify(open);
export const readFile = promisify(read);
export const closeFile = promisify(close);
export const statFile = promisify(fstat);
export const statPath = promisify(stat);

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
 * Reads a small file of `bytes` bytes within this turn of the event loop. To be called right after {@link statPath} found
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
