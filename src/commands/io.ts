// The process as commands see it: streams, environment, working directory, stop signal.
import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorMessage, oneLine, printable, UsageError } from '../model/errors.ts';
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

/** A text in lines that fit its terminal. */
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

/** Resolves when the command is to stop. */
export const stopped = async ({ stop }: Io): Promise<void> => {
  if (!stop.aborted) await once(stop, 'abort');
};
