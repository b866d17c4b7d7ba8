// Commands in this process, through the same parser as those of the shell.
import { runProgram } from '../../../src/commands/program.ts';
import { commandIo } from '../../support/command-io.ts';
import { atFileEnd } from '../../support/file-end.ts';
import type { Ended, Started } from '../../support/sluice-process.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface Surroundings {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** Runs a command line to its end. */
export const runHere = async (words: string[], { cwd, env }: Surroundings): Promise<Ended> => {
  const { io, out, err } = commandIo(cwd, { env });
  const code = await runProgram(words, io);
  return { code, out: out(), err: err() };
};

/** Starts a command line, which takes signals as a process does; it is stopped when the test file ends. */
export const startHere = (words: string[], { cwd, env }: Surroundings): Started => {
  const { io, out, err, stop } = commandIo(cwd, { env });
  let over = false;
  const ended = runProgram(words, io).finally(() => {
    over = true;
  });
  ended.catch(() => undefined); // whoever awaits it is told
  const end: Started['end'] = async (signal) => {
    stop(signal);
    return await ended;
  };
  atFileEnd(() => end('SIGTERM'));
  return {
    out,
    err,
    ended,
    hasEnded: () => over,
    said: async (text, timeoutMs = 200_000) => {
      await waitUntil(`"${text}"`, () => over || out().includes(text), timeoutMs);
      if (!out().includes(text))
        throw new Error(`sluice ${words.join(' ')} ended before "${text}":\n${out()}\n${err()}`);
    },
    end,
  };
};
