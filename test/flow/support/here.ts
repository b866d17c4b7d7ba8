// Commands in this process, as `src/cli.ts` would run them: for flows whose commands need no process of their own.
import { parseArgs } from 'node:util';
import { exitCodeOfError } from '../../../src/commands/exit.ts';
import { exportCommand } from '../../../src/commands/export.ts';
import type { CommonOptions, Io } from '../../../src/commands/io.ts';
import { discardCommand, releaseCommand, removeCommand, retryCommand } from '../../../src/commands/operate.ts';
import { applyCommand, planCommand } from '../../../src/commands/plan.ts';
import { publishCommand } from '../../../src/commands/publish.ts';
import { adoptCommand, rebuildCommand, verifyCommand } from '../../../src/commands/reconcile.ts';
import { logCommand } from '../../../src/commands/runs.ts';
import { statusCommand } from '../../../src/commands/status.ts';
import { SluiceError } from '../../../src/model/errors.ts';
import { commandIo } from '../../support/command-io.ts';
import type { Ended } from '../../support/sluice-process.ts';

const flags = {
  json: { type: 'boolean' },
  refresh: { type: 'boolean' },
  strict: { type: 'boolean' },
  content: { type: 'boolean' },
  state: { type: 'string' },
  portal: { type: 'string' },
  'on-drift': { type: 'string' },
  'create-missing': { type: 'boolean' },
  output: { type: 'string', short: 'o' },
  mapping: { type: 'string' },
  how: { type: 'string' },
  only: { type: 'string', multiple: true },
  files: { type: 'string' },
  public: { type: 'boolean' },
} as const;

type Options = CommonOptions & Record<string, unknown>;
type Run = (what: string, options: Options, io: Io, all: string[]) => Promise<number>;

const commands: Readonly<Record<string, Run>> = {
  publish: (_what, options, io, all) => publishCommand(all, options, io),
  plan: (_what, options, io, all) => planCommand(all, options, io),
  status: (what, options, io, all) => statusCommand(all.length === 0 ? undefined : what, options, io),
  apply: applyCommand,
  release: releaseCommand,
  discard: discardCommand,
  remove: removeCommand,
  retry: retryCommand,
  log: logCommand,
  adopt: adoptCommand,
  rebuild: rebuildCommand,
  verify: verifyCommand,
  export: exportCommand,
};

/** True for the command lines that {@link runHere} knows. */
export const runsHere = ([name = '', ...args]: string[]): boolean => {
  if (!Object.hasOwn(commands, name)) return false;
  try {
    parseArgs({ args, options: flags, allowPositionals: true });
    return true;
  } catch {
    return false;
  }
};

/** Runs a command line to its end. */
export const runHere = async (
  [name = '', ...args]: string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Ended> => {
  const { values, positionals } = parseArgs({ args, options: flags, allowPositionals: true });
  const { 'on-drift': onDrift, 'create-missing': createMissing, ...rest } = values;
  const { io, out, err } = commandIo(cwd, { env });
  const end = (code: number, more = ''): Ended => ({ code, out: out(), err: err() + more });
  try {
    const options = {
      ...rest,
      ...(onDrift === undefined ? {} : { onDrift }),
      ...(createMissing ? { createMissing } : {}),
    };
    return end((await commands[name]?.(positionals[0] ?? '', options, io, positionals)) ?? -1);
  } catch (error) {
    const told = error instanceof SluiceError ? `${error.message}\n-> ${error.hint ?? ''}` : String(error);
    return end(exitCodeOfError(error), `sluice: ${told}\n`);
  }
};
