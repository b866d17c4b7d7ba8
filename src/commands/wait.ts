// Waits for runs, shows their progress and reports, and works their jobs itself if no worker does.
import { setTimeout as sleep } from 'node:timers/promises';
import { InterruptedError, printable, UnfinishedError } from '../model/errors.ts';
import { targetName } from '../model/redis-keys.ts';
import { type StoredReport, saidOf } from '../model/report.ts';
import { type Standstill, waitOfRun } from '../queue/run-wait.ts';
import type { RequestedRun } from '../service/actions.ts';
import { reportFormats } from '../service/report-formats.ts';
import type { Runtime } from '../service/runtime.ts';
import { plural } from '../util/plural.ts';
import { type CommonOptions, exitCodeOfReports, exitCodes, type Io, type Printed, print, say, sayAll } from './io.ts';
import { progressOf } from './progress.ts';
import { reportLines } from './report-text.ts';

/** Progress is on standard error, unless the command prints JSON. */
interface WaitOptions extends Pick<CommonOptions, 'json'> {
  /**
   * Longest wait in milliseconds for portals that are paused or silent; the runs stay queued. Absent: a minute, or as long as
   * an upload or import in progress may take. Infinity for runs that end whatever their portal does.
   */
  wait?: number;
}

const pollMs = 50;
const usualWaitMs = 60_000;
/** No shorter silence counts: portals take some seconds for much of what they do. */
const leastSilenceMs = 5000;
/** Waits until every run has its report, as a worker where no other is. @throws InterruptedError, UnfinishedError */
export const waitForRuns = async (runtime: Runtime, runs: RequestedRun[], options: WaitOptions, io: Io) => {
  try {
    await untilClosed(runtime, runs, options, io);
  } catch (error) {
    if (error instanceof UnfinishedError) await leave(runtime);
    throw error;
  } finally {
    io.line?.clear();
  }
  const reports = await Promise.all(runs.map(({ runId }) => runtime.runs.report(runId)));
  return reports.filter((report) => report !== null);
};

/** Waits for runs and shows their reports, or `none` where nothing had to run. */
export const awaitReports = async (
  runtime: Runtime,
  runs: RequestedRun[],
  options: WaitOptions,
  io: Io,
  none?: Printed,
): Promise<number> => {
  if (none && runs.length === 0) {
    print(io, options, none);
    return exitCodes.ok;
  }
  const reports = await waitForRuns(runtime, runs, options, io);
  await showReports(reports, options, io);
  return exitCodeOfReports(reports);
};

/** Shows reports as text, or as JSON: `{ "reports": […] }`. */
export const showReports = async (reports: StoredReport[], options: WaitOptions, io: Io): Promise<void> => {
  if (options.json) await sayAll(io, jsonOf(reports));
  else for (const report of reports) for (const line of reportLines(report)) say(io, line);
};

function* jsonOf(reports: StoredReport[]): Generator<string> {
  yield '{ "reports": [\n';
  for (const [index, report] of reports.entries()) {
    if (index > 0) yield ',\n';
    yield* reportFormats.json.piecesOf(report);
  }
  yield '] }\n';
}

const untilClosed = async (runtime: Runtime, runs: RequestedRun[], options: WaitOptions, io: Io): Promise<void> => {
  const { json, wait } = options;
  const refusePaused = pauseLimit(runtime, wait ?? usualWaitMs);
  const showProgress = progress(runtime, runs, io);
  let checkedAt = 0;
  for (let open = runs; ; ) {
    if (io.stop.aborted) {
      throw new InterruptedError(`interrupted; ${plural(runs.length, 'run')} not awaited`, {
        hint: `${nextCommand} resumes unfinished work`,
      });
    }
    if (Date.now() - checkedAt > 1000) {
      const portals = [...new Set(runs.map((run) => run.portal))];
      if (!(await runtime.hasWorkers(portals))) await runtime.startWorkers(portals);
      checkedAt = Date.now();
      for (const run of open) await refuseLost(runtime, run);
      await refusePaused(open);
      for (const { portal } of open) await refuseSilent(runtime, portal, wait);
    }
    const isClosed = await Promise.all(open.map(({ runId }) => runtime.runs.isClosed(runId)));
    open = open.filter((_run, index) => !isClosed[index]);
    if (!json) await showProgress();
    if (open.length === 0) return;
    await sleep(pollMs, undefined, { signal: io.stop }).catch(() => undefined);
  }
};

/** Ends the workers of this process, whatever becomes of the writes that they wait for. */
const leave = async (runtime: Runtime): Promise<void> => {
  const stopping = runtime.stopWorkers(); // first: what is cut off must not be tried again here
  await runtime.portals.hangUp(leastSilenceMs);
  const timer = setTimeout(() => void runtime.portals.hangUp(0), 15_000); // for other writes in progress
  await stopping.finally(() => clearTimeout(timer));
};

