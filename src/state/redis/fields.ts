// Reading large Redis hashes, sets and lists in pieces, and writing fields outside of any job.
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import type { FieldWrite, StateWrite, StateWriter } from '../../model/lease.ts';
import { parsedJson } from '../../util/json.ts';
import { redisScript } from './script.ts';

/** Writes fields and members outside of any job, each time at once and in one transaction. */
export const plainWriter = (redis: Redis): StateWriter => {
  const write = async (writes: readonly StateWrite[]): Promise<void> => {
    const multi = redis.multi();
    for (const each of writes) {
      if ('set' in each) {
        if (each.score === null) multi.zrem(each.set, each.member);
        else multi.zadd(each.set, each.score, each.member);
      } else if (each.value === null) multi.hdel(each.hash, each.field);
      else multi.hset(each.hash, each.field, each.value);
    }
    await multi.exec();
  };
  return { lease: null, write, writeLater: write, catchUp: async () => undefined, read: (_, ask) => ask() };
};

/** The JSON of a field; null where there is none, or one of an unknown shape, as another release may write. */
export const storedAs = <T>(schema: z.ZodType<T>, value: FieldWrite['value'] | undefined): T | null =>
  value ? (schema.safeParse(parsedJson(`${value}`)).data ?? null) : null;

const pageSize = 500;

/** Every field of a hash that matches a pattern of Redis, with its value, in no order; one that is written meanwhile may come twice. */
export async function* fieldsOf(
  redis: Redis,
  hash: string,
  match = '*',
): AsyncGenerator<[field: string, value: Buffer]> {
  let cursor = '0';
  do {
    const [next, fields] = await redis.hscanBuffer(hash, cursor, 'MATCH', match, 'COUNT', pageSize);
    for (let at = 0; at < fields.length; at += 2) yield [`${fields[at]}`, fields[at + 1] ?? Buffer.alloc(0)];
    cursor = `${next}`;
  } while (cursor !== '0');
}

const dividePage = redisScript(`
local cursor, page = unpack(redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ${pageSize}))
local having, others = {}, {}
for at = 1, #page, 2 do
  if string.find(page[at + 1], ARGV[2], 1, true) then table.insert(having, page[at])
  else table.insert(others, {page[at], page[at + 1]}) end
end
return {cursor, having, others}
`);

/** The fields of a hash whose values hold a text, and the other fields with their values; told apart where they are stored. */
export const dividedFields = async (redis: Redis, hash: string, text: string) => {
  const [having, others] = [new Set<string>(), new Map<string, string>()];
  let cursor = '0';
  do {
    const page = (await dividePage(redis, [hash], [cursor, text])) as [string, string[], [string, string][]];
    cursor = page[0];
    for (const field of page[1]) having.add(field);
    for (const [field, value] of page[2]) others.set(field, value);
  } while (cursor !== '0');
  return { having, others };
};

/** A hash that is small enough to be read whole, such as the terms of a portal. */
export const smallHash = (redis: Redis, key: string) => ({
  read: (): Promise<Readonly<Record<string, string>>> => redis.hgetall(key),
  write: async (fields: Readonly<Record<string, string>>): Promise<void> => {
    await redis.hset(key, fields);
  },
});

/** Members of a sorted set that match a pattern of Redis, in pages; none that is there throughout is missed. */
export async function* membersOf(redis: Redis, key: string, match: string): AsyncGenerator<string> {
  let cursor = '0';
  do {
    const [next, page] = await redis.zscan(key, cursor, 'MATCH', match, 'COUNT', pageSize);
    for (let at = 0; at < page.length; at += 2) yield page[at] ?? '';
    cursor = next;
  } while (cursor !== '0');
}

export async function* entriesOf(redis: Redis, key: string): AsyncGenerator<string> {
  for (let at = 0; ; at += pageSize) {
    const page = await redis.lrange(key, at, at + pageSize - 1);
    yield* page;
    if (page.length < pageSize) return;
  }
}
