// A line of a file, as people are shown it.
import { readFileSync, statSync } from 'node:fs';

/** Larger files are not read for it: bytes. */
const mostBytes = 16_000_000;

/** The beginning of a line of a text, from 1; null where there is none, or the file is no longer there, too large, or no text. */
export const lineOfFile = (path: string, line: number): string | null => {
  try {
    if (statSync(path).size > mostBytes) return null;
    const text = readFileSync(path, 'utf8');
    const shown = text.includes('\0') ? undefined : text.split(/\r\n|\n|\r/, line)[line - 1];
    return shown === undefined ? null : shown.slice(0, 200).replaceAll(/\p{C}/gu, '\ufffd');
  } catch {
    return null;
  }
};
