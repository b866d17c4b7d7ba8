// Closes files and folders to others, also those that exist with wider permissions.
import { chmodSync } from 'node:fs';

/** Sets the mode of a file or folder; file systems that know no modes are left alone. */
export const keepPrivate = (path: string, mode: 0o600 | 0o700): void => {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
};
