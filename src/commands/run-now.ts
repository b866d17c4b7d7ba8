// `sluice run-now`: a run of a manifest at once, whatever its schedule says, by the service where one runs.

import { keptSchedules } from '../queue/schedules.ts';
import { takeDropped } from '../service/take-dropped.ts';
import { isDropManifest, type Manifest } from '../sources/manifest/schema.ts';
import { exitCodeOfReports, exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, say, warn } from './io.ts';
import { manifestOf } from './known-manifests.ts';
import { showReports } from './publish.ts';
import { configOf, oneOffLog, withRuntime } from './session.ts';
import { type AwaitedRun, waitForRuns } from './wait.ts';

/** Options of `sluice run-now`. */
export interface RunNowOptions extends CommonOptions {
  /** False with `--no-wait`: the run is asked for, and the command ends. */
  wait?: boolean;
}

/** Asks for a run of each named manifest on each of its portals; returns the exit code of the reports, or 0 without waiting. */
export const runNowCommand = async (named: string[], options: RunNowOptions, io: Io): Promise<number> => {
  const config = await configOf(options, io);
  return withRuntime({ config, log: oneOffLog(config, options, io), role: 'run-now' }, io, async (runtime) => {
    const kept = await keptSchedules(runtime.queues);
    const manifests: Manifest[] = [];
    for (const what of named) manifests.push(await manifestOf(runtime, what, { cwd: io.cwd, kept }));
    const served = await runtime.hasWorkers();
    const runs: AwaitedRun[] = [];
    for (const manifest of manifests) {
      // A running service claims the files of its watched folders itself.
      if (isDropManifest(manifest) && !served) await takeDropped(runtime, manifest, io.stop);
      for (const target of runtime.perPortal(manifest)) {
        const { runId } = await runtime.requestRun(target, 'command');
        runs.push({ runId, manifest: target.name, portal: target.portal });
      }
    }
    if (options.wait === false) return tellQueued(runs, { options, served }, io);
    const reports = await waitForRuns(runtime, runs, { progress: !options.json, pausedMs: 60_000 }, io);
    showReports(reports, options, io);
    return exitCodeOfReports(reports);
  });
};

const tellQueued = (
  runs: AwaitedRun[],
  { options, served }: { options: RunNowOptions; served: boolean },
  io: Io,
): number => {
  if (options.json) say(io, JSON.stringify(runs, null, 2));
  else for (const { runId, manifest, portal } of runs) say(io, `run ${runId} of ${manifest} to ${portal} is asked for`);
  if (!served) warn(io, 'no worker is running: it begins with the next `sluice start` or `sluice publish`');
  return exitCodes.ok;
};
