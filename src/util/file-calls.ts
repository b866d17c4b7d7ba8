// System calls on files: flags, what is small, what the system reports.
import { chmodSync, constants } from 'node:fs';

/** Flags to open a file for reading: a pipe that was put there meanwhile must not hang the open. */
export const readFlags = constants.O_RDONLY | constants.O_NONBLOCK;

/** True for a file that is checked in less time than it takes to record that the check begins. */
export const isSmall = (bytes: number): boolean => bytes <= 16 * 1024;

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
