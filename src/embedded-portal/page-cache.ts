// The page cache of a deployed site: what visitors without a session get stays as it is, whatever is written meanwhile.
import { BoundedMap } from '../util/bounded-map.ts';
import type { Answer } from './answer.ts';

export class PageCache {
  readonly #pages = new BoundedMap<string, { answer: Answer; madeAt: number }>(1000);

  /** The page at an address as it was made at most `age` milliseconds ago; `make` makes it where none is kept. */
  async serve(key: string, age: number, make: () => Promise<Answer>): Promise<Answer> {
    const known = this.#pages.get(key);
    if (known !== undefined && Date.now() - known.madeAt < age) return marked(known.answer, 'HIT', age);
    const answer = await make();
    const startsSession = answer.headers?.['set-cookie'] !== undefined;
    if (answer.status !== 200 || typeof answer.body !== 'string' || startsSession) return answer;
    this.#pages.set(key, { answer, madeAt: Date.now() });
    return marked(answer, 'MISS', age);
  }

  clear(): void {
    this.#pages.clear();
  }
}

const marked = (answer: Answer, hit: 'HIT' | 'MISS', age: number): Answer => ({
  ...answer,
  headers: {
    ...answer.headers,
    'x-drupal-cache': hit,
    'cache-control': `public, max-age=${Math.ceil(age / 1000)}`,
  },
});
