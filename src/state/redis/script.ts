// A Lua script; calls of it are atomic on the server.
import type { Redis } from 'ioredis';

export class RedisScript {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  run(redis: Redis, keys: string[], args: (string | number | Buffer)[]): Promise<unknown> {
    return redis.eval(this.#text, keys.length, ...keys, ...args);
  }
}
