#!/usr/bin/env -S node --max-semi-space-size=8
// argv -> command -> exit code.
import { setFlagsFromString } from 'node:v8';
import { CommanderError } from 'commander';
import { exitCodeOfError, exitCodes } from './commands/exit-code.ts';
import { helpTopics, topicText } from './commands/help-topics.ts';
import { type Io, warn } from './commands/io.ts';
import { boundProcess } from './commands/process-end.ts';
import { createProgram } from './commands/program.ts';
import { InterruptedError, machineFault, SluiceError } from './model/errors.ts';
import { keepCompiled } from './util/compile-cache.ts';

// A service that runs for weeks beside others: collect garbage when the heap has grown by half, not later. (The size of
// the young generation, which package.json and the first line ask for, keeps what a job leaves behind out of that heap.)
setFlagsFromString('--heap-growing-percent=50');

// Commands start in half the time when what was compiled once is kept.
keepCompiled(process.env);

const end = boundProcess((line) => warn(io, line), format);

// A reader that has seen enough (`| head`) ends the output, not the work; the exit code stays the command's own.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const io: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  terminal: process.stdout.isTTY === true,
  stop: end.stop,
  force: end.force,
  writing: end.writing,
};

let exitCode: number = exitCodes.ok;

const typed = process.argv.slice(2).find((word) => !word.startsWith('-') && word !== 'help');
const program = await createProgram({
  isLoaded: (name) => name === typed,
  run: async (start) => {
    exitCode = await start(io);
  },
});
const topic = process.argv[2] === 'help' ? helpTopics.find((name) => name === process.argv[3]) : undefined;

try {
  if (topic) process.stdout.write(topicText(topic));
  else await program.parseAsync();
} catch (thrown) {
  const error = machineFault(thrown);
  if (error instanceof CommanderError) exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  else {
    exitCode = exitCodeOfError(error);
    if (!(error instanceof InterruptedError && end.isFaulty())) warn(io, format(error));
  }
}
end.over(exitCode);

function format(error: unknown): string {
  if (error instanceof SluiceError) return `sluice: ${error.message}${error.hint ? `\n-> ${error.hint}` : ''}`;
  return `sluice: a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
