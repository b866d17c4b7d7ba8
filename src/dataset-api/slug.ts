// Ids and titles made of names that people gave files, folders and rows.
import { idPattern } from '../model/key.ts';

const letters: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ı: 'i' };

/** Makes an id of a name (`City Budget` -> `city-budget`, `Zürich` -> `zurich`); null when none can be made. */
export const slugOf = (name: string): string | null => {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const slug = plain
    .replaceAll(/[ßæœøđðþłı]/g, (letter) => letters[letter] ?? letter)
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
  return idPattern.test(slug) ? slug : null;
};

/** The name itself where it is an id, else an id made of it; null when none can be made. */
export const idOfName = (name: string): string | null => (idPattern.test(name) ? name : slugOf(name));

/** The title that a name gives: `city-budget` -> `City budget`. */
export const titleOfName = (name: string): string => {
  const words = name.replaceAll(/[-_\s\p{C}]+/gu, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};
