// Commands of operators: retry, release, discard, remove, cancel, pause, resume, notices.
import { errorCodes, isErrorCode, UsageError } from '../model/errors.ts';
import type { RemovalMode } from '../model/policy.ts';
import { saidOf } from '../model/report.ts';
import { endedPauseSchema, pauseSchema } from '../model/status.ts';
import { didYouMean } from '../model/yaml/nearest.ts';
import * as service from '../service/actions.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { type CommonOptions, exitCodes, type Io, print } from './io.ts';
import { confirm } from './prompt.ts';
import { configOf, oneOffLog, withRuntimeOf } from './session.ts';
import { hintLine, lines } from './text.ts';
import { awaitReports } from './wait.ts';

export type RetryOptions = CommonOptions & { code?: string; manifest?: string };

/** Retries the failed items of a run or of one error code, or one key, and waits for the reports. */
export const retryCommand = async (what: string | undefined, options: RetryOptions, io: Io): Promise<number> => {
  const retried = retriedOf(what, options);
  const where = 'of' in retried ? `run ${retried.of}` : `${retried.manifest} with ${retried.code}`;
  return withRuntimeOf('retry', options, io, async (runtime) => {
    const runs = await service.retry(runtime, retried, io.stop);
    const none = { json: { reports: [] }, lines: [`nothing failed in ${where}`] };
    return awaitReports(runtime, runs, options, io, none);
  });
};

const retriedOf = (what: string | undefined, { code, manifest }: RetryOptions): service.Retried => {
  if (what !== undefined && code === undefined && manifest === undefined) return { of: what };
  if (code !== undefined && !isErrorCode(code)) {
    throw new UsageError(`there is no error code "${code}"`, {
      hint: `${didYouMean(code, Object.keys(errorCodes))}\`sluice status\` shows the codes of what is not live`,
    });
  }
  if (what === undefined && code !== undefined && manifest !== undefined) return { code, manifest };
  throw new UsageError('pass a run or key, or both --code and --manifest', {
    hint: 'for example sluice retry --code table-header --manifest city-finance',
  });
};

type RemoveOptions = CommonOptions & { how?: RemovalMode; yes?: boolean };

/** Removes an item, a dataset with all its resources, from every portal it is on. */
export const removeCommand = async (key: string, options: RemoveOptions, io: Io): Promise<number> =>
  withRuntimeOf('remove', options, io, async (runtime) => {
    const { how = 'unpublish' } = options;
    if (how === 'delete' && !options.yes) await confirm(`${key} is deleted from the portal with all below it`, io);
    return awaitReports(runtime, await service.remove(runtime, { key, how }, io.stop), options, io);
  });

