// A Lua script that the server keeps, so that a call sends its hash and not its text.
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** One script; calls of it are atomic on the server. */
export class RedisScript {
  readonly #text: string;
  readonly #sha1: string;
  readonly #told = new WeakSet<Redis>();

  constructor(text: string) {
    this.#text = text;
    this.#sha1 = createHash('sha1').update(text).digest('hex');
  }

  /** Runs the script. The first call of a connection sends the text, so that it takes no second round trip. */
  async run(redis: Redis, keys: string[], args: (string | number)[]): Promise<unknown> {
    if (!this.#told.has(redis)) {
      this.#told.add(redis);
      return redis.eval(this.#text, keys.length, ...keys, ...args);
    }
    try {
      return await redis.evalsha(this.#sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return redis.eval(this.#text, keys.length, ...keys, ...args);
    }
  }
}
