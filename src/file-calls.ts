// System calls on files as promises, without the file handles of `node:fs/promises`, which take twice the time.
import { close, fstat, open, read, stat } from 'node:fs';
import { promisify } from 'node:util';

/** Opens a file and gives its descriptor, which is the caller's to close. */
export const openFile = promisify(open);
export const readFile = promisify(read);
export const closeFile = promisify(close);
export const statFile = promisify(fstat);
export const statPath = promisify(stat);
