// Writing fields of Redis hashes outside of any job.
import type { Redis } from 'ioredis';
import type { FieldWrite } from '../../model/lease.ts';

/** Writes fields in one transaction. */
export const writeFields = async (redis: Redis, writes: readonly FieldWrite[]): Promise<void> => {
  const multi = redis.multi();
  for (const { hash, field, value } of writes) {
    if (value === null) multi.hdel(hash, field);
    else multi.hset(hash, field, value);
  }
  await multi.exec();
};
