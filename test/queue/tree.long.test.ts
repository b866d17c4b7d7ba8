// The rules of the job tree that take many kills.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openToy, type Toy } from './support/toy.ts';

let toy: Toy;
beforeEach(async () => {
  toy = await openToy();
});
afterEach(() => toy.close());

describe('a run or trigger that kills its worker', () => {
  it('is given up as poison after five kills in the same step, with that reason', async () => {
    await toy.addRun('r6-deadly', ['deadly']);
    const data = { ...(await toy.queues.runs.getJob('r6-deadly'))?.data, kind: 'trigger' };
    await toy.queues.runs.add('trigger', data, toy.queues.runOptions('t6-deadly'));
    await toy.startUntil(async () => (await toy.redis.hlen('toy.failed')) === 2);
    expect(await toy.redis.hget('toy.failed', 'r6-deadly')).toBe('poison-job');
    expect(await toy.redis.hget('toy.failed', 't6-deadly')).toBe('the worker was killed 5 times in step start');
  });
});
