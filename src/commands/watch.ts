// Shows what a command prints again and again, with how far runs are below it, until the command is stopped.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Runtime } from '../service/runtime.ts';
import { exitCodes } from './exit.ts';
import { type CommonOptions, captured, type Io, sayText } from './io.ts';
import { Progress } from './progress.ts';

const everyMs = 1000;

/** In place on a terminal, where the last view stays; elsewhere, and as JSON, each time it differs. Returns 0. */
export const watch = async (
  runtime: Runtime,
  show: (io: Io) => Promise<unknown>,
  { json }: CommonOptions,
  io: Io,
): Promise<number> => {
  const progress = new Progress(runtime);
  const { line } = json ? { line: null } : io;
  for (let before = ''; ; ) {
    const { text, io: own } = captured(io);
    await show(own);
    const view = text().trimEnd();
    const running = json ? [] : await progress.running();
    if (line) line.show(...view.split('\n'), ...running);
    else if (view !== before) sayText(io, view);
    before = view;
    await sleep(everyMs, undefined, { signal: io.stop }).catch(() => undefined);
    if (!io.stop.aborted) continue;
    if (line) sayText(io, view);
    return exitCodes.ok;
  }
};
