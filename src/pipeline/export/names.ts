// Names of folders and files of an export: they fit on every file system, are unique on each, and never lead out of their folder.
import { extname } from 'node:path';
import { slugOf } from '../../dataset-api/slug.ts';

/** Names that Windows keeps for devices, with any ending. */
const reserved = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;

const longestSlug = 56;

/** Longest file name in bytes of UTF-8: file systems take 255, with room for a temporary name. */
const longestName = 200;

/** A name for what has this title: `City Budget 2026` -> `city-budget-2026`; adds it to `taken`, where it is unique. */
export const slugName = (title: string, fallback: string, taken: Set<string>): string => {
  const short = slugOf(title.normalize('NFC').slice(0, longestSlug)) ?? slugOf(fallback) ?? 'item';
  const plain = short
    .replaceAll(/\.{2,}/g, '.')
    .slice(0, longestSlug)
    .replace(/[^a-z0-9]+$/, '');
  return unique(reserved.test(plain) ? `x-${plain}` : plain, taken, (name, number) => `${name}-${number}`);
};

/**
 * A path in a `data` folder for a file of this name, which is kept as far as that is possible everywhere; a second one of
 * the name gets a folder of its own, so that it is sent under the same name again.
 */
export const filePathFor = (name: string, taken: Set<string>): string =>
  unique(fileName(name), taken, (plain, number) => `${number}/${plain}`);

const fileName = (name: string): string => {
  const plain = name
    .normalize('NFC')
    .replaceAll(/[\p{C}<>:"/\\|?*]+/gu, '_')
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^[\s.~]+/, '')
    .replace(/[\s.]+$/, '');
  const safe = plain === '' || reserved.test(plain) ? `file-${plain}` : plain;
  const ending = Buffer.byteLength(extname(safe)) < 20 ? extname(safe) : '';
  return cut(safe.slice(0, safe.length - ending.length), longestName - Buffer.byteLength(ending)) + ending;
};

/** As much of a text as fits into so many bytes of UTF-8. */
const cut = (text: string, bytes: number): string => {
  let [kept, length] = ['', 0];
  for (const character of text) {
    length += Buffer.byteLength(character);
    if (length > bytes) return kept;
    kept += character;
  }
  return kept;
};

/** Names that differ by case or composition alone are one name on some file systems. */
const unique = (name: string, taken: Set<string>, other: (name: string, number: number) => string): string => {
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : other(name, number);
    const folded = candidate.normalize('NFC').toLowerCase();
    if (taken.has(folded)) continue;
    taken.add(folded);
    return candidate;
  }
};
