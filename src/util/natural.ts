// The order of names as people count: `amt-2` before `amt-10`.

const collator = new Intl.Collator('en', { numeric: true });

/** Compares names; those that are equal but for how a number is written, by their characters. */
export const byName = (a: string, b: string): number => collator.compare(a, b) || (a < b ? -1 : Number(a > b));
