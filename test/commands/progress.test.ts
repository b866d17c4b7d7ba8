import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { progressOf } from '../../src/commands/progress.ts';
import type { Runtime } from '../../src/service/runtime.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What shows the run `id` at the second `at`, with `done` of 100 items; and how often it has read the jobs of a portal. */
const watched = () => {
  let [runId, done, reads] = ['', 0, 0];
  const job = () => ({ data: { runId, key: 'city/trees', kind: 'dataset' } });
  const queue = {
    getActive: async () => {
      reads += 1;
      return [job()];
    },
  };
  const parts = {
    config: { portals: { local: {} } },
    queues: { portal: () => queue },
    runs: { progress: async () => ({ state: 'running', startedAt: 0, total: 100, done, failed: 0 }) },
  };
  const { running } = progressOf(parts as unknown as Runtime); // what it uses
  return {
    at: (at: number, id: string, ended: number) => {
      vi.setSystemTime(at * 1000);
      [runId, done] = [id, ended];
      return running();
    },
    reads: () => reads,
  };
};

it('the speed of a run is its own, not that since the run before', async () => {
  const { at } = watched();
  await at(0, 'first', 1);
  expect(await at(10, 'first', 51)).toEqual(['city@local: 51/100 items, 5.0/s, 10 s left']);
  expect(await at(3600, 'second', 20)).toEqual(['city@local: 20/100 items']);
  expect(await at(3610, 'second', 60)).toEqual(['city@local: 60/100 items, 4.0/s, 10 s left']);
});

it('the jobs of a portal are read once for a look', async () => {
  const { at, reads } = watched();
  await at(0, 'first', 1);
  expect(reads()).toBe(1);
});
