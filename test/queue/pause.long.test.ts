// The circuit breaker with several worker processes, and with kills.
import { describe, expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { count, failedProbes, keys, openToyPauses, paused, pauses, portal, toy } from './support/toy-pauses.ts';

openToyPauses();

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
