// The order of names as people count: `amt-2` before `amt-10`.

let collator: Intl.Collator | undefined;

/** Compares names; those that are equal but for how a number is written, by their characters. */
export const byName = (a: string, b: string): number => {
  collator ??= new Intl.Collator('en', { numeric: true }); // takes long, and many commands compare none
  return collator.compare(a, b) || (a < b ? -1 : Number(a > b));
};
