// Job kind `trigger`: a schedule or an event asks for a run of its manifest.
import type { Handler } from '../job.ts';
import type { HandlerDeps } from './deps.ts';

/** Asks the run gate for a run; returns its id. */
export const triggerHandler = (deps: Pick<HandlerDeps, 'requestRun'>): Handler<'trigger'> => ({
  run: async (job) => {
    const { kind: _kind, ...request } = job.data;
    const { runId, starts } = await deps.requestRun(request);
    await job.note(starts === 'now' ? `run ${runId} begins` : `run ${runId} begins when the current one has ended`);
    return { runId };
  },
});
