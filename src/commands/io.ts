// The process as commands see it: streams, environment, working directory, signals, and how it ends.
import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  ConfigError,
  type ErrorCode,
  errorMessage,
  ManifestError,
  machineFault,
  oneLine,
  printable,
  reasonOf,
  SluiceError,
  UsageError,
} from '../model/errors.ts';
import { isHeldBack } from '../model/ledger-entry.ts';
import type { StoredReport } from '../model/report.ts';
import { coloured } from './colour.ts';
import { type TerminalLine, wrapToCells } from './terminal-line.ts';

export interface Io {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  env: NodeJS.ProcessEnv;
  cwd: string;
  terminal: boolean;
  /** Columns that lines are wrapped to; null for programs: no terminal, or `--json`. */
  columns: number | null;
  /** Which of its streams show colours. */
  colours: { stdout: boolean; stderr: boolean };
  /** Its last lines, below what is written to `stdout` and `stderr`; null where there is no terminal. */
  line: TerminalLine | null;
  /** Aborted by the first SIGINT or SIGTERM, with its name as the reason, or by an unexpected error. */
  stop: AbortSignal;
  /** Aborted by the second signal: end at once. */
  force: AbortSignal;
  /** Each returns whether a write is in progress, which a stop waits for longer than for anything else. */
  writing: Set<() => boolean>;
}

export interface CommonOptions {
  config?: string;
  state?: string;
  portal?: string;
  json?: boolean;
  verbose?: boolean;
}

/** Writes one line to standard output, whatever a portal or file calls what it names. */
export const say = (io: Io, line = ''): void => sayText(io, asTyped(io, oneLine(line)));

/** Commands in a text as they have to be typed: by `npx` where this one was. */
const asTyped = ({ env }: Pick<Io, 'env'>, text: string): string =>
  env.npm_command === 'exec' ? text.replaceAll(/(^ +|`|-> |next: )sluice (?=[a-z])/gm, '$1npx sluice ') : text;

/** Writes a text of several lines to standard output. */
export const sayText = (io: Io, text: string): void => write(io, 'stdout', text);

export const fittingLines = ({ columns }: Pick<Io, 'columns'>, text: string): string[] => {
  const lines = printable(text).split('\n');
  return columns === null ? lines : lines.flatMap((line) => wrapToCells(line, columns));
};

const write = (io: Io, to: 'stdout' | 'stderr', text: string): void => {
  const lines = fittingLines(io, text);
  io[to].write(`${(io.colours[to] ? lines.map(coloured) : lines).join('\n')}\n`);
};

/** The result of a command: a JSON value for `--json`, else lines. */
export interface Printed {
  json: object;
  lines: string[];
}

export const print = (io: Io, options: CommonOptions, { json, lines }: Printed): void => {
  if (options.json) sayText(io, JSON.stringify(json, null, 2));
  else for (const line of lines) say(io, line);
};

/** Writes a long text in pieces to standard output, with backpressure; see {@link say}. */
export const sayAll = async (io: Io, pieces: Iterable<string>): Promise<void> => {
  const printed = Iterator.from(pieces).map(printable);
  try {
    await pipeline(Readable.from(printed), io.stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error; // closed by the reader, as by `| head`
  }
};

export const warn = (io: Io, line: string): void => write(io, 'stderr', asTyped(io, line));

export const unwritable = (folder: string, cause: unknown, usage: string): UsageError =>
  new UsageError(`the folder ${folder} cannot be written to: ${errorMessage(cause)}`, {
    hint: `choose a writable folder: ${usage}`,
    cause,
  });

export const stopped = async ({ stop }: Io): Promise<void> => {
  if (!stop.aborted) await once(stop, 'abort');
};

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
  const items = reports.flatMap((report) => Array.from(report.items, ({ reason }) => reason?.code));
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
