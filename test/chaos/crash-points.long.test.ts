// A sample of the points of a run, all kinds of faults by turns; all of them are `npm run crash-points`.
import { expect, it } from 'vitest';
import { tryCrashPoints } from './crash-points.ts';
import { crashModes } from './support/crash-mode.ts';

const seed = Number(process.env.CRASH_SEED ?? 1);

it('a fault at any point of a run leaves what a run without one leaves, once', { timeout: 1_200_000 }, async () => {
  process.stdout.write(`CRASH_SEED=${seed}\n`);
  const { outcomes } = await tryCrashPoints({
    seed,
    sample: 40,
    modes: crashModes,
    lanes: 4,
    forMs: Number.POSITIVE_INFINITY,
  });
  expect(outcomes).toHaveLength(40);
  expect(new Set(outcomes.map(({ mode }) => mode)).size).toBe(crashModes.length);
  expect(outcomes.filter(({ hangs, differences }) => hangs || differences.length > 0)).toEqual([]);
  expect(outcomes.filter(({ point }) => point !== null).length, 'points that were met').toBeGreaterThan(20);
});
