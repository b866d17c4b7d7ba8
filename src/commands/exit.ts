// How the process ends: the exit code, the error as text, and the time that stopping may take.
import {
  ConfigError,
  type ErrorCode,
  ManifestError,
  machineFault,
  reasonOf,
  SluiceError,
  UsageError,
} from '../model/errors.ts';
import { isHeldBack } from '../model/item-state.ts';
import type { StoredReport } from '../model/report.ts';

/** Exit codes (`docs/reference/commands.md`). */
export const exitCodes = { ok: 0, bug: 1, usage: 2, someFailed: 3, held: 4, interrupted: 130 } as const;

const usageCodes: ReadonlySet<string> = new Set<ErrorCode>([
  'usage',
  'config',
  'manifest',
  'redis-unreachable',
  'redis-missing',
  'redis-failed',
  'state-mismatch',
  'portal-port',
  'portal-store',
  'users-file',
  'not-found',
]);

export const exitCodeOfError = (error: unknown): number =>
  error instanceof SluiceError ? exitCodeOfCode(error.code) : exitCodes.bug;

export const exitCodeOfCode = (code: ErrorCode): number => {
  if (code === 'interrupted') return exitCodes.interrupted;
  if (isHeldBack(code)) return exitCodes.held;
  return usageCodes.has(code) ? exitCodes.usage : exitCodes.someFailed;
};

/** Exit code for reports: the first of bug, usage, held, some failed that applies. */
export const exitCodeOfReports = (reports: StoredReport[]): number => {
  const whole = new Set(reports.map(({ reason }) => reason?.code));
  const items = reports.flatMap((report) => report.items.map(({ reason }) => reason?.code));
  const codes = [...whole, ...items].filter((code) => code !== undefined);
  if (codes.includes('bug')) return exitCodes.bug;
  if ([...whole].some((code) => code && usageCodes.has(code))) return exitCodes.usage;
  if (codes.some(isHeldBack)) return exitCodes.held;
  return codes.length > 0 ? exitCodes.someFailed : exitCodes.ok;
};

/** Milliseconds between two beats, which are counted instead of time: a suspended process has not waited. */
const beatMs = 1000;
/** Beats after the first signal without a write in progress, and in all: less than compose.yaml grants. */
const [mostIdle, most] = [15, 100];
/** Milliseconds for closing after an unexpected error, for what a finished command left open, and after a second signal. */
const [faultMs, lingerMs, forcedMs] = [5000, 2000, 500];

/**
 * Handles signals and unexpected errors of this process; `report` shows a line to the user. Its `isFaulty` is true after an
 * unexpected error, which was reported; `over` ends the process after its command, whatever that left open.
 */
export const boundProcess = (report: (line: string) => void) => {
  const [stop, force] = [new AbortController(), new AbortController()];
  const signals: { stop: AbortSignal; force: AbortSignal } = { stop: stop.signal, force: force.signal };
  const writing = new Set<() => boolean>();
  let faultCode: number | null = null;

  const exit = (): never => process.exit(faultCode ?? exitCodes.interrupted);
  let [idle, all] = [0, 0];
  const beat = (): void => {
    all += 1;
    idle = [...writing].some((isWriting) => isWriting()) ? 0 : idle + 1;
    if (idle < mostIdle && all < most) return;
    report('sluice: stopping takes too long: exiting now; the next start resumes unfinished work');
    exit();
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    const isSecond = stop.signal.aborted;
    if (isSecond) setTimeout(exit, forcedMs).unref();
    else setInterval(beat, beatMs).unref();
    (isSecond ? force : stop).abort(signal);
  };
  const onFault = (thrown: unknown): void => {
    if (faultCode !== null) return; // the first one is the cause
    const error = machineFault(thrown); // such as a full disk that the output goes to
    faultCode = exitCodeOfError(error);
    process.exitCode = faultCode;
    setTimeout(exit, faultMs).unref();
    report(errorText(error));
    stop.abort('an unexpected error');
  };
  const over = (exitCode: number): void => {
    process.exitCode = faultCode ?? exitCode;
    const end = (): void => {
      // Wait for a slow reader of the output.
      if (process.stdout.writableLength === 0 && process.stderr.writableLength === 0) process.exit();
    };
    setInterval(end, lingerMs).unref();
  };

  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('uncaughtException', onFault);
  return { ...signals, writing, isFaulty: () => faultCode !== null, over };
};

/** The working directory. @throws UsageError when it was removed */
export const workingFolder = (): string => {
  try {
    return process.cwd();
  } catch (cause) {
    throw new UsageError('the working directory no longer exists', { hint: 'change to an existing folder', cause });
  }
};

/** What went wrong and what to do; the stack for a bug. */
export const errorText = (error: unknown): string => {
  if (error instanceof SluiceError) return `sluice: ${error.message}${error.hint ? `\n-> ${error.hint}` : ''}`;
  return `sluice: a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
};

/** `{"error": {code, message, hint, …}}`, with the `problems` of a faulty file. */
export const errorJson = (error: unknown): string => {
  const problems = error instanceof ConfigError || error instanceof ManifestError ? { problems: error.problems } : {};
  return JSON.stringify({ error: { ...reasonOf(error), ...problems } }, null, 2);
};
