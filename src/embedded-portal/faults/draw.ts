// Which fault a request meets: drawn from the seed, so that the same requests meet the same faults again.
import { createHash } from 'node:crypto';
import picomatch from 'picomatch';
import { durationMs } from '../../util/quantity.ts';
import type { FaultPlan, FaultRule } from './rules.ts';

/** What happens to one request. */
export interface Draw {
  /** Milliseconds to hold the request back. */
  delayMs: number;
  /** The rule that decides; null when the request passes unharmed. */
  fault: Exclude<FaultRule, { fault: 'delay' | 'pass' }> | null;
}

/** Draws for the requests of one plan. */
export class Draws {
  readonly #seed: number;
  readonly #rules: { rule: FaultRule; method: string; matches: (path: string) => boolean; hits: number }[];
  readonly #seen = new Map<string, number>();

  constructor({ seed, rules }: FaultPlan) {
    this.#seed = seed;
    this.#rules = rules.map((rule) => {
      const [method = '*', pattern = '/**'] = rule.route.split(' ');
      return { rule, method, matches: picomatch(pattern, { dot: true, nocase: true }), hits: 0 };
    });
  }

  /**
   * The fault of a request; `path` without its query. A draw depends on seed, rule, method, path and how often that
   * method and path came before, not on the order in which different requests arrive.
   */
  next(method: string, path: string): Draw {
    const name = `${method} ${path}`;
    const nth = (this.#seen.get(name) ?? 0) + 1;
    this.#seen.set(name, nth);
    let delayMs = 0;
    for (const [index, known] of this.#rules.entries()) {
      const { rule } = known;
      if ((known.method !== '*' && known.method !== method) || !known.matches(path)) continue;
      if (known.hits >= (rule.times ?? Number.POSITIVE_INFINITY)) continue;
      const [chance, amount] = numbersOf(`${this.#seed} ${index} ${name} ${nth}`);
      if (chance >= (rule.probability ?? 1)) continue;
      known.hits += 1;
      if (rule.fault === 'pass') break;
      if (rule.fault !== 'delay') return { delayMs, fault: rule };
      delayMs += delayOf(rule, amount);
    }
    return { delayMs, fault: null };
  }
}

const delayOf = ({ delay, upTo }: Extract<FaultRule, { fault: 'delay' }>, amount: number): number => {
  const least = durationMs(delay);
  return least + Math.max(0, durationMs(upTo ?? delay) - least) * amount;
};

/** Two numbers from 0 up to 1 that belong to a text. */
const numbersOf = (text: string): [number, number] => {
  const bytes = createHash('sha256').update(text).digest();
  return [bytes.readUIntBE(0, 6) / 2 ** 48, bytes.readUIntBE(6, 6) / 2 ** 48];
};
