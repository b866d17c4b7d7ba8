// `sluice retry`: a new run limited to what failed.

import { UsageError } from '../model/errors.ts';
import { type Retried, retry } from '../service/actions.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, say } from './io.ts';
import { awaitReports } from './publish.ts';
import { withRuntimeOf } from './session.ts';

/** Options of `sluice retry`. */
export interface RetryOptions extends CommonOptions {
  code?: string;
  manifest?: string;
}

/** Runs the failed items of a run or of a cause, or one key, again and waits for the reports. */
export const retryCommand = async (what: string | undefined, options: RetryOptions, io: Io): Promise<number> => {
  const retried = retriedOf(what, options);
  return withRuntimeOf('retry', options, io, async (runtime) => {
    const runs = await retry(runtime, retried, io.stop);
    if (runs.length > 0) return awaitReports(runtime, runs, options, io);
    const where = 'of' in retried ? `run ${retried.of}` : `${retried.manifest} with ${retried.code}`;
    say(io, options.json ? '[]' : `nothing failed in ${where}`);
    return exitCodes.ok;
  });
};

const retriedOf = (what: string | undefined, { code, manifest }: RetryOptions): Retried => {
  if (what !== undefined && code === undefined && manifest === undefined) return { of: what };
  if (what === undefined && code !== undefined && manifest !== undefined) return { code, manifest };
  throw new UsageError('name a run or key, or --code and --manifest', {
    hint: 'sluice retry --code table-header --manifest city-finance',
  });
};

/** `sluice retry` on the command line. */
export const commands = {
  retry: {
    arguments: { '[run|key]': '' },
    options: {
      ...commonOptions,
      '--code <code>': 'everything that failed with this code in --manifest',
      '--manifest <name>': 'name of the manifest for --code',
    },
    examples: ['sluice retry 20261121-031500-k3x9a', 'sluice retry --code portal-refused --manifest city-finance'],
    run: retryCommand,
  },
} satisfies CommandDeclarations;
