// The overview: live items by target, running jobs, what needs attention, and the newest runs; and one run in full.
import { z } from 'zod';
import { noTrace, traceSchema } from '../model/job.ts';
import { type KnownTarget, type Target, targetName, targetOfName } from '../model/redis-keys.ts';
import { causesOf } from '../model/report.ts';
import { nextStart } from '../model/schedule-times.ts';
import { keptSchedules } from '../queue/schedules.ts';
import { type LastRun, lastRuns } from '../state/targets.ts';
import { byName } from '../util/natural.ts';
import { readInboxViews } from './inboxes.ts';
import { countStates, type StateCounts } from './items.ts';
import { whatIsOverdue } from './overdue.ts';
import { runReader, runStatus } from './run-list.ts';
import type { Runtime } from './runtime.ts';

export type RunningJob = Awaited<ReturnType<typeof jobsOf>>[number];
export type OverviewView = Awaited<ReturnType<Overview['view']>>;
export type TargetView = OverviewView['targets'][number];
export type RunView = NonNullable<Awaited<ReturnType<typeof runView>>>;

const [stripRuns, mostJobs, mostOverdue] = [30, 20, 10];
/** Age after which items are counted even if no run has changed them, and the share of the time that this may take. */
const [longestMs, share] = [5 * 60_000, 1 / 20];

const jobSchema = z.object({
  runId: z.string(),
  /** Of the dataset, or of the first resource to prove. */
  key: z.string(),
  kind: z.string(),
  trace: traceSchema.optional(),
});

export type Overview = ReturnType<typeof overviewOf>;

/** `served`: what the service of this process serves. */
export const overviewOf = (runtime: Runtime, served: () => readonly KnownTarget[] = () => []) => {
  const { redis, keys, ledger, gate, plans, queues, config } = runtime;
  const known = new Map<string, { counts: StateCounts; sign: string; at: number; ms: number }>();
  const runsByTarget = runReader(runtime);

  const currentOf = async (target: Target) => {
    const { current } = await gate.state(target);
    return current === null ? null : { runId: current, ...(await runtime.runs.progress(current)) };
  };

  /** Counts again when items may have changed, but for a twentieth of the time at most. */
  const counted = async (
    target: Target,
    last: Map<string, LastRun>,
    current: Awaited<ReturnType<typeof currentOf>>,
  ) => {
    const name = targetName(target);
    const sign = `${last.get(name)?.runId} ${current?.runId} ${current?.done}`;
    const before = known.get(name);
    const begun = Date.now();
    const age = begun - (before?.at ?? 0);
    if (before && (before.sign === sign ? age < longestMs : age < before.ms / share)) return before.counts;
    const counts = await countStates(runtime, target);
    known.set(name, { counts, sign, at: Date.now(), ms: Date.now() - begun });
    return counts;
  };

  const counts = async (): Promise<(Target & { counts: StateCounts })[]> => {
    const [targets, last] = await Promise.all([ledger.targets(), lastRuns.all(redis, keys)]);
    return Promise.all(
      targets.map(async ({ manifest, portal }) => {
        const target = { manifest, portal };
        return { ...target, counts: await counted(target, last, await currentOf(target)) };
      }),
    );
  };

  /** Targets that were ever run, are scheduled, or are served, by name. */
  const targets = async (schedules = keptSchedules(queues)): Promise<Map<string, KnownTarget>> => {
    const ran = await ledger.targets();
    const all = [...served(), ...[...(await schedules).values()].map(({ request }) => request), ...ran];
    return new Map(all.map((target) => [targetName(target), target]));
  };

  const view = async (now: number) => {
    const kept = keptSchedules(queues);
    const [all, schedules, last, held, runs, inboxes, late, hasWorkers] = await Promise.all([
      targets(kept),
      kept,
      lastRuns.all(redis, keys),
      plans.held(),
      runsByTarget(),
      readInboxViews(runtime),
      whatIsOverdue(runtime, mostOverdue, now),
      runtime.hasWorkers(),
    ]);
    const views = await Promise.all(
      [...all]
        .sort(([a], [b]) => byName(a, b))
        .map(async ([name, { manifest, portal }]) => {
          const target = { manifest, portal };
          const schedule = schedules.get(name);
          const current = await currentOf(target);
          return {
            ...target,
            counts: await counted(target, last, current),
            /** When its next run begins by its schedule, Unix milliseconds. */
            next: schedule
              ? { at: nextStart(schedule.schedule, name, schedule, now), timezone: schedule.schedule.timezone }
              : null,
            runs: (runs.get(name) ?? []).slice(0, stripRuns),
            current,
            held: held.find((run) => targetName(run) === name) ?? null,
          };
        }),
    );
    const own = Object.keys(config.portals);
    // Where readers find them; null where that is not known here.
    const linked = own.map((name) => ({ name, url: runtime.portals.addressOf(name) }));
    const portals = [...new Set([...own, ...views.map(({ portal }) => portal)])].sort(byName);
    const [jobs, pauses] = await Promise.all([
      Promise.all(portals.map((portal) => jobsOf(runtime, portal))),
      pausesOf(runtime, portals),
    ]);
    // A state that takes no more data takes no signs of life either.
    const isServed = hasWorkers || runtime.stateWatch.fault !== null;
    return { targets: views, jobs: jobs.flat(), portals: linked, pauses, inboxes, late, hasWorkers: isServed };
  };

  return { counts, targets, view, runsByTarget };
};

export const pausesOf = async ({ pauses }: Pick<Runtime, 'pauses'>, portals: readonly string[]) => {
  const states = await Promise.all(portals.map(async (portal) => ({ portal, pause: await pauses.state(portal) })));
  return states.flatMap(({ portal, pause }) => (pause ? [{ portal, pause }] : []));
};

/** The jobs of a portal that workers have, with the steps in progress. */
export const jobsOf = async ({ queues }: Pick<Runtime, 'queues'>, portal: string) =>
  (await queues.portal(portal).getActive(0, mostJobs - 1)).flatMap((job) => {
    const data = jobSchema.safeParse(job?.data).data;
    if (!data) return [];
    const { trace = noTrace, ...rest } = data;
    /** Of which item, '' for the job itself, since when, and how far it is where it moves a large file. */
    const steps = Object.entries(trace.going).map(([item, now]) => ({ item, step: trace.steps[item] ?? '', ...now }));
    return [{ portal, ...rest, steps, since: job.processedOn ?? 0 }];
  });

/** A run; null for an unknown one. `jobs` and `pause`, the portal while that is paused, are those of an open one. */
export const runView = async (runtime: Runtime, runId: string) => {
  const { runs, plans, pauses } = runtime;
  const run = await runStatus(runtime, runId);
  if (!run.target) return null;
  const { portal } = targetOfName(run.target);
  const isOpen = run.endedAt === null;
  const [causes, held, log, remarks, jobs, pause] = await Promise.all([
    isOpen ? runs.failures(runId, 20).then((failed) => causesOf(failed)) : runs.causes(runId),
    plans.held(),
    runs.log(runId),
    runs.remarks(runId),
    isOpen ? jobsOf(runtime, portal) : [],
    isOpen ? pauses.state(portal) : null,
  ]);
  /** While somebody has to decide about it, the keys that it would remove. */
  const removals = held.find((other) => other.runId === runId)?.removals ?? null;
  const own = jobs.filter((job) => job.runId === runId);
  return { ...run, causes, removals, remarks, log, jobs: own, pause: pause && portal };
};
