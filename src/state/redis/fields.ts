// Reading large Redis hashes, sets and lists in pieces, and writing fields outside of any job.
import type { Redis } from 'ioredis';
import type { JobWriter, StateWrite } from '../../model/lease.ts';

/** Writes fields and members in one transaction; in the name of a job where there is one, which is refused with JobLostError once it is lost. */
export const writeFields = async (
  redis: Redis,
  writer: JobWriter | null,
  writes: readonly StateWrite[],
): Promise<void> => {
  if (writer) return writer.write(writes);
  const multi = redis.multi();
  for (const write of writes) {
    if ('set' in write) {
      if (write.score === null) multi.zrem(write.set, write.member);
      else multi.zadd(write.set, write.score, write.member);
    } else if (write.value === null) multi.hdel(write.hash, write.field);
    else multi.hset(write.hash, write.field, write.value);
  }
  await multi.exec();
};

/** Fields, members or entries that one call requests. */
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

/** Buffers writes in the name of a job for its next write; outside of one they are written at once. */
export const writeSoon = async (
  redis: Redis,
  writer: JobWriter | null,
  writes: readonly StateWrite[],
): Promise<void> => (writer ? writer.writeLater(writes) : writeFields(redis, null, writes));

export async function* entriesOf(redis: Redis, key: string): AsyncGenerator<string> {
  for (let at = 0; ; at += pageSize) {
    const page = await redis.lrange(key, at, at + pageSize - 1);
    yield* page;
    if (page.length < pageSize) return;
  }
}

/** A field of a hash, or null where there is none; in the name of a job where there is one, as that job wrote it. */
export const readField = async (
  redis: Redis,
  hash: string,
  field: string,
  writer: JobWriter | null = null,
): Promise<Buffer | null> => {
  await writer?.catchUp({ hash, field });
  return redis.hgetBuffer(hash, field);
};
