// The circuit breaker, with real workers and a portal over HTTP that goes down and comes back.
import { describe, expect, it } from 'vitest';
import { PortalUnreachableError } from '../../src/model/errors.ts';
import { itemId } from '../../src/model/job.ts';
import { createLog } from '../../src/model/log.ts';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { circuitBreaker } from '../../src/queue/pause.ts';
import { waitUntil } from '../support/wait-until.ts';
import { count, failedProbes, keys, openToyPauses, paused, pauses, portal, toy } from './support/toy-pauses.ts';

openToyPauses();

describe('a portal that asks for a long pause by Retry-After', () => {
  it('is paused at once with that reason, and asked again long before the pause would be over', async () => {
    portal.down.add('p');
    portal.retryAfter = 86_400;
    await toy.serve();
    await toy.addRun('r1', keys(1));
    const { reason } = await paused();
    expect(reason.message).toBe('portal p requested a pause of 86400 s: 503');
    expect(count('p/work')).toBe(1);
    portal.down.clear();
    const outcomes = await waitUntil('the run', () => toy.outcomes('r1'));
    expect(outcomes['m/http-0']).toEqual({ state: 'completed' });
  });
});

describe('a portal that fails several times in a row', () => {
  it('is paused with the reason, and its jobs go on by themselves once it answers', async () => {
    portal.down.add('p');
    await toy.serve();
    await toy.addRun('r1', keys(20));
    const { reason, since } = await paused();
    expect(reason.code).toBe('portal-unreachable');
    expect(reason.message).toMatch(/^portal p failed 5 times in a row, the last time with: 503/);
    expect(since).toBeGreaterThan(Date.now() - 30_000);
    await waitUntil('the jobs in flight', async () => (await toy.queues.portal('p').getActiveCount()) === 0);
    const attempts = count('p/work');
    await failedProbes(2);
    expect(await toy.queues.portal('p').isPaused()).toBe(true);
    expect(count('p/work')).toBe(attempts);
    portal.down.clear();
    const outcomes = await waitUntil('the run', () => toy.outcomes('r1'));
    expect(Object.values(outcomes).every(({ state }) => state === 'completed')).toBe(true);
    expect(await pauses.state('p')).toBeNull();
    const last = (await pauses.record('p')).last;
    expect(last).toMatchObject({ since, reason: { code: 'portal-unreachable' } });
    expect(last?.until).toBeGreaterThan(since);
  });

  it('costs no job more attempts than it took to find out', async () => {
    portal.down.add('p');
    await toy.serve();
    await toy.addRun('r1', keys(6));
    await paused();
    await failedProbes(3);
    await waitUntil('the jobs in flight', async () => (await toy.queues.portal('p').getActiveCount()) === 0);
    const jobs = await Promise.all(keys(6).map((key) => toy.queues.portal('p').getJob(itemId('r1', `m/${key}`))));
    const made = jobs.map((job) => job?.attemptsMade ?? 0);
    // Five faults in a row raised the question, and a probe answered it.
    expect(made.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(5);
    expect(Math.max(...made)).toBeLessThan(4);
    expect(await toy.queues.portal('p').getFailedCount()).toBe(0);
  });

  it('does not hold up another portal, nor the runs', async () => {
    portal.down.add('p');
    await toy.serve();
    await toy.addRun('r1', keys(8));
    await paused();
    await toy.addRun('r2', keys(8), 'q');
    const outcomes = await waitUntil('the run on the other portal', () => toy.outcomes('r2'));
    expect(Object.values(outcomes).every(({ state }) => state === 'completed')).toBe(true);
    expect(await pauses.state('p')).not.toBeNull();
    expect(await toy.outcomes('r1')).toBeNull();
  });

  it('has its runs wait as well when they need it themselves, without spending their attempts', async () => {
    portal.down.add('p');
    await toy.serve();
    await toy.addRun('r1', keys(8));
    await paused();
    await toy.addRun('r2', ['plan']);
    await waitUntil('the run to ask', () => count('p/plan') > 0);
    await failedProbes(3);
    expect(count('p/plan')).toBeLessThanOrEqual(count('p/probe'));
    portal.down.clear();
    await waitUntil('the run', () => toy.outcomes('r2'));
    expect((await toy.queues.runs.getJob('r2'))?.attemptsMade).toBe(1);
  });

  it('is never paused while it answers reads and fails all work: attempts end that', async () => {
    portal.broken.add('p');
    await toy.serve();
    await toy.addRun('r1', keys(10));
    const outcomes = await waitUntil('the run', () => toy.outcomes('r1'));
    expect(Object.values(outcomes).every(({ state }) => state === 'failed')).toBe(true);
    expect([await pauses.state('p'), (await pauses.record('p')).last]).toEqual([null, null]);
  });
});

describe('faults of one file or item', () => {
  it('never count against the portal, whatever their status', async () => {
    const settings = { failures: 1, probeMs: 1000, maxProbeMs: 1000, longestRequestedMs: 1000 };
    const log = createLog({ level: 'silent' });
    const breaker = circuitBreaker({ redis: toy.redis, keys: redisKeys('toy'), pauses, settings, log });
    const facts = { method: 'POST', path: '/api/dataset/datastore/7/import', status: 500 };
    for (const fault of ['file', 'item'] as const)
      expect(await breaker.failed('p', new PortalUnreachableError('a 500', { ...facts, fault }))).toBe(false);
    expect(await breaker.unconfirmed('p')).toBeNull();
    await breaker.failed('p', new PortalUnreachableError('a 500', { ...facts, fault: 'portal' }));
    expect(await breaker.unconfirmed('p')).toMatchObject({ code: 'portal-unreachable' });
  });

  it('says once that nothing is to be done', async () => {
    const settings = { failures: 1, probeMs: 1000, maxProbeMs: 1000, longestRequestedMs: 1000 };
    const log = createLog({ level: 'silent' });
    const breaker = circuitBreaker({ redis: toy.redis, keys: redisKeys('toy'), pauses, settings, log });
    const facts = { method: 'GET', path: '/', status: 503, fault: 'portal' } as const;
    for (const hint of ['nothing to do: sluice waits', 'look at its log']) {
      await breaker.failed('p', new PortalUnreachableError('a 503', facts, { hint }));
      expect((await breaker.unconfirmed('p'))?.hint?.match(/nothing to do/g)).toHaveLength(1);
    }
  });
});

describe('a portal that only fails for some time', () => {
  it('is asked although one large dataset makes few attempts, and not while anything succeeds', async () => {
    const settings = { failures: 5, probeMs: 1000, maxProbeMs: 1000, longestRequestedMs: 1000 };
    const log = createLog({ level: 'silent' });
    const breaker = circuitBreaker({ redis: toy.redis, keys: redisKeys('toy'), pauses, settings, log });
    const error = new PortalUnreachableError('portal p: connection refused', { method: 'GET', path: '/' });
    const failFor = async (ms: number): Promise<void> => {
      await breaker.failed('p', error);
      await toy.redis.hset(redisKeys('toy').portal('p'), 'since', Date.now() - ms);
    };
    await failFor(1000);
    expect(await breaker.unconfirmed('p')).toBeNull();
    expect((await pauses.failing('p'))?.message).toBe('portal p: connection refused');
    await breaker.worked('p');
    expect(await pauses.failing('p')).toBeNull();
    await failFor(60_000);
    expect(await breaker.unconfirmed('p')).toMatchObject({
      message: 'portal p failed with: connection refused',
    });
    let [looks, atOnce, most] = [0, 0, 0];
    const look = async (): Promise<void> => {
      looks += 1;
      most = Math.max(most, ++atOnce);
      await failFor(60_000);
      await breaker.confirm('p', look);
      atOnce -= 1;
    };
    await Promise.all([breaker.confirm('p', look), breaker.confirm('p', look)]);
    expect([looks, most]).toEqual([1, 1]);
    await breaker.confirm('p', look);
    await breaker.worked('p');
    await breaker.confirm('p', look);
    expect([looks, most]).toEqual([2, 1]);
    expect(await breaker.unconfirmed('p')).toBeNull();
  });
});

describe('a refused login', () => {
  it('is never probed, and takes the place of an outage as the reason', async () => {
    portal.down.add('p').add('q');
    await toy.serve();
    await toy.addRun('r1', keys(8));
    await paused();
    expect(await pauses.pause('p', { code: 'portal-login', message: 'wrong password', hint: null })).toBe(true);
    const probes = count('p/probe');
    await toy.addRun('r2', keys(8), 'q');
    await failedProbes(3, 'q');
    portal.down.clear();
    await waitUntil('the other portal', () => toy.outcomes('r2'));
    // A probe of p in progress while the reason changed may still have come in.
    expect(count('p/probe')).toBeLessThanOrEqual(probes + 1);
    expect((await pauses.state('p'))?.reason.message).toBe('wrong password');
    expect(await toy.queues.portal('p').isPaused()).toBe(true);
  });
});

describe('a queue and its record', () => {
  it('come into step again after a kill between the two', async () => {
    await toy.serve();
    const queue = toy.queues.portal('p');
    await queue.pause();
    await waitUntil('the queue without a record to go on', async () => !(await queue.isPaused()));
    await pauses.pause('p', { code: 'portal-login', message: 'wrong password', hint: null });
    await queue.resume();
    await waitUntil('the queue with a record to be held', () => queue.isPaused());
    await pauses.resume('p');
    expect(await queue.isPaused()).toBe(false);
  });
});
