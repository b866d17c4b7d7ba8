// Chaos in small: the full one is `npm run chaos`.
import { expect, it } from 'vitest';
import { runChaos } from './chaos.ts';
import { faultsOf } from './support/figures.ts';

const seed = Number(process.env.CHAOS_SEED ?? 1);

it('killed workers, Redis and portal and a faulty network leave exactly what was published, once', async () => {
  process.stdout.write(`CHAOS_SEED=${seed}\n`);
  const figures = await runChaos({
    seed,
    datasets: 25,
    kills: 12,
    forMs: 0,
    jobs: { lock: '1500ms', stalledCheck: '500ms' },
    recoveries: 0,
    say: () => undefined,
  });
  expect(faultsOf(figures)).toEqual([]);
  const { service, worker, redis, publisher, portal } = figures.kills;
  expect(service + worker + redis + publisher + portal).toBe(12);
  expect(Object.keys(figures.faults)).toContain('drop-reply');
});
