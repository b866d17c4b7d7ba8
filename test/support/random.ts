// Choices from a seed, so that a failing run can be had again.

/** A source of choices. */
export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number from `least` to `most`. */
  int(least: number, most: number): number;
  chance(probability: number): boolean;
  /** One of the names, each with its weight. */
  weighted<T extends string>(weights: Record<T, number>): T;
}

/** Choices of a seed (mulberry32). */
export const randomOf = (seed: number): Random => {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    int: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    weighted: <T extends string>(weights: Record<T, number>): T => {
      const names = Object.keys(weights) as T[]; // its own keys
      let left = next() * names.reduce((sum, name) => sum + weights[name], 0);
      for (const name of names) {
        left -= weights[name];
        if (left < 0) return name;
      }
      return names[names.length - 1] as T; // rounding
    },
  };
};
