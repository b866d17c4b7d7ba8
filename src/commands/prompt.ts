// Questions to the person at the terminal.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError, UsageError } from '../model/errors.ts';
import type { Io } from './io.ts';

export const canPrompt = (io: Io): boolean => io.terminal && 'isTTY' in io.stdin && io.stdin.isTTY === true;

/** Asks before something that cannot be undone. @throws UsageError without a terminal, InterruptedError for a no */
export const confirm = async (what: string, io: Io): Promise<void> => {
  if (!canPrompt(io)) throw new UsageError(`${what}: this cannot be undone`, { hint: 'add --yes to confirm it' });
  using prompt = openPrompt(io);
  const answer = await prompt.line(`${what}, which cannot be undone? [y/N]`);
  if (!/^y(es)?$/i.test(answer)) throw new InterruptedError('not confirmed; nothing was changed');
};

export const openPrompt = (io: Io) => {
  let isHidden = false;
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      if (!isHidden) io.stdout.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: io.stdin, output, terminal: true, signal: io.stop });
  /** Also what was typed before it was prompted for; ends with Ctrl-C, Ctrl-D and a stop. */
  const typed = lines[Symbol.asyncIterator]();

  /** The answer without blanks around it; `fallback` for an empty one. Throws {@link InterruptedError} on Ctrl-C and Ctrl-D. */
  const line = async (question: string, fallback = ''): Promise<string> => {
    return (await answer(`${question}${fallback === '' ? '' : ` [${fallback}]`}: `)).trim() || fallback;
  };

  const secret = async (question: string): Promise<string> => {
    io.stdout.write(`${question} (not shown): `);
    isHidden = true;
    try {
      return await answer('');
    } finally {
      isHidden = false;
      io.stdout.write('\n');
    }
  };

  const answer = async (prompt: string): Promise<string> => {
    lines.setPrompt(prompt);
    lines.prompt();
    const { value, done } = await typed.next();
    if (done) throw new InterruptedError('interrupted; nothing was written');
    return value;
  };

  return { line, secret, [Symbol.dispose]: (): void => lines.close() };
};
