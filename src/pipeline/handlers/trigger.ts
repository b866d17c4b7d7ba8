// Job kind `trigger`: a schedule or an event requests a run of its manifest.
import type { Handler, JobContext, RunRequest, TriggerData } from '../../model/job.ts';
import { targetName } from '../../model/redis-keys.ts';
import { decide } from '../../model/schedule-times.ts';
import type { TriggerRecord } from '../../state/targets.ts';

interface TriggerDeps {
  requestRun(request: RunRequest): Promise<{ runId: string; starts: 'now' | 'later' | 'busy' }>;
  /** Delays a trigger to a time, Unix milliseconds. */
  holdTrigger(data: TriggerData, until: number): Promise<void>;
  /** Records what the schedule of a target did. */
  triggered(data: TriggerData, record: TriggerRecord): Promise<void>;
}

/** Requests a run from the run gate, delays the trigger, or skips the run, by its schedule; returns what it did. */
export const triggerHandler = (deps: TriggerDeps): Handler<'trigger'> => ({
  run: async (job) => {
    const now = Date.now();
    const { schedule, waited } = job.data;
    const decision = decide(schedule, { target: targetName(job.data), due: job.due, now, waited });
    const record = { at: now, due: job.due, ...(await act(deps, job, decision)) };
    if (schedule !== null) await deps.triggered(job.data, record);
    return record;
  },
});

const act = async (deps: TriggerDeps, job: JobContext<'trigger'>, decision: ReturnType<typeof decide>) => {
  if (decision.do === 'run') {
    const { kind: _kind, schedule: _schedule, waited: _waited, ...request } = job.data;
    const { runId, starts } = await deps.requestRun(request);
    await job.note(starts === 'now' ? `run ${runId} begins` : `run ${runId} begins when the current one has ended`);
    return { did: 'run', runId } as const;
  }
  if (decision.do === 'skip') {
    await job.note(`no run: ${decision.why}`);
    return { did: 'skip', why: decision.why } as const;
  }
  await deps.holdTrigger(job.data, decision.until);
  await job.note(`waits ${decision.why} until ${new Date(decision.until).toISOString()}`);
  return { did: 'wait', until: decision.until } as const;
};
