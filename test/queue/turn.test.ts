// The rules of the jobs of a run, each with real worker processes and real kills.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itemId } from '../../src/model/job.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { lockLost } from '../../src/queue/turn.ts';
import { isWhole } from '../support/extent.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openToy, type Toy } from './support/toy.ts';

let toy: Toy;
beforeEach(async () => {
  toy = await openToy();
});
afterEach(() => toy.close());

const ended = async (runId: string) => (await toy.outcomes(runId)) !== null;

describe('a run', () => {
  it('ends when its jobs have, those that failed with their reasons', async () => {
    await toy.serve();
    await toy.addRun('r1', ['ok', 'fail']);
    const outcomes = await waitUntil('the run', () => toy.outcomes('r1'));
    expect(outcomes['m/ok']).toEqual({ state: 'completed' });
    expect(outcomes['m/fail']).toMatchObject({
      state: 'failed',
      reason: { code: 'portal-refused', message: 'portal p: no', hint: 'ask' },
    });
  });

  it('ends although its worker was killed between the plan and adding the jobs', async () => {
    await toy.addRun('r2', ['fail', 'ok']);
    const starts = await toy.startUntil(() => ended('r2'), 'kill-before-adding');
    expect(starts).toBeGreaterThan(1);
    expect((await toy.outcomes('r2'))?.['m/fail']).toMatchObject({ state: 'failed' });
    expect((await toy.outcomes('r2'))?.['m/ok']).toMatchObject({ state: 'completed' });
  });

  it('continues, and is not given up, when the lock of its job has run out at the end of the plan', async () => {
    await toy.start('lose-lock-before-adding');
    await toy.addRun('r9', ['ok']);
    const outcomes = await waitUntil('the run', () => toy.outcomes('r9'));
    expect(outcomes['m/ok']).toMatchObject({ state: 'completed' });
    expect(Number(await toy.redis.get('toy.tricks:r9'))).toBeGreaterThan(1);
    expect(await toy.redis.hgetall('toy.failed')).toEqual({});
  });

  it.runIf(isWhole)('has more jobs than the queue gets at once, and each runs once', async () => {
    const keys = Array.from({ length: 1200 }, (_, index) => `ok-${index}`);
    await toy.serve();
    await toy.addRun('r3', [...keys, 'fail']);
    const most = await waitUntil('the first jobs', async () => {
      const { wait = 0 } = await toy.queues.portal('p').getJobCounts('wait');
      return wait > 0 ? wait : null;
    });
    expect(most).toBeLessThanOrEqual(1000);
    await waitUntil('the run', () => ended('r3'));
    const starts = await Promise.all(keys.map((key) => toy.redis.get(`toy.starts:${key}`)));
    expect(starts.filter((count) => count !== '1')).toEqual([]);
  });

  it('leaves nothing of its jobs but their logs', async () => {
    await toy.serve();
    await toy.addRun('r4', ['kill-0', 'fail']);
    await waitUntil('the run', () => ended('r4'));
    const log = redisKeys('toy').log(itemId('r4', 'm/kill-0'));
    expect((await toy.redis.lrange(log, 0, -1)).join('\n')).toContain('boom');
    expect(await toy.redis.ttl(log)).toBeGreaterThan(0);
    const { wait, active, ...counts } = await toy.queues.portal('p').getJobCounts();
    expect(Object.values(counts).filter((count) => count > 0)).toEqual([]);
  });
});

describe('a job whose worker is killed', () => {
  it.runIf(isWhole)('is given up as poison after five kills in the same step, with that reason', async () => {
    await toy.addRun('r6', ['kill-99', 'ok']);
    const starts = await toy.startUntil(() => ended('r6'));
    expect(starts).toBe(6);
    const outcomes = await toy.outcomes('r6');
    expect(outcomes?.['m/kill-99']).toMatchObject({ state: 'failed', reason: { code: 'poison-job' } });
    expect(outcomes?.['m/ok']).toMatchObject({ state: 'completed' });
  });
});

