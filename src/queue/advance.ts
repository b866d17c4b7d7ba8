// What a run needs next, decided from where it stands: adds jobs, goes to the next phase, ends it, or nothing.
import type { RunStand, StuckRun } from '../state/run-phase.ts';

export interface RunState extends RunStand {
  /** The job that plans the run, or closes it, as the queue knows it; null where nobody looked. */
  job: 'there' | 'missing' | { ended: string | null } | null;
  /** Why none of its jobs can begin, as a sweep found; null where one can, or where nobody looked. */
  stuck: StuckRun | null;
}

export type Step = {
  do: 'nothing' | 'begin' | 'add' | 'repair' | 'go on' | 'cancel' | 'halt' | 'close' | 'open the gate';
  why: string;
};

/** With fewer jobs in the queue than this, more are added, up to the other number. */
export const [fewestOpen, mostOpen] = [500, 1000];

/** How often jobs are added again to a queue that lost them, before the run is ended. */
const mostRepairs = 2;

/** The next step of a run. Pure, so that whoever looks decides the same; each step may be taken twice. */
export const nextStep = (run: RunState): Step => {
  const { phase, job, stuck, inQueue, waiting } = run;
  if (phase === 'closed') return { do: 'open the gate', why: 'it is closed' };
  if (phase === 'closing' && job === 'there') return nothing('its last job closes it');
  if (phase === 'closing') return { do: 'close', why: 'nothing else is to be done' };
  if (run.isCancelled) return { do: 'cancel', why: 'it was cancelled' };
  if (phase === 'queued' || phase === 'planning') return beforePlan(run);
  if (stuck) return { do: stuck.repairs < mostRepairs ? 'repair' : 'halt', why: stuck.why };
  if (inQueue + waiting === 0) return { do: 'go on', why: 'all of this phase has ended' };
  if (waiting > 0 && inQueue < fewestOpen) return { do: 'add', why: `${inQueue} of its jobs are in the queue` };
  return nothing('its jobs are in the queue');
};

const beforePlan = ({ job }: RunState): Step => {
  if (job === null || job === 'there') return nothing('its job plans it');
  if (job === 'missing') return { do: 'begin', why: 'it has no job' };
  return { do: 'halt', why: job.ended ?? 'its job ended without a plan' };
};

const nothing = (why: string): Step => ({ do: 'nothing', why });
