// Ids of what a catalogue names by identifiers and addresses: the same text gives the same id for ever.
import { createHash } from 'node:crypto';
import { idPattern } from '../../model/key.ts';

const longestWord = 40;

/**
 * The id of an identifier: itself where it is one (`cftc-dc1`), else some of its words with 16 digits of its hash, so
 * that two identifiers never share an id.
 */
export const idOfIdentifier = (identifier: string): string =>
  idPattern.test(identifier) ? identifier : hashed(wordsOf(identifier.replace(/^[a-z]+:\/\//i, '')), identifier);

/** The id of a distribution that has no identifier: the name at the end of its address, with the hash of the whole. */
export const idOfAddress = (url: string): string => {
  const { pathname, hostname } = new URL(url);
  const name = pathname.split('/').findLast((part) => part !== '') ?? hostname;
  return hashed(wordsOf(decoded(name)), url);
};

const hashed = (words: string, text: string): string =>
  `${words === '' ? 'x' : words}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;

/** Lower-case letters and digits of a text, parted by single dashes; its end tells more than its beginning. */
const wordsOf = (text: string): string => {
  const words = text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-');
  // A word that is cut at its beginning is dropped, unless nothing else is left.
  const end = words.length > longestWord ? words.slice(-longestWord).replace(/^[^-]*-(?=.)/, '') : words;
  return end.replaceAll(/^-+|-+$/g, '');
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
