// `sluice schedules`: when manifests run; `sluice run-now`: a run at once, whatever its schedule says.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { targetName } from '../model/redis-keys.ts';
import { nextStart, type Schedule } from '../model/schedule-times.ts';
import { type KeptSchedule, keptSchedules } from '../queue/schedules.ts';
import { openRuns, type RequestedRun, runNow } from '../service/actions.ts';
import { takeDropped } from '../service/inboxes.ts';
import { knownPaths, loadSound, manifestNamed } from '../service/manifests.ts';
import type { Runtime } from '../service/runtime.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { type LastRun, lastRuns, lastTriggers } from '../state/targets.ts';
import { plural, tally } from '../util/plural.ts';
import { durationWords } from '../util/quantity.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, print, warn } from './io.ts';
import { withRuntimeOf } from './session.ts';
import { type Lines, lines } from './text.ts';
import { awaitReports } from './wait.ts';

/** One line of the list. Times are ISO 8601, UTC. */
export type ScheduleRow = Awaited<ReturnType<typeof rowsOf>>[number];

/** Lists schedules; 2 when a manifest is faulty, else 0. */
export const schedulesCommand = async (paths: string[], options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('schedules', options, io, async (runtime) => {
    const kept = await keptSchedules(runtime.queues);
    const asked = paths.map((path) => resolve(io.cwd, path));
    const { manifests, faulty } = await loadSound(paths.length > 0 ? asked : await knownPaths(runtime, kept));
    const rows = await rowsOf(runtime, manifests, kept);
    const service = (await runtime.liveWorkers()).some(({ role }) => role === 'start');
    print(io, options, {
      json: { service, schedules: rows },
      lines: lines([rows.map((row) => rowLines(row, service)), remark(rows, service)]),
    });
    for (const { path, error } of faulty) warn(io, `skipped: ${path}: ${error.message}`);
    return faulty.length > 0 ? exitCodes.usage : exitCodes.ok;
  });

const rowsOf = async (runtime: Runtime, manifests: Manifest[], kept: ReadonlyMap<string, KeptSchedule>) => {
  const { redis, keys } = runtime;
  const [runs, triggers] = await Promise.all([lastRuns.all(redis, keys), lastTriggers.all(redis, keys)]);
  const now = Date.now();
  const rowOf = async ({ name: manifest, portal, path, ...rest }: Manifest) => {
    const schedule = rest.schedule ?? null;
    const name = targetName({ manifest, portal });
    const known = kept.get(name);
    const isKept = schedule !== null && JSON.stringify(known?.schedule) === JSON.stringify(schedule);
    const next = schedule && nextStart(schedule, name, isKept && known ? known : {}, now);
    return {
      manifest,
      portal,
      path,
      schedule,
      next: next === null ? null : new Date(next).toISOString(),
      /** True for a schedule that is in Redis; false for one that no `sluice start` has read yet. */
      kept: isKept,
      running: (await runtime.gate.state({ manifest, portal })).current,
      lastDue: triggers.get(name) ?? null,
      lastRun: runs.get(name) ?? null,
    };
  };
  return Promise.all(manifests.flatMap((each) => runtime.perPortal(each)).map(rowOf));
};

const remark = (rows: ScheduleRow[], service: boolean): Lines => {
  if (rows.length === 0) return 'no manifests: list them under `manifests` in the configuration, or name them here';
  const scheduled = rows.filter(({ schedule }) => schedule !== null);
  if (!service && scheduled.length > 0) return 'no `sluice start` is running, so schedules do not fire';
  return scheduled.some(({ kept }) => !kept) && '* the running `sluice start` does not serve this manifest';
};

const rowLines = ({ schedule, next, kept, manifest, portal, ...row }: ScheduleRow, service: boolean): Lines => {
  const zone = schedule?.timezone ?? 'UTC';
  const rule = schedule ? `${ruleText(schedule)}${service && !kept ? ' *' : ''}` : 'no schedule';
  return [
    `${manifest} to ${portal}: ${rule}`,
    row.running !== null && `  now   run ${row.running}`,
    next !== null && `  next  ${localTime(next, zone)}`,
    `  last  ${row.lastRun === null ? 'never' : lastText(row.lastRun, zone)}`,
    row.lastDue?.did === 'skip' && `  ${localTime(row.lastDue.at, zone)} skipped: ${row.lastDue.why}`,
  ];
};

const ruleText = ({ cron, timezone, window, jitterMs, catchUp }: Schedule): string =>
  lines(
    `${cron} (${timezone})`,
    window && `window ${clock(window.from)}-${clock(window.to)}`,
    jitterMs > 0 && `jitter ${durationWords(jitterMs)}`,
    catchUp === 'skip' && 'missed runs skipped',
  ).join(', ');

const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

const lastText = ({ endedAt, why, reason, failed, held, items, runId }: LastRun, zone: string): string => {
  const outcome = reason ?? lines(items > 0 && plural(items, 'item'), tally({ failed, held }) || 'fine').join(', ');
  return `${localTime(endedAt, zone)}${why === null ? '' : ` (${why})`}: ${outcome}, run ${runId}`;
};

/** `2026-11-22 03:15 Europe/Berlin`. */
const localTime = (at: string | number, timeZone: string): string => {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return `${format.format(new Date(at))} ${timeZone}`;
};

type RunNowOptions = CommonOptions & { wait?: boolean };

/** Requests a run of each manifest on each of its portals; returns the exit code of the reports, or 0 without waiting. */
export const runNowCommand = async (named: string[], { wait, ...options }: RunNowOptions, io: Io): Promise<number> =>
  withRuntimeOf('run-now', options, io, async (runtime) => {
    const manifests = await Array.fromAsync(named, (what) => manifestOf(runtime, what, io.cwd));
    const served = await runtime.hasWorkers();
    const runs: RequestedRun[] = [];
    for (const manifest of manifests) {
      // A running service claims the files of watched folders itself.
      if (isDropManifest(manifest) && !served)
        for (const line of await takeDropped(runtime, manifest, io.stop)) warn(io, line);
      if (wait !== false && isDropManifest(manifest)) runs.push(...(await openRuns(runtime, manifest)));
      runs.push(...(await runNow(runtime, manifest)));
    }
    if (wait !== false) return awaitReports(runtime, runs, options, io);
    const text = runs.map(({ runId, manifest, portal }) => `run ${runId} of ${manifest} to ${portal} was requested`);
    print(io, options, { json: { runs }, lines: text });
    if (!served) warn(io, 'no worker is running: the next `sluice start` or `sluice publish` starts it');
    return exitCodes.ok;
  });

/** The manifest of a path, or a known one of this name, even where a folder has it: `inbox` beside the folder `inbox`. */
const manifestOf = (runtime: Runtime, what: string, cwd: string): Promise<Manifest> => {
  const path = resolve(cwd, what);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  return isFile ? loadManifest(path) : manifestNamed(runtime, what);
};

export const commands = {
  schedules: {
    arguments: { '[manifest...]': 'manifest files (default: those of the configuration and the running service)' },
    examples: ['sluice schedules'],
    run: schedulesCommand,
  },
  'run-now': {
    arguments: { '<manifest...>': 'manifest files, or names of configured manifests' },
    options: { ...commonOptions, '--no-wait': 'do not wait for the report' },
    examples: ['sluice run-now city-finance --no-wait'],
    run: runNowCommand,
  },
} satisfies CommandDeclarations;
