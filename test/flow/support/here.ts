// Commands in this process, through the same parser as those of the shell.
import { runProgram } from '../../../src/commands/program.ts';
import { commandIo } from '../../support/command-io.ts';
import type { Ended } from '../../support/sluice-process.ts';

/** Runs a command line to its end. */
export const runHere = async (
  words: string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Ended> => {
  const { io, out, err } = commandIo(cwd, { env });
  const code = await runProgram(words, io);
  return { code, out: out(), err: err() };
};
