// The overview: live items by target, running jobs, what needs attention, and the newest runs.
import { z } from 'zod';
import { type Target, targetName } from '../model/redis-keys.ts';
import { nextStart } from '../model/schedule-times.ts';
import type { Pause } from '../queue/pause.ts';
import { keptSchedules } from '../queue/schedules.ts';
import type { ItemFate, RunSummary } from '../state/report-lines.ts';
import type { RunProgress } from '../state/runs.ts';
import type { HeldRun } from '../state/stored-plans.ts';
import { type LastRun, lastRuns } from '../state/targets.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import { type InboxViewOfService, readInboxViews } from './inboxes.ts';
import { KnownItems, type TargetItems } from './known-items.ts';
import { type Overdue, whatIsOverdue } from './overdue.ts';
import type { KnownTarget, Runtime } from './runtime.ts';

/** A target at a glance. */
export interface TargetView extends Target {
  /** Items by state. */
  counts: TargetItems['counts'];
  /** When its next run begins by its schedule, Unix milliseconds, and the schedule's time zone. */
  next: { at: number; timezone: string } | null;
  /** Its newest runs, newest first. */
  runs: RunBrief[];
  current: ({ runId: string } & RunProgress) | null;
  held: HeldRun | null;
}

/** A job that a worker runs. */
export interface RunningJob {
  portal: string;
  runId: string;
  /** Key of the dataset, or of the first resource to prove. */
  key: string;
  kind: string;
  /** Steps in progress: of which item, '' for the job itself. */
  steps: [key: string, step: string][];
  /** When a worker took it, Unix milliseconds. */
  since: number;
}

/** Everything at a glance. */
export interface OverviewView {
  targets: TargetView[];
  jobs: RunningJob[];
  /** Portals of the configuration. */
  portals: string[];
  pauses: { portal: string; pause: Pause }[];
  inboxes: InboxViewOfService[];
  /** What is overdue; `more` counts the rest. */
  late: { overdue: Overdue[]; more: number };
  /** Whether any process runs the jobs of this Redis. */
  hasWorkers: boolean;
}

const stripRuns = 30;
/** Jobs that are shown of a portal. */
const mostJobs = 20;
const mostOverdue = 10;
/** How long a view is cached, milliseconds. */
const freshMs = 1000;

const jobSchema = z.object({
  runId: z.string(),
  key: z.string(),
  kind: z.string(),
  trace: z.object({ steps: z.record(z.string(), z.string()) }).optional(),
});

/** Reads at most once a second, whoever asks. */
export class Overview {
  readonly items: KnownItems;
  readonly runs: RunList;
  readonly #runtime: Runtime;
  readonly #served: () => readonly KnownTarget[];
  #last: { at: number; view: Promise<OverviewView> } | null = null;

  /** `served`: what the service of this process serves. */
  constructor(runtime: Runtime, served: () => readonly KnownTarget[] = () => []) {
    this.#runtime = runtime;
    this.#served = served;
    this.items = new KnownItems(runtime.ledger);
    this.runs = new RunList(runtime);
  }

  /** The view, at most a second old. */
  view(): Promise<OverviewView> {
    const now = Date.now();
    if (this.#last === null || now - this.#last.at > freshMs) {
      const view = this.#look(now);
      view.catch(() => {
        this.#last = null;
      });
      this.#last = { at: now, view };
    }
    return this.#last.view;
  }

