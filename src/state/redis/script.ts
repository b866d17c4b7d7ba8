// A Lua script that the server keeps, so that a call sends its hash and not its text.
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

type RedisValue = string | number | Buffer;

/** One script; calls of it are atomic on the server. */
export class RedisScript {
  readonly #text: string;
  readonly #sha1: string;
  readonly #known = new WeakSet<Redis>();

  constructor(text: string) {
    this.#text = text;
    this.#sha1 = createHash('sha1').update(text).digest('hex');
  }

  /** Runs the script. The first call of a connection sends the text, so that it takes no second round trip. */
  run(redis: Redis, keys: string[], args: RedisValue[]): Promise<unknown> {
    return this.#run(redis, (command, script) => redis.call(command, script, keys.length, ...keys, ...args));
  }

  /** As {@link run}, with the strings of the answer as buffers. */
  runBuffer(redis: Redis, keys: string[], args: RedisValue[]): Promise<unknown> {
    return this.#run(redis, (command, script) => redis.callBuffer(command, script, keys.length, ...keys, ...args));
  }

  async #run(redis: Redis, call: (command: string, script: string) => Promise<unknown>): Promise<unknown> {
    if (!this.#known.has(redis)) {
      this.#known.add(redis);
      return call('EVAL', this.#text);
    }
    try {
      return await call('EVALSHA', this.#sha1);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return call('EVAL', this.#text);
    }
  }
}
