import { expect, it } from 'vitest';
import { type Scale, simulate } from '../../bench/support/scaling-model.ts';

const counts = [1, 2, 4, 8, 16, 32, 64];
const scale = { files: 400, requests: 6, workMs: 3000, latencyMs: 500, concurrency: 16, requestsPerSecond: 0 };
const simulated = (more: Partial<Scale> = {}) => counts.map((workers) => simulate({ ...scale, ...more, workers }));

it('workers add up until the portal takes no more requests at once, and further ones change nothing', () => {
  const speeds = simulated().map(({ filesPerSecond }) => filesPerSecond);
  for (const [index, workers] of [1, 2, 4].entries()) expect(speeds[index]).toBeCloseTo(workers / 3, 1);
  expect(speeds.slice(5)).toEqual([speeds[4], speeds[4]]);
  expect(speeds[4]).toBeLessThanOrEqual(16 / (3 + 6 * 0.5));
});

it('the portal never gets more requests than it takes', () => {
  for (const { atOnce } of simulated({ workMs: 10 })) expect(atOnce).toBe(16);
  for (const { filesPerSecond } of simulated({ workMs: 10, requestsPerSecond: 12 })) {
    expect(filesPerSecond).toBeLessThanOrEqual(12 / 6 + 0.05);
  }
});