  /** Items of each target that was run, by state. */
  async counts(): Promise<(Target & Pick<TargetView, 'counts'>)[]> {
    const { redis, keys, ledger } = this.#runtime;
    const [targets, last] = await Promise.all([ledger.targets(), lastRuns(redis, keys)]);
    return Promise.all(
      targets.map(async ({ manifest, portal }) => {
        const target = { manifest, portal };
        const sign = signOf(last.get(targetName(target)), await this.#current(target));
        return { ...target, counts: (await this.items.of(target, sign)).counts };
      }),
    );
  }

  /** Targets that were ever run, are scheduled, or are served; one may be listed several times. */
  async targets(): Promise<KnownTarget[]> {
    const { ledger, queues } = this.#runtime;
    const [known, schedules] = await Promise.all([ledger.targets(), keptSchedules(queues)]);
    return this.#all(known, schedules);
  }

  #all(known: KnownTarget[], schedules: Awaited<ReturnType<typeof keptSchedules>>): KnownTarget[] {
    return [...known, ...[...schedules.values()].map(({ request }) => request), ...this.#served()];
  }

  /** Drops the cached view, after a change. */
  renew(): void {
    this.#last = null;
  }

  async #look(now: number): Promise<OverviewView> {
    const runtime = this.#runtime;
    const { redis, keys, ledger, plans, queues, config } = runtime;
    const [known, schedules, last, held, runs, inboxes, late, hasWorkers] = await Promise.all([
      ledger.targets(),
      keptSchedules(queues),
      lastRuns(redis, keys),
      plans.held(),
      this.runs.byTarget(),
      readInboxViews(runtime),
      whatIsOverdue(runtime, mostOverdue, now),
      runtime.hasWorkers(),
    ]);
    const wereRun = new Set(known.map(targetName));
    const all = new Map<string, Target>();
    for (const { manifest, portal } of this.#all(known, schedules))
      all.set(targetName({ manifest, portal }), { manifest, portal });
    const targets = await Promise.all(
      [...all].sort().map(async ([name, target]): Promise<TargetView> => {
        const kept = schedules.get(name);
        const current = await this.#current(target);
        const sign = signOf(last.get(name), current);
        return {
          ...target,
          counts: wereRun.has(name) ? (await this.items.of(target, sign)).counts : {},
          next: kept ? { at: nextStart(kept.schedule, name, kept, now), timezone: kept.schedule.timezone } : null,
          runs: (runs.get(name) ?? []).slice(0, stripRuns),
          current,
          held: held.find((run) => targetName(run) === name) ?? null,
        };
      }),
    );
    const portals = [...new Set([...Object.keys(config.portals), ...targets.map(({ portal }) => portal)])].sort();
    const [jobs, pauses] = await Promise.all([
      Promise.all(portals.map((portal) => this.#jobsOf(portal))),
      Promise.all(portals.map(async (portal) => ({ portal, pause: await runtime.pauses.state(portal) }))),
    ]);
    return {
      targets,
      jobs: jobs.flat(),
      portals: Object.keys(config.portals),
      pauses: pauses.flatMap(({ portal, pause }) => (pause ? [{ portal, pause }] : [])),
      inboxes,
      late,
      hasWorkers,
    };
  }

  /** The run of a target in progress. */
  async #current(target: Target): Promise<TargetView['current']> {
    const { gate, runs } = this.#runtime;
    const { current } = await gate.state(target);
    return current === null ? null : { runId: current, ...(await runs.progress(current)) };
  }

  async #jobsOf(portal: string): Promise<RunningJob[]> {
    const active = await this.#runtime.queues.portal(portal).getActive(0, mostJobs - 1);
    return active.flatMap((job) => {
      const data = jobSchema.safeParse(job?.data).data;
      if (!data) return [];
      const { runId, key, kind, trace } = data;
      return [{ portal, runId, key, kind, steps: Object.entries(trace?.steps ?? {}), since: job.processedOn ?? 0 }];
    });
  }
}

/** Changes whenever the items of a target may have. */
const signOf = (last: LastRun | undefined, current: TargetView['current']): string =>
  `${last?.runId} ${current?.runId} ${current?.done}`;

/** A run in brief. */
export interface RunBrief {
  runId: string;
  target: Target;
  state: 'running' | 'done';
  /** Unix milliseconds. */
  startedAt: number;
  /** Null while it is open. */
  endedAt: number | null;
  fates: RunSummary['fates'];
  /** Code of the reason for which the run as a whole failed or was held. */
  code: string | null;
}

/** Outcome of a run as a whole. */
type RunMark = 'fine' | 'failed' | 'held' | 'running';

export const markOf = ({ state, fates, code }: RunBrief): RunMark => {
  if (state === 'running') return 'running';
  const bad: ItemFate[] = ['failed', 'quarantined'];
  if ((code !== null && code !== 'held' && code !== 'cancelled') || bad.some((fate) => fates[fate])) return 'failed';
  return code !== null || fates.held || fates.cancelled ? 'held' : 'fine';
};

/** Runs that are read: the last days of a few hundred schedules. */
const mostRuns = 3000;

/** Reads runs; ended ones are cached. */
class RunList {
  readonly #runtime: Pick<Runtime, 'runs'>;
  readonly #ended = new BoundedMap<string, RunBrief>(2 * mostRuns);

  constructor(runtime: Pick<Runtime, 'runs'>) {
    this.#runtime = runtime;
  }

  /** The newest runs by the name of their target, newest first. */
  async byTarget(): Promise<Map<string, RunBrief[]>> {
    const ids = await this.#runtime.runs.latest(mostRuns);
    const briefs = await Promise.all(ids.map((runId) => this.#ended.get(runId) ?? this.#read(runId)));
    return Map.groupBy(
      briefs.filter((brief) => brief !== null),
      ({ target }) => targetName(target),
    );
  }

  async #read(runId: string): Promise<RunBrief | null> {
    const { runs } = this.#runtime;
    const [target, progress, summary, reason] = await Promise.all([
      runs.target(runId),
      runs.progress(runId),
      runs.summary(runId),
      runs.reason(runId),
    ]);
    if (target === null) return null;
    const state = progress.state === 'done' ? 'done' : 'running';
    const brief: RunBrief = {
      runId,
      target,
      state,
      startedAt: progress.startedAt ?? 0,
      endedAt: summary === null ? null : Date.parse(summary.endedAt),
      fates: summary?.fates ?? (progress.failed > 0 ? { failed: progress.failed } : {}),
      code: reason?.code ?? null,
    };
    if (state === 'done') this.#ended.set(runId, brief);
    return brief;
  }
}
