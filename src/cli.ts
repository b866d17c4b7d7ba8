#!/usr/bin/env -S node --max-semi-space-size=8
// argv -> command -> exit code.
import { setFlagsFromString } from 'node:v8';
import { hasColours } from './commands/colour.ts';
import { boundProcess, type Io, warn, workingFolder } from './commands/io.ts';
import { runProgram } from './commands/program.ts';
import { terminalLine } from './commands/terminal-line.ts';
import { keepCompiled } from './util/installation.ts';

// For a service that runs for weeks beside others: collect garbage once the heap has grown by half. (The size of the
// young generation, set in package.json and in the first line, keeps short-lived objects of jobs out of that heap.)
setFlagsFromString('--heap-growing-percent=50');

// The compile cache halves the start-up time of commands.
keepCompiled(process.env);

const end = boundProcess((line) => warn(io, line));

// A reader that closes the pipe (`| head`) ends the output, not the work; the exit code stays that of the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const words = process.argv.slice(2);
const isJson = words.includes('--json');
const colours = { stdout: !isJson && hasColours(process.stdout), stderr: hasColours(process.stderr) };
const line = process.stdout.isTTY && process.stderr.isTTY ? terminalLine(process.stderr, colours.stderr) : null;
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
  colours,
  get columns() {
    return process.stdout.isTTY && !isJson ? process.stdout.columns : null;
  },
  stop: end.stop,
  force: end.force,
  writing: end.writing,
};

end.over(await runProgram(words, io, end.isFaulty));
