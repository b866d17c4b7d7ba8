// Questions to the person at the terminal.
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError, UsageError } from '../model/errors.ts';
import type { Io } from './io.ts';

export const canPrompt = (io: Io): boolean => io.terminal && 'isTTY' in io.stdin && io.stdin.isTTY === true;

/** Asks before something that cannot be undone. @throws UsageError without a terminal, InterruptedError for a no */
export const confirm = async (what: string, io: Io): Promise<void> => {
  if (!canPrompt(io)) throw new UsageError(`${what}: this cannot be undone`, { hint: 'add --yes to confirm it' });
  using prompt = new Prompt(io);
  const answer = await prompt.line(`${what}, which cannot be undone? [y/N]`);
  if (!/^y(es)?$/i.test(answer)) throw new InterruptedError('not confirmed; nothing was changed');
};

/** Prompts on the terminal until it is disposed of. */
export class Prompt {
  readonly #lines: Interface;
  readonly #io: Io;
  /** Also what was typed before it was prompted for; ends with Ctrl-C, Ctrl-D and a stop. */
  readonly #typed: AsyncIterator<string>;
  #hidden = false;

  constructor(io: Io) {
    this.#io = io;
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.#hidden) io.stdout.write(chunk);
        done();
      },
    });
    this.#lines = createInterface({ input: io.stdin, output, terminal: true, signal: io.stop });
    this.#typed = this.#lines[Symbol.asyncIterator]();
  }

  /** The answer without blanks around it; `fallback` for an empty one. Throws {@link InterruptedError} on Ctrl-C and Ctrl-D. */
  async line(question: string, fallback = ''): Promise<string> {
    const offer = fallback === '' ? '' : ` [${fallback}]`;
    return (await this.#answer(`${question}${offer}: `)).trim() || fallback;
  }

  async secret(question: string): Promise<string> {
    this.#io.stdout.write(`${question} (not shown): `);
    this.#hidden = true;
    try {
      return await this.#answer('');
    } finally {
      this.#hidden = false;
      this.#io.stdout.write('\n');
    }
  }

  [Symbol.dispose](): void {
    this.#lines.close();
  }

  async #answer(prompt: string): Promise<string> {
    this.#lines.setPrompt(prompt);
    this.#lines.prompt();
    const { value, done } = await this.#typed.next();
    if (done) throw new InterruptedError('interrupted; nothing was written');
    return value;
  }
}
