// The circuit breaker with several worker processes, and with kills.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { PortalPauses } from '../../src/queue/pause.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openToy, type Toy } from './support/toy.ts';
import { openToyPortal, type ToyPortal } from './support/toy-portal.ts';

let toy: Toy;
let portal: ToyPortal;
let pauses: PortalPauses;
beforeEach(async () => {
  toy = await openToy();
  portal = await openToyPortal();
  await toy.redis.set('toy.portal', portal.url);
  pauses = new PortalPauses(toy.redis, redisKeys('toy'), toy.queues);
});
afterEach(async () => {
  await toy.close();
  portal.close();
});

const keys = (count: number) => Array.from({ length: count }, (_, index) => `http-${index}`);
const count = (what: string): number => portal.asked.filter((path) => path === what).length;
const paused = (name = 'p') => waitUntil(`the pause of ${name}`, () => pauses.state(name));
const failedProbes = (atLeast: number, name = 'p') =>
  waitUntil(`${atLeast} probes of ${name}`, async () => ((await pauses.state(name))?.probe?.failed ?? 0) >= atLeast);

describe('a portal that fails several times in a row', () => {
  it('stays paused when its workers are killed, and the next worker finds out when it is back', async () => {
    portal.down.add('p');
    const worker = await toy.start();
    await toy.addRun('r1', keys(8));
    const { since } = await paused();
    await failedProbes(1);
    worker.kill('SIGKILL');
    await waitUntil('the kill', () => worker.signalCode);
    expect((await pauses.state('p'))?.since).toBe(since);
    const before = (await pauses.state('p'))?.probe?.failed ?? 0;
    await toy.start();
    await failedProbes(before + 1);
    expect((await pauses.state('p'))?.since).toBe(since);
    portal.down.clear();
    const outcomes = await waitUntil('the run', () => toy.outcomes('r1'));
    expect(Object.values(outcomes).every(({ state }) => state === 'completed')).toBe(true);
  });

  it('is asked by one worker only, however many there are', async () => {
    portal.down.add('p');
    await Promise.all([toy.start(), toy.start(), toy.start()]);
    await toy.addRun('r1', keys(12));
    await failedProbes(4);
    portal.down.clear();
    await waitUntil('the run', () => toy.outcomes('r1'));
    // Waits 200, 400, 800, 1000 ms: each was asked once, and once more when it answered.
    const failed = count('p/probe') - 1;
    expect(portal.probesAtOnce).toBe(1);
    expect(failed).toBeGreaterThanOrEqual(4);
    expect(failed).toBeLessThanOrEqual(6);
  });
});
