// One point of a run for each kind of fault; a larger sample is `crash-points.long.test.ts`, all are `npm run crash-points`.
import { expect, it } from 'vitest';
import { tryCrashPoints } from './crash-points.ts';
import { crashModes } from './support/crash-mode.ts';

const seed = Number(process.env.CRASH_SEED ?? 1);

it('a fault of each kind in a run leaves what a run without one leaves, once', { timeout: 1_200_000 }, async () => {
  process.stdout.write(`CRASH_SEED=${seed}\n`);
  const { outcomes } = await tryCrashPoints({
    seed,
    sample: crashModes.length,
    modes: crashModes,
    lanes: 2,
    forMs: Number.POSITIVE_INFINITY,
  });
  expect(new Set(outcomes.map(({ mode }) => mode)).size).toBe(crashModes.length);
  expect(outcomes.filter(({ hangs, differences }) => hangs || differences.length > 0)).toEqual([]);
  expect(outcomes.filter(({ point }) => point !== null).length, 'points that were met').toBeGreaterThan(4);
});
