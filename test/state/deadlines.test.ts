// When what is expected must happen again.
import { expect, it } from 'vitest';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { deadlinesIn } from '../../src/state/deadlines.ts';
import { useLedger } from '../pipeline/handlers/support/job.ts';

const { redis } = useLedger();

it('more may happen at once than one command can name', async () => {
  const deadlines = deadlinesIn(redis(), redisKeys('test'));
  const members = Array.from({ length: 150_000 }, (_, index) => `data p city/${index}`);
  const last = members.at(-1) ?? '';
  await deadlines.expect([{ member: last, everyMs: 1000 }], 0);
  await deadlines.happened(members, 1_000_000);
  expect(await deadlines.countLate(1_000_500)).toBe(0);
  expect(await deadlines.late(10_000_000, 10)).toMatchObject([{ member: last }]);
});
