// Reading large Redis hashes in pieces, and writing fields outside of any job.
import type { Redis } from 'ioredis';
import { type FieldWrite, sentValue } from '../../model/lease.ts';

/** Writes fields in one transaction. */
export const writeFields = async (redis: Redis, writes: readonly FieldWrite[]): Promise<void> => {
  const multi = redis.multi();
  for (const write of writes) {
    const { hash, field } = write;
    const value = sentValue(write);
    if (value === null) multi.hdel(hash, field);
    else multi.hset(hash, field, value);
  }
  await multi.exec();
};

/** Fields that one call requests. */
const scanned = 500;

/** Every field of a hash with its value, in no order; one that is written meanwhile may come twice. */
export async function* fieldsOf(redis: Redis, hash: string): AsyncGenerator<[field: string, value: Buffer]> {
  const scan = (cursor: string) => redis.hscanBuffer(hash, cursor, 'COUNT', scanned);
  let reply: ReturnType<typeof scan> | null = scan('0');
  while (reply !== null) {
    const [next, fields]: [Buffer, Buffer[]] = await reply;
    const cursor = next.toString();
    reply = cursor === '0' ? null : scan(cursor); // comes while this piece is worked on
    reply?.catch(() => undefined); // it may never be read
    for (const [at, value] of fields.entries()) if (at % 2 === 1) yield [`${fields[at - 1]}`, value];
  }
}
