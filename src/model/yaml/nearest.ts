// The closest known word for a misspelt one.

/** Words that people use for keys of ours; each stands for the key that is meant. */
const keySynonyms: Record<string, string> = {
  homepage: 'landingPage',
  keywords: 'tags',
  keyword: 'tags',
  licence: 'license',
  body: 'description',
  notes: 'description',
  url: 'link',
  path: 'file',
  topic: 'topics',
  theme: 'themes',
  group: 'groups',
  cron: 'schedule',
  user: 'username',
  name: 'title',
  distribution: 'resources',
};

/** The entry that is meant: equal but for case and separators, a synonym, or at most a third of its letters away. */
export const nearest = (
  word: string,
  known: readonly string[],
  synonyms: Readonly<Record<string, string>> = keySynonyms,
): string | undefined => {
  const plain = bare(word);
  const same = known.find((candidate) => bare(candidate) === plain);
  if (same !== undefined) return same;
  const meant = synonyms[word.toLowerCase()];
  if (meant !== undefined && known.includes(meant)) return meant;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(plain.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(plain, bare(candidate), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
};

/** The beginning of a hint: what may be meant by an unknown word; '' where nothing is near. */
export const didYouMean = (word: string, known: readonly string[], synonyms = {}): string => {
  const meant = nearest(word, known, synonyms);
  return meant === undefined ? '' : `did you mean \`${meant}\`? `;
};

const bare = (word: string): string => word.toLowerCase().replaceAll(/[-_\s]/g, '');

/** Letters to insert, delete, replace or swap with their neighbour; `limit` when it is that or more. */
const editDistance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) >= limit || a.length > 64) return limit;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        at(row, j) + 1,
        at(next, j - 1) + 1,
        at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
        swapped ? at(before, j - 2) + 1 : limit,
      );
    }
    [before, row] = [row, next];
  }
  return Math.min(limit, at(row, b.length));
};

const at = (row: number[], index: number): number => row[index] ?? 0;
