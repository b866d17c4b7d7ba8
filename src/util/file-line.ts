// A line of a file, as people are shown it.
import { readFileSync, statSync } from 'node:fs';
import { BoundedMap } from './bounded-map.ts';

/** Larger files are not read for it: bytes. */
const mostBytes = 16_000_000;

/** Lines by file, number and version of the file: pages and `--watch` show the same ones again and again. */
const known = new BoundedMap<string, string | null>(1000);

/** The beginning of a line of a text, from 1; null where there is none, it is empty, or the file is no longer there, too large, or no text. */
export const lineOfFile = (path: string, line: number): string | null => {
  try {
    const { size, mtimeMs, ctimeMs } = statSync(path);
    if (size > mostBytes) return null;
    const sign = [path, line, size, mtimeMs, ctimeMs].join(' ');
    if (!known.has(sign)) known.set(sign, lineOfText(readFileSync(path, 'utf8'), line));
    return known.get(sign) ?? null;
  } catch {
    return null;
  }
};

const lineOfText = (text: string, line: number): string | null => {
  const shown = text.includes('\0') ? undefined : text.split(/\r\n|\n|\r/, line)[line - 1];
  if (!shown) return null;
  const copy = Buffer.from(shown.slice(0, 200)).toString(); // a part of a string keeps all of it in memory
  return copy.replaceAll(/\p{C}/gu, '\ufffd');
};