describe('a job whose lock a live worker lost', () => {
  it('is resumed up to fifty times in the same step, which counts as no kill', async () => {
    await toy.serve();
    await toy.addRun('r6-lost', ['lose-12', 'lose-99']);
    const outcomes = await waitUntil('the run', () => toy.outcomes('r6-lost'));
    expect(outcomes['m/lose-12']).toMatchObject({ state: 'completed' });
    expect(outcomes['m/lose-99']).toMatchObject({ state: 'failed', reason: { code: 'poison-job' } });
    expect(await toy.redis.get('toy.losses:lose-99')).toBe('50');
    const logs = await toy.redis.lrange(redisKeys('toy').log(itemId('r6-lost', 'm/lose-12')), 0, -1);
    expect(logs.filter((line) => line.includes('resumed after its lock was lost in step slip'))).toHaveLength(12);
  });

  it('is told to end as soon as the engine finds its lock with another worker', async () => {
    await toy.serve();
    await toy.addRun('r6-taken', ['slow-lost']);
    await waitUntil('the job to begin', () => toy.redis.get('toy.starts:slow-lost'));
    const key = toy.queues.portal('p').toKey(itemId('r6-taken', 'm/slow-lost'));
    await toy.redis.set(`${key}:lock`, 'token of another worker');
    expect(await waitUntil('its end', () => toy.redis.get('toy.cut'))).toContain(lockLost);
  });
});

describe('a failed attempt', () => {
  it('is repeated when its error is transient', async () => {
    await toy.serve();
    await toy.addRun('r7', ['transient']);
    const outcomes = await waitUntil('the run', () => toy.outcomes('r7'));
    expect(outcomes['m/transient']).toEqual({ state: 'completed' });
    expect(await toy.redis.get('toy.starts:transient')).toBe('3');
  });

  it('is not repeated when its error is a bug, and says so', async () => {
    await toy.serve();
    await toy.addRun('r8', ['bug']);
    const outcomes = await waitUntil('the run', () => toy.outcomes('r8'));
    expect(outcomes['m/bug']).toMatchObject({ state: 'failed', reason: { code: 'bug', message: 'oops' } });
    expect(await toy.redis.get('toy.starts:bug')).toBe('1');
    expect(await toy.redis.hget('toy.failed', 'm/bug')).toBe('bug');
  });

  it('pauses the portal when its login was refused, and the job waits unharmed', async () => {
    await toy.serve();
    await toy.addRun('r9', ['login']);
    const queue = toy.queues.portal('p');
    await waitUntil('the pause', () => queue.isPaused());
    await waitUntil('the job to wait', async () => (await queue.getJobState(itemId('r9', 'm/login'))) === 'waiting');
    expect((await queue.getJob(itemId('r9', 'm/login')))?.attemptsMade).toBe(0);
  });
});

describe('a stop', () => {
  it.each([
    ['in a step', 'slow-read'],
    ['in a wait between two steps', 'slow-between'],
    ['in a look at the portal between two steps', 'slow-between-look'],
    ['in a failure that comes at the same time', 'slow-refused'],
  ])('gives back a job that has not begun a write, %s, without spending an attempt', async (_, name) => {
    const workers = await toy.serve();
    await toy.addRun('r10', [name]);
    const id = itemId('r10', `m/${name}`);
    const queue = toy.queues.portal('p');
    await waitUntil(
      'the read',
      async () => (await queue.getJobState(id)) === 'active' && (await toy.redis.get(`toy.starts:${name}`)),
    );
    await workers.stop();
    expect(await queue.getJobState(id)).toBe('waiting');
    expect((await queue.getJob(id))?.attemptsMade).toBe(0);
  });

  it('lets a write finish', async () => {
    const workers = await toy.serve();
    await toy.addRun('r11', ['slow-write']);
    await waitUntil('the write', () => toy.redis.get('toy.writing'));
    await workers.stop();
    expect(await toy.redis.get('toy.written')).toBe('1');
    expect(await toy.redis.hget('toy.outcomes:r11', 'm/slow-write')).toBe('{"state":"completed"}');
  });
});