/** Sends one notice through every channel; 0 when all took it, 3 otherwise. @throws UsageError where there is none */
const noticesTestCommand = async (options: CommonOptions, io: Io): Promise<number> => {
  const { testNotices } = await import('../service/test-notices.ts'); // clients that the other commands start without
  const config = await configOf(options, io);
  const channels = await testNotices(config, { env: io.env, log: oneOffLog(config, options, io), signal: io.stop });
  if (channels.length === 0) {
    throw new UsageError('no channel for notices is configured', {
      hint: 'set `notify.webhook`, `notify.email` or `notify.heartbeat` in the configuration',
    });
  }
  const text = channels.map(({ channel, to, manifest, error }) => {
    const whose = manifest === null ? '' : ` (of ${manifest})`;
    return [`${channel} ${to}${whose}: ${error ? `failed: ${error.message}` : 'delivered'}`, hintLine(error?.hint)];
  });
  print(io, options, { json: { channels }, lines: lines(text) });
  return channels.every(({ error }) => error === null) ? exitCodes.ok : exitCodes.someFailed;
};

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
  release: {
    arguments: { '<run|key>': '' },
    examples: ['sluice release 20261121-031500-k3x9a', 'sluice release city-finance/budget/spending'],
    run: async (what: string, options: CommonOptions, io: Io) =>
      withRuntimeOf('release', options, io, async (runtime) =>
        awaitReports(runtime, await service.release(runtime, what, io.stop), options, io),
      ),
  },
  discard: {
    arguments: { '<run|key>': '' },
    examples: ['sluice discard 20261121-031500-k3x9a', 'sluice discard city-finance/budget/spending'],
    run: async (what: string, options: CommonOptions, io: Io) =>
      withRuntimeOf('discard', options, io, async (runtime) => {
        const none = { json: { discarded: what }, lines: [`run ${what} is discarded; nothing was changed`] };
        return awaitReports(runtime, await service.discard(runtime, what, io.stop), options, io, none);
      }),
  },
  remove: {
    arguments: { '<key>': 'key of a dataset (with its resources) or a resource' },
    options: {
      ...commonOptions,
      '--how <way>': {
        text: 'hide it, also mark it as an orphan, or delete it for good',
        choices: ['unpublish', 'orphan', 'delete'] satisfies RemovalMode[],
        fallback: 'unpublish',
      },
      '--yes': 'delete without asking',
    },
    examples: ['sluice remove city-finance/budget-2019 --how orphan'],
    run: removeCommand,
  },
  cancel: {
    arguments: { '<run>': 'a running, waiting or held run' },
    examples: ['sluice cancel 20261121-031500-k3x9a'],
    run: async (runId: string, options: CommonOptions, io: Io) =>
      withRuntimeOf('cancel', options, io, async (runtime) => {
        const { run, state } = await service.cancelRun(runtime, runId);
        if (state === 'ending') {
          await awaitReports(runtime, [run], { ...options, wait: Number.POSITIVE_INFINITY }, io);
          return exitCodes.ok;
        }
        const isCancelled = (await runtime.runs.reason(runId))?.code === 'cancelled';
        const did = isCancelled ? 'been cancelled' : 'ended';
        const text = state === 'held' ? 'was held, and is discarded; nothing was changed' : `had already ${did}`;
        print(io, options, { json: { ...run, state }, lines: [`run ${runId} of ${run.manifest} ${text}`] });
        return exitCodes.ok;
      }),
  },
  pause: {
    arguments: { '<portal>': 'a configured portal' },
    options: { ...commonOptions, '--reason <text>': 'reason, shown by `sluice status`' },
    examples: ['sluice pause city --reason "maintenance until 16:00"'],
    run: async (portal: string, options: CommonOptions & { reason?: string }, io: Io) =>
      withRuntimeOf('pause', options, io, async (runtime) => {
        const pause = await service.pausePortal(runtime, portal, options.reason ?? null);
        const told = pauseSchema.nullable().parse(pause);
        const text = told && [
          `portal ${portal} has been paused since ${told.since}: ${saidOf(portal, told.reason.message)}`,
          hintLine(told.reason.hint),
        ];
        print(io, options, { json: { portal, pause: told }, lines: lines(text) });
        return exitCodes.ok;
      }),
  },
  resume: {
    arguments: { '<portal>': 'a configured portal' },
    examples: ['sluice resume city'],
    run: async (portal: string, options: CommonOptions, io: Io) =>
      withRuntimeOf('resume', options, io, async (runtime) => {
        const ended = endedPauseSchema.nullable().parse(await service.resumePortal(runtime, portal));
        const did = ended ? `is resumed; it had been paused since ${ended.since}` : 'was not paused';
        print(io, options, { json: { portal, ended }, lines: [`portal ${portal} ${did}`] });
        return exitCodes.ok;
      }),
  },
  notices: {
    examples: ['sluice notices test'],
    subcommands: {
      test: {
        description: 'send one test notice through every channel',
        examples: ['sluice notices test --config config/sluice.yaml'],
        run: noticesTestCommand,
      },
    },
  },
} satisfies CommandDeclarations;
