// Reads sets of any size in pages.
import type { Redis } from 'ioredis';

const pageSize = 500;

/** Members of a sorted set that match a pattern of Redis, in pages; none that stands there throughout is missed. */
export async function* membersOf(redis: Redis, key: string, match: string): AsyncGenerator<string> {
  let cursor = '0';
  do {
    const [next, page] = await redis.zscan(key, cursor, 'MATCH', match, 'COUNT', pageSize);
    for (let at = 0; at < page.length; at += 2) yield page[at] ?? '';
    cursor = next;
  } while (cursor !== '0');
}

/** Entries of a list, in pages. */
export async function* entriesOf(redis: Redis, key: string): AsyncGenerator<string> {
  for (let at = 0; ; at += pageSize) {
    const page = await redis.lrange(key, at, at + pageSize - 1);
    yield* page;
    if (page.length < pageSize) return;
  }
}
