// How far runs are, as lines for a terminal: their items with speed and time left, and the steps that take long.
import { setTimeout as sleep } from 'node:timers/promises';
import { movedText, paceText, unprovenText } from '../model/moved.ts';
import { targetName } from '../model/redis-keys.ts';
import type { RequestedRun } from '../service/actions.ts';
import { jobsOf, type RunningJob } from '../service/overview.ts';
import type { Runtime } from '../service/runtime.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import { plural } from '../util/plural.ts';
import { spanText } from '../util/quantity.ts';
import { type CommonOptions, exitCodes, fittingLines, type Io, type Printed, print } from './io.ts';

/** A step gets a line of its own once it lasts so long, milliseconds; so many do. Else so many keys are named. */
const [longMs, mostLines, mostKeys] = [2000, 4, 3];

/** When so many items had ended, Unix milliseconds. */
type Moment = Record<'at' | 'done', number>;

/** What tells how far runs are; what had ended when it looked first does not count for the speed. */
export const progressOf = (runtime: Runtime) => {
  const firsts = new BoundedMap<string, Moment & { last: Moment }>(1000);

  const jobsOn = async (portals: readonly string[]): Promise<RunningJob[]> =>
    (await Promise.all([...new Set(portals)].map((portal) => jobsOf(runtime, portal)))).flat();

  /** The lines of runs together; `wait`: what these wait for, instead of their speed; `known`: the jobs of their portals. */
  const lines = async (
    runs: readonly RequestedRun[],
    { wait, known }: { wait?: string | undefined; known?: RunningJob[] } = {},
  ): Promise<string[]> => {
    const all = await Promise.all(runs.map(({ runId }) => runtime.runs.progress(runId)));
    const sum = (of: Count): number => all.reduce((count, run) => count + run[of], 0);
    const [total, done] = [sum('total'), sum('done')];
    const name = runs.length === 1 && runs[0] ? targetName(runs[0]) : plural(runs.length, 'run');
    const isQueued = all.every(({ state }) => state === 'queued');
    const begun = isQueued ? 'waiting to start' : 'planning';
    const items = total === 0 ? begun : itemsText(sum);
    if (wait) return [`${name}: ${items}, ${wait}`];
    const jobs = known ?? (await jobsOn(runs.map(({ portal }) => portal)));
    const now = Date.now();
    const id = runs.map(({ runId }) => runId).join(' ');
    const first = firsts.get(id) ?? { at: now, done, last: { at: now, done } };
    if (done > 0) firsts.set(id, first);
    // The time left does not grow while nothing ends: the portal may be about to be paused.
    if (done !== first.last.done) first.last = { at: now, done };
    const pace = paceText({ ended: done - first.done, left: total - done, ms: first.last.at - first.at });
    // One that waits to start waits for others.
    const ofRuns = jobs.filter(({ runId }) => isQueued || runs.some((run) => run.runId === runId));
    const steps = ofRuns.flatMap((job) => job.steps).filter(({ item }) => item !== '');
    const long = steps.filter(({ moved, since }) => moved !== null || now - since >= longMs).slice(0, mostLines);
    const keys = long.length > 0 ? [] : steps.slice(0, mostKeys).map(({ item }) => ` ${item}`);
    return [
      `${name}: ${items}${pace && `, ${pace}`}${keys.length > 0 ? ` |${keys.join('')}` : ''}`,
      ...long.map(
        ({ item, step, since, moved }) => `  ${step} ${moved ? movedText(moved, now) : spanText(now - since)}  ${item}`,
      ),
    ];
  };

  /** Those of each run that workers are at. */
  const running = async (): Promise<string[]> => {
    const jobs = await jobsOn(Object.keys(runtime.config.portals));
    const manifestOf = (key: string): string => key.split('/', 1)[0] ?? '';
    const runs = new Map(jobs.map(({ runId, portal, key }) => [runId, { runId, portal, manifest: manifestOf(key) }]));
    const linesOf = (run: RequestedRun): Promise<string[]> =>
      lines([run], { known: jobs.filter(({ portal }) => portal === run.portal) });
    return (await Promise.all(runs.values().map(linesOf))).flat();
  };

  return { lines, running };
};

type Count = 'total' | 'done' | 'failed' | 'unproven';

const itemsText = (sum: (of: Count) => number): string =>
  `${sum('done')}/${sum('total')} items${unprovenText(sum('unproven'))}${sum('failed') > 0 ? `, ${sum('failed')} failed` : ''}`;

/**
 * Shows each second what a command prints, with how far runs are below it, until it is stopped: in place on a terminal,
 * where the last view stays; elsewhere, and as JSON, each time it differs. Returns 0.
 */
export const watch = async (runtime: Runtime, look: () => Promise<Printed>, options: CommonOptions, io: Io) => {
  const progress = progressOf(runtime);
  const line = options.json ? null : io.line;
  for (let before = ''; ; ) {
    const view = await look();
    const sign = JSON.stringify(view);
    if (line) line.show(...fittingLines(io, view.lines.join('\n')), ...(await progress.running()));
    else if (sign !== before) print(io, options, view);
    before = sign;
    await sleep(1000, undefined, { signal: io.stop }).catch(() => undefined);
    if (!io.stop.aborted) continue;
    if (line) print(io, options, view);
    return exitCodes.ok;
  }
};
