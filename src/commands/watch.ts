// Shows what a command prints again and again, with how far runs are below it, until the command is stopped.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Runtime } from '../service/runtime.ts';
import { exitCodes } from './exit.ts';
import { type CommonOptions, fittingLines, type Io, type Printed, print } from './io.ts';
import { Progress } from './progress.ts';

const everyMs = 1000;

/** In place on a terminal, where the last view stays; elsewhere, and as JSON, each time it differs. Returns 0. */
export const watch = async (
  runtime: Runtime,
  look: () => Promise<Printed>,
  options: CommonOptions,
  io: Io,
): Promise<number> => {
  const progress = new Progress(runtime);
  const line = options.json ? null : io.line;
  for (let before = ''; ; ) {
    const view = await look();
    const sign = JSON.stringify(view);
    if (line) line.show(...fittingLines(io, view.lines.join('\n')), ...(await progress.running()));
    else if (sign !== before) print(io, options, view);
    before = sign;
    await sleep(everyMs, undefined, { signal: io.stop }).catch(() => undefined);
    if (!io.stop.aborted) continue;
    if (line) print(io, options, view);
    return exitCodes.ok;
  }
};
