// What a command under test may touch: captured output, an environment and a folder of its own.
import { PassThrough } from 'node:stream';
import type { Io } from '../../src/commands/io.ts';
import { terminalLine } from '../../src/commands/terminal-line.ts';
import { withoutSlowness } from './sluice-process.ts';

/** An {@link Io} whose output can be read. */
export interface CommandIo {
  io: Io;
  /** Input of the command; a terminal when `terminal` was requested. */
  input: PassThrough;
  /** What was written so far. */
  out: () => string;
  err: () => string;
  /** As the first signal does, SIGINT unless another is named. */
  stop: (signal?: NodeJS.Signals) => void;
}

/** Makes the surroundings of one command. */
export const commandIo = (cwd: string, options: { env?: NodeJS.ProcessEnv; terminal?: boolean } = {}): CommandIo => {
  const terminal = options.terminal ?? false;
  const [input, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  if (terminal) Object.assign(input, { isTTY: true, setRawMode: () => input });
  const [written, warned] = [collect(stdout), collect(stderr)];
  const line = terminal ? terminalLine(stderr) : null;
  const controller = new AbortController();
  const force = new AbortController().signal;
  const io: Io = {
    stdin: input,
    stdout: line?.above(stdout) ?? stdout,
    stderr: line?.above(stderr) ?? stderr,
    line,
    env: options.env ?? {},
    cwd,
    terminal,
    columns: null,
    colours: { stdout: false, stderr: false },
    stop: controller.signal,
    force,
    writing: new Set(),
  };
  return {
    io,
    input,
    out: written,
    err: () => withoutSlowness(warned()),
    stop: (signal = 'SIGINT') => controller.abort(signal),
  };
};

const collect = (stream: PassThrough): (() => string) => {
  const chunks: string[] = [];
  stream.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk));
  return () => chunks.join('');
};
