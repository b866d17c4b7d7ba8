// Questions on a terminal.
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { InterruptedError } from '../model/errors.ts';
import type { Io } from './io.ts';

/** True at an interactive terminal. */
export const canPrompt = (io: Io): boolean => io.terminal && 'isTTY' in io.stdin && io.stdin.isTTY === true;

/** Asks line by line; `close()` gives the terminal back. */
export class Prompt {
  readonly #lines: Interface;
  readonly #io: Io;
  readonly #ended = new AbortController();
  /** Typed ahead of the prompt. */
  readonly #ahead: string[] = [];
  #hidden = false;

  constructor(io: Io) {
    this.#io = io;
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.#hidden) io.stdout.write(chunk);
        done();
      },
    });
    this.#lines = createInterface({ input: io.stdin, output, terminal: true });
    this.#lines.on('line', (line) => this.#ahead.push(line));
    this.#lines.once('close', () => this.#ended.abort()); // Ctrl-C and Ctrl-D close it
  }

  /** The answer without blanks around it; `fallback` for an empty one. Throws {@link InterruptedError} on Ctrl-C and Ctrl-D. */
  async line(question: string, fallback = ''): Promise<string> {
    const offer = fallback === '' ? '' : ` [${fallback}]`;
    return (await this.#answer(`${question}${offer}: `)).trim() || fallback;
  }

  /** The answer as it was typed, which is not shown. */
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

  /** Idempotent. */
  close(): void {
    this.#lines.close();
  }

  async #answer(prompt: string): Promise<string> {
    const signal = AbortSignal.any([this.#ended.signal, this.#io.stop]);
    this.#lines.setPrompt(prompt);
    this.#lines.prompt();
    try {
      if (this.#ahead.length === 0) await once(this.#lines, 'line', { signal });
    } catch (cause) {
      throw new InterruptedError('interrupted; nothing was written', { cause });
    }
    return this.#ahead.shift() ?? '';
  }
}
