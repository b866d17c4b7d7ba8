// The rules of the jobs of a run that take many kills.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itemId } from '../../src/model/job.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { openToy, type Toy } from './support/toy.ts';

let toy: Toy;
beforeEach(async () => {
  toy = await openToy();
});
afterEach(() => toy.close());

const ended = async (runId: string) => (await toy.outcomes(runId)) !== null;

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

describe('a job whose worker is killed', () => {
  it('is resumed as often as that happens, as long as no step is hit five times', async () => {
    await toy.addRun('r5', ['kill-4']);
    const starts = await toy.startUntil(() => ended('r5'));
    expect(starts).toBe(5);
    expect((await toy.outcomes('r5'))?.['m/kill-4']).toMatchObject({ state: 'completed' });
    const logs = await toy.redis.lrange(redisKeys('toy').log(itemId('r5', 'm/kill-4')), 0, -1);
    expect(logs.filter((line) => line.includes('resumed after a kill in step boom'))).toHaveLength(4);
  });

  it('is not blamed for one beside it that kills the worker at each start', async () => {
    await toy.addRun('r6-beside', ['kill-99-late', 'beside']);
    await toy.startUntil(() => ended('r6-beside'));
    const outcomes = await toy.outcomes('r6-beside');
    expect(outcomes?.['m/kill-99-late']).toMatchObject({ state: 'failed', reason: { code: 'poison-job' } });
    expect(outcomes?.['m/beside']).toMatchObject({ state: 'completed' });
  });
});

describe('jobs that were hit twice', () => {
  it('go on one by one, so none is blamed for what they do together', async () => {
    const keys = ['crowd-1', 'crowd-2', 'crowd-3', 'crowd-4'];
    await toy.addRun('r6-crowd', keys);
    await toy.startUntil(() => ended('r6-crowd'));
    const outcomes = await toy.outcomes('r6-crowd');
    for (const key of keys) {
      expect(outcomes?.[`m/${key}`]).toMatchObject({ state: 'completed' });
      const logs = await toy.redis.lrange(redisKeys('toy').log(itemId('r6-crowd', `m/${key}`)), 0, -1);
      expect(logs.join('\n')).not.toContain('(3 in this step)');
    }
  });
});
