// Counts as people read them.

/** A whole number with commas. (As `toLocaleString`, which loads tables for all languages first.) */
export const countText = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');

/** A count with its noun, which gets an `s` unless the count is 1: `1 dataset`, `12,345 datasets`. */
export const plural = (count: number, noun: string): string => `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;

/** The first `most` names, and how many there are beyond: `a, b and 3 more`. */
export const listed = (names: readonly string[], most = 10): string =>
  `${names.slice(0, most).join(', ')}${names.length > most ? ` and ${countText(names.length - most)} more` : ''}`;

/** Counts with their words, but for those of nothing: `12 live, 3 stale`; '' where all are. */
export const tally = (counts: Record<string, number>): string => {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.map(([word, count]) => `${countText(count)} ${word}`).join(', ');
};