/** Who goes on with runs that a command leaves behind; the command itself may make a new request instead, as `release` does. */
const nextCommand = 'the next `sluice publish` or `sluice start` on the same state';

/** A run holds its gate, or waits for it, until it has its report. @throws UnfinishedError when Redis has lost it */
const refuseLost = async (runtime: Runtime, run: RequestedRun): Promise<void> => {
  const { current, again } = await runtime.gate.state(run);
  if (current === run.runId || again === run.runId || (await runtime.runs.isClosed(run.runId))) return;
  throw new UnfinishedError(`${targetName(run)}: Redis no longer has a record of run ${run.runId}`, {
    hint: 'it was emptied or restored meanwhile; run `sluice rebuild`, which finds what is on the portal, then publish again',
  });
};

/** @throws UnfinishedError when all that was sent to a portal has been without an answer for too long */
const refuseSilent = async (runtime: Runtime, portal: string, waitMs: number | undefined): Promise<void> => {
  const { ms, grantedMs } = (await runtime.portalSilence(portal)) ?? { ms: 0, grantedMs: 0 };
  if (ms < Math.max(leastSilenceMs, waitMs ?? Math.max(usualWaitMs, grantedMs))) return;
  throw new UnfinishedError(`portal ${portal} has not answered for ${Math.round(ms / 1000)} s`, {
    hint: `the run stays queued, and ${nextCommand} resumes it; \`--wait\` says how long to wait`,
  });
};

/** What a run waits for; before `until`, Unix milliseconds, nothing can happen, ever where that needs a person. */
const waitOf = async (runtime: Runtime, run: RequestedRun) => {
  const { portal } = run;
  const { pause, standstill } = await waitOfRun(runtime, run);
  const stays = `the run stays queued, and ${nextCommand} resumes it`;
  if (pause) {
    const { since, reason, probe } = pause;
    const message = `portal ${portal} has been paused since ${new Date(since).toISOString()}: ${saidOf(portal, reason.message)}`;
    const error = new UnfinishedError(message, { hint: `${reason.hint ?? 'fix the cause'}; ${stays}` });
    return { text: `paused: ${reason.message}`, until: probe ? 0 : Number.POSITIVE_INFINITY, error };
  }
  if (standstill === null) return null;
  const end = standstillText(standstill);
  // A fault of the portal, not of a source or of this machine: what to do about its last one, since which nothing has worked.
  const isOfPortal = saidOf(portal, standstill.why) !== standstill.why;
  const hint = isOfPortal && (await runtime.pauses.failing(portal))?.hint;
  const error = new UnfinishedError(`${targetName(run)}: nothing is tried again before ${end}`, {
    hint: `${hint ? `${hint}; ` : ''}${stays}; \`--wait\` says how long to wait`,
  });
  return { text: `waits until ${end}`, until: standstill.until, error };
};

const waitsOf = async (runtime: Runtime, runs: RequestedRun[]) =>
  (await Promise.all(runs.map((run) => waitOf(runtime, run)))).filter((wait) => wait !== null);

/** Bounds the wait for paused portals, all pauses together; a refused login ends it at once. Call it each second. */
const pauseLimit = (runtime: Runtime, mostMs: number): ((runs: RequestedRun[]) => Promise<void>) => {
  let waitedMs = 0;
  let checkedAt = Date.now();
  return async (runs) => {
    const waits = await waitsOf(runtime, runs);
    const now = Date.now();
    if (waits.length > 0) waitedMs += now - checkedAt;
    checkedAt = now;
    const left = now + mostMs - waitedMs;
    const over = waits.find(({ until }) => left <= now || until > left);
    if (over) throw over.error;
  };
};

export const standstillText = ({ until, why }: Standstill): string =>
  `${new Date(until).toISOString()}${why === '' ? '' : `: ${why}`}`;

/** How soon a line that says the same is not repeated, milliseconds. */
const sameMs = 60_000;

/** Shows progress when it is due: on the last lines of a terminal; elsewhere as one plain line every few seconds. */
const progress = (runtime: Runtime, runs: RequestedRun[], { line, stderr }: Io): (() => Promise<void>) => {
  const seen = progressOf(runtime);
  let shownAt = line ? 0 : Date.now();
  let said = '';
  let saidAt = 0;
  return async () => {
    if (Date.now() - shownAt < (line ? 200 : 5000)) return;
    shownAt = Date.now();
    const [wait] = await waitsOf(runtime, runs);
    const lines = await seen.lines(runs, { wait: wait?.text });
    const text = printable(lines.join(' |')).replaceAll('\n', ' ');
    if (line) line.show(...lines);
    else if (text !== said || Date.now() - saidAt >= sameMs) {
      [said, saidAt] = [text, Date.now()];
      stderr.write(`${text}\n`);
    }
  };
};
