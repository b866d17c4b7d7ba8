#!/usr/bin/env -S node --max-semi-space-size=8
// argv -> command -> exit code.
import { setFlagsFromString } from 'node:v8';
import { CommanderError } from 'commander';
import { boundProcess, errorJson, errorText, exitCodeOfError, exitCodes, workingFolder } from './commands/exit.ts';
import { helpTopics, topicText } from './commands/help-topics.ts';
import { type Io, say, warn } from './commands/io.ts';
import { createProgram } from './commands/program.ts';
import { TerminalLine } from './commands/terminal-line.ts';
import { InterruptedError, machineFault, UsageError } from './model/errors.ts';
import { keepCompiled } from './util/user-cache.ts';

// A service that runs for weeks beside others: collect garbage when the heap has grown by half, not later. (The size of
// the young generation, which package.json and the first line ask for, keeps what a job leaves behind out of that heap.)
setFlagsFromString('--heap-growing-percent=50');

// Commands start in half the time when what was compiled once is kept.
keepCompiled(process.env);

const end = boundProcess((line) => warn(io, line), errorText);

// A reader that has seen enough (`| head`) ends the output, not the work; the exit code stays the command's own.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const words = process.argv.slice(2);
const isJson = words.includes('--json');
const line = process.stdout.isTTY && process.stderr.isTTY ? new TerminalLine(process.stderr) : null;
const io: Io = {
  stdin: process.stdin,
  stdout: line?.above(process.stdout) ?? process.stdout,
  stderr: line?.above(process.stderr) ?? process.stderr,
  line,
  env: process.env,
  get cwd() {
    return workingFolder();
  },
  terminal: process.stdout.isTTY === true,
  get columns() {
    return process.stdout.isTTY && !isJson ? process.stdout.columns : null;
  },
  stop: end.stop,
  force: end.force,
  writing: end.writing,
};

let exitCode: number = exitCodes.ok;

const typed = words.find((word) => !word.startsWith('-') && word !== 'help');
// Loading what a command needs, and starting Redis, takes a moment.
const sayFirst = (): void => line?.show(`sluice ${typed ?? ''} …`);
sayFirst();
const program = await createProgram({
  isLoaded: (name) => name === typed,
  run: async (start) => {
    sayFirst();
    exitCode = await start(io);
  },
});
line?.clear(); // for help, and for what is wrong with the words
const topic = process.argv[2] === 'help' ? helpTopics.find((name) => name === process.argv[3]) : undefined;

try {
  if (topic) process.stdout.write(topicText(topic));
  else await program.parseAsync();
} catch (thrown) {
  const error = machineFault(thrown);
  const isUsage = error instanceof CommanderError;
  exitCode = isUsage ? (error.exitCode === 0 ? exitCodes.ok : exitCodes.usage) : exitCodeOfError(error);
  if (!isUsage && !(error instanceof InterruptedError && end.isFaulty())) warn(io, errorText(error));
  if (isJson && exitCode !== exitCodes.ok) say(io, errorJson(isUsage ? new UsageError(error.message) : error));
}
line?.clear();
end.over(exitCode);
