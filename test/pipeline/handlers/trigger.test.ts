import { describe, expect, it } from 'vitest';
import type { JobContext, RunRequest, TriggerData } from '../../../src/model/job.ts';
import type { Schedule } from '../../../src/model/schedule-times.ts';
import { triggerHandler } from '../../../src/pipeline/handlers/trigger.ts';
import type { TriggerRecord } from '../../../src/state/targets.ts';
import { plainRequest } from '../../support/plain-request.ts';

const request: RunRequest = {
  manifestPath: '/c.yaml',
  manifest: 'city',
  portal: 'p',
  why: 'schedule',
  only: null,
  ...plainRequest,
};
const schedule: Schedule = { cron: '* * * * *', timezone: 'UTC', jitterMs: 0, window: null, catchUp: 'once' };

/** Runs a trigger that was due so many milliseconds ago, and keeps what it asked for. */
const trigger = async (data: Partial<TriggerData>, lateMs = 0) => {
  const [runs, held, told]: [RunRequest[], number[], TriggerRecord[]] = [[], [], []];
  const handler = triggerHandler({
    requestRun: async (asked) => {
      runs.push(asked);
      return { runId: 'run-1', starts: 'now' };
    },
    holdTrigger: async (_data, until) => void held.push(until),
    triggered: async (_target, record) => void told.push(record),
  });
  const said: string[] = [];
  const context = {
    data: { kind: 'trigger', ...request, schedule: null, waited: false, ...data },
    due: Date.now() - lateMs,
    note: async (line) => void said.push(line),
  } satisfies Partial<JobContext<'trigger'>> as JobContext<'trigger'>; // all that the handler uses
  await handler.run(context);
  return { runs, held, told, said };
};

describe('a trigger', () => {
  it('asks for the run, as it is written down, and remembers which', async () => {
    const { runs, told, said } = await trigger({ schedule });
    expect(runs).toEqual([request]);
    expect(told).toMatchObject([{ did: 'run', runId: 'run-1' }]);
    expect(said).toEqual(['run run-1 begins']);
  });

  it('without a schedule asks at once and leaves no trace of one', async () => {
    const { runs, told } = await trigger({}, 9e9);
    expect(runs).toHaveLength(1);
    expect(told).toEqual([]);
  });

  it('that was missed asks once, or leaves the run out and says why', async () => {
    expect((await trigger({ schedule }, 3_600_000)).runs).toHaveLength(1);
    const { runs, told, said } = await trigger({ schedule: { ...schedule, catchUp: 'skip' } }, 3_600_000);
    expect(runs).toEqual([]);
    expect(told).toMatchObject([{ did: 'skip', why: expect.stringContaining('`catchUp` is `skip`') }]);
    expect(said[0]).toMatch(/^no run: it was due at/);
  });

  it('outside its window comes again when that opens', async () => {
    const minute = new Date().getUTCHours() * 60 + new Date().getUTCMinutes();
    const window = { from: (minute + 120) % 1440, to: (minute + 180) % 1440 };
    const { runs, held, told, said } = await trigger({ schedule: { ...schedule, window } });
    expect(runs).toEqual([]);
    expect(held).toHaveLength(1);
    const inHours = ((held[0] ?? 0) - Date.now()) / 3_600_000;
    expect(inHours).toBeGreaterThan(1.9);
    expect(inHours).toBeLessThanOrEqual(2.02);
    expect(told).toMatchObject([{ did: 'wait', until: held[0] }]);
    expect(said[0]).toMatch(/^waits for its window until/);
  });
});
