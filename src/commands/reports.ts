// The end of a command that asked for runs: waits for them, and shows their reports.
import type { StoredReport } from '../model/report.ts';
import type { RequestedRun } from '../service/actions.ts';
import { reportFormats } from '../service/report-formats.ts';
import type { Runtime } from '../service/runtime.ts';
import { exitCodeOfReports, exitCodes } from './exit.ts';
import { type CommonOptions, type Io, type Printed, print, say, sayAll } from './io.ts';
import { reportLines } from './report-text.ts';
import { waitForRuns } from './wait.ts';

/** Waits for runs and shows their reports, or `none` where nothing had to run; returns the exit code. */
export const awaitReports = async (
  runtime: Runtime,
  runs: RequestedRun[],
  options: Pick<CommonOptions, 'json'> & { wait?: number },
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
export const showReports = async (reports: StoredReport[], options: CommonOptions, io: Io): Promise<void> => {
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
