// One point of a run for each of three kinds of faults; a larger sample of all kinds is `crash-points.long.test.ts`, all are `npm run crash-points`.
import { expect, it } from 'vitest';
import { tryCrashPoints } from './crash-points.ts';
import type { CrashMode } from './support/crash-mode.ts';

const modes: CrashMode[] = ['before', 'withheld', 'redis-after'];
const seed = Number(process.env.CRASH_SEED ?? 1);

it('a process killed, a reply lost or Redis killed in a run leaves what a run without one leaves, once', {
  timeout: 1_200_000,
}, async () => {
  process.stdout.write(`CRASH_SEED=${seed}\n`);
  const { outcomes } = await tryCrashPoints({
    seed,
    sample: modes.length,
    modes,
    lanes: 2,
    forMs: Number.POSITIVE_INFINITY,
  });
  expect(outcomes.map(({ mode }) => mode).sort()).toEqual(modes.toSorted());
  expect(outcomes.filter(({ hangs, differences }) => hangs || differences.length > 0)).toEqual([]);
  expect(outcomes.filter(({ point }) => point !== null).length, 'points that were met').toBeGreaterThan(1);
});
