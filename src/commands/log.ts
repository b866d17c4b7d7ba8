// `sluice log`: the log of a job, a run, or the last job of a key.
import { setTimeout as sleep } from 'node:timers/promises';
import { NotFoundError } from '../model/errors.ts';
import { itemId } from '../model/job.ts';
import { lastRunOfKey } from '../service/known-items.ts';
import type { Runtime } from '../service/runtime.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, say } from './io.ts';
import { withRuntimeOf } from './session.ts';

const followMs = 300;

/** Prints the lines; with `follow` continues until the run has ended or the command is stopped. */
export const logCommand = async (
  what: string,
  options: CommonOptions & { follow?: boolean },
  io: Io,
): Promise<number> =>
  withRuntimeOf('log', options, io, async (runtime) => {
    const source = await findLog(runtime, what);
    let from = 0;
    for (;;) {
      const ended = await source.ended();
      const lines = await source.read(from);
      from += lines.length;
      for (const line of lines) say(io, options.json ? JSON.stringify({ line }) : line);
      if (!options.follow || ended || io.stop.aborted) return exitCodes.ok;
      await sleep(followMs, undefined, { signal: io.stop }).catch(() => undefined);
    }
  });

interface LogSource {
  read(from: number): Promise<string[]>;
  ended(): Promise<boolean>;
}

const findLog = async (runtime: Runtime, what: string): Promise<LogSource> => {
  if (what.includes('/')) return logOfKey(runtime, what);
  const runId = what.split('.', 1)[0] ?? what;
  const target = await runtime.runs.target(runId);
  const job = await runtime.queues.runs.getJob(runId);
  if (!target && !job) throw unknown(what);
  const ended = (): Promise<boolean> => runtime.runs.isClosed(runId);
  if (what === runId) {
    // A closed run writes its last lines before its job ends.
    const isOver = async (): Promise<boolean> =>
      (await ended()) && (await runtime.queues.runs.getJobState(runId)) !== 'active';
    return { read: (from) => runtime.jobLogs.readRun(runId, from), ended: isOver };
  }
  return { read: (from) => runtime.jobLogs.read(what, from), ended };
};

const logOfKey = async (runtime: Runtime, key: string): Promise<LogSource> => {
  for (const { portal, manifest } of await runtime.targetsOfKey(key)) {
    const runId = await lastRunOfKey(runtime, { manifest, portal }, key);
    if (!runId) continue;
    const id = itemId(runId, key);
    return {
      read: (from) => runtime.jobLogs.read(id, from),
      ended: () => runtime.runs.isClosed(runId),
    };
  }
  throw unknown(key);
};

const unknown = (what: string): NotFoundError =>
  new NotFoundError(`no job, run or key is known as "${what}"`, {
    hint: '`sluice status` lists the keys; logs are kept as long as `jobs.keepRuns` says',
  });

/** `sluice log` on the command line. */
export const commands = {
  log: {
    arguments: { '<job|run|key>': '' },
    options: { ...commonOptions, '-f, --follow': 'keep printing until the job ends' },
    examples: ['sluice log city-finance/budget/spending'],
    run: logCommand,
  },
} satisfies CommandDeclarations;
