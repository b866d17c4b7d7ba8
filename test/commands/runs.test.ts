// `sluice runs`: when runs began, how long they took, and how they went.
import { describe, expect, it } from 'vitest';
import { runsTable } from '../../src/commands/runs.ts';
import { markOf, type RunStatus } from '../../src/service/run-list.ts';

const start = Date.UTC(2026, 10, 21, 3, 15);

const run = (runId: string, more: Partial<RunStatus>): RunStatus => ({
  ...{ runId, target: 'city@local', state: 'done', startedAt: start, endedAt: start + 2840 },
  ...{ total: 3, done: 3, unproven: 0, failed: 0, fates: {}, reason: null, unattended: false },
  ...more,
});

const reason = (code: 'held' | 'cancelled', message: string): NonNullable<RunStatus['reason']> => ({
  ...{ code, message, hint: null },
});

describe('the table of runs', () => {
  it('has times, durations and outcomes, of runs in progress as well', () => {
    const runs = [
      run('a', { fates: { new: 2, quarantined: 1 } }),
      run('b', { fates: { unchanged: 1200 }, endedAt: start + 600_000 }),
      run('c', { reason: reason('held', 'it would remove 9 of 10\nitems'), fates: {} }),
      run('d', { reason: reason('cancelled', 'cancelled by a command'), fates: { cancelled: 3 } }),
      run('e', { state: 'running', endedAt: null, fates: null, done: 1, failed: 1 }),
      run('f', { state: 'queued', startedAt: null, endedAt: null, fates: null, total: 0, done: 0 }),
      run('g', { state: 'running', endedAt: null, fates: null, done: 1, unattended: true }),
      run('h', { state: 'running', endedAt: null, fates: null, unproven: 2 }),
    ];
    expect(runsTable(runs, start + 60_000).map((line) => line.trimEnd())).toEqual([
      'run  target      started (UTC)       took  outcome',
      'a    city@local  2026-11-21 03:15   2.8 s  with failures: 2 new, 1 quarantined',
      'b    city@local  2026-11-21 03:15  10 min  fine: 1,200 unchanged',
      'c    city@local  2026-11-21 03:15   2.8 s  held',
      expect.stringMatching(/^ {4}.*it would remove 9 of 10$/),
      'd    city@local  2026-11-21 03:15   2.8 s  cancelled: 3 cancelled',
      expect.stringMatching(/^ {4}.*cancelled by a command$/),
      'e    city@local  2026-11-21 03:15  60.0 s  running: 1/3 items, 1 failed',
      'f    city@local                            queued',
      'g    city@local  2026-11-21 03:15  60.0 s  waits for the next `sluice publish` or `sluice start`: 1/3 items',
      'h    city@local  2026-11-21 03:15  60.0 s  running: 3/3 items, 2 of them to be verified',
    ]);
  });

  it('calls a cancelled run held nowhere, nor one whose items were cancelled', () => {
    expect(markOf(run('a', { reason: reason('cancelled', 'by a command'), fates: {} }))).toBe('cancelled');
    expect(markOf(run('b', { fates: { new: 1, cancelled: 1 } }))).toBe('cancelled');
    expect(markOf(run('c', { fates: { cancelled: 1, failed: 1 } }))).toBe('failed');
    expect(markOf(run('d', { reason: reason('held', 'too much'), fates: {} }))).toBe('held');
  });
});
