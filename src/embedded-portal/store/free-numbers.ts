// The smallest free number of each series (`name_0.csv`, `name_1.csv` …), without trying all used ones.

interface Series {
  /** Every number below is taken, or among the gaps. */
  next: number;
  /** Numbers below that may be free, smallest first. */
  gaps: number[];
}

/** Series that are remembered; beyond that all are forgotten, and the first number of each is searched for again. */
const most = 10_000;

/**
 * Remembers how far each series is taken. It is only a hint: the caller checks what it proposes, so that numbers
 * taken or freed by a write that was rolled back do no harm.
 */
export class FreeNumbers {
  readonly #series = new Map<string, Series>();
  /** Given since the last {@link kept}. */
  #given: { base: string; number: number }[] = [];

  /**
   * The smallest number that `isFree`. `own` is a number that the caller already has: it is returned, and none is taken,
   * when it is the smallest.
   */
  take(base: string, isFree: (number: number) => boolean, own: number | null = null): number {
    const series = this.#of(base);
    for (let gap = series.gaps[0]; gap !== undefined && !isFree(gap); gap = series.gaps[0]) series.gaps.shift();
    if (series.gaps.length === 0) while (!isFree(series.next)) series.next += 1;
    const number = series.gaps[0] ?? series.next;
    if (own !== null && own <= number) return own;
    if (series.gaps.length > 0) series.gaps.shift();
    else series.next += 1;
    this.#given.push({ base, number });
    return number;
  }

  /** A number may be free again. */
  free(base: string, number: number): void {
    const series = this.#series.get(base);
    if (!series || number >= series.next) return;
    let [low, high] = [0, series.gaps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((series.gaps[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    if (series.gaps[low] !== number) series.gaps.splice(low, 0, number);
  }

  /** What was given is durable. */
  kept(): void {
    this.#given = [];
  }

  /** Some of what was given may have been undone. */
  undone(): void {
    for (const { base, number } of this.#given) this.free(base, number);
  }

  #of(base: string): Series {
    const known = this.#series.get(base);
    if (known) return known;
    if (this.#series.size >= most) this.#series.clear();
    const series: Series = { next: 0, gaps: [] };
    this.#series.set(base, series);
    return series;
  }
}
