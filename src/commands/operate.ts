// What operators do to runs and items: release or discard a held run, take one item down.

import { InterruptedError, NotFoundError, UsageError } from '../model/errors.ts';
import { removalModes } from '../model/policy.ts';
import type { KnownTarget, Runtime } from '../service/runtime.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, say } from './io.ts';
import { awaitReports } from './publish.ts';
import { withRuntimeOf } from './session.ts';
import type { AwaitedRun } from './wait.ts';

/** Lets a held run do what it was held for, and nothing it was not held for. */
export const releaseCommand = async (runId: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('release', options, io, async (runtime) => {
    const held = await runtime.plans.heldRun(runId);
    return oneRun(runtime, held, { release: runId, plan: held.plan }, options, io);
  });

/** Forgets a held run: nothing of it is done. */
export const discardCommand = async (runId: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('discard', options, io, async (runtime) => {
    const held = await runtime.plans.heldRun(runId);
    await runtime.plans.dropHeld(runId);
    const text = `run ${runId} of ${held.manifest} is discarded; nothing was changed`;
    say(io, options.json ? JSON.stringify({ discarded: runId }) : text);
    return exitCodes.ok;
  });

/** Takes one item down, a dataset with all its resources, on every portal where it is. */
export const removeCommand = async (
  key: string,
  options: CommonOptions & { how?: string },
  io: Io,
): Promise<number> => {
  const how = removalModes.find((mode) => mode === (options.how ?? 'unpublish'));
  if (!how) {
    throw new UsageError(`--how ${options.how} is not known`, { hint: `it is one of ${removalModes.join(', ')}` });
  }
  return withRuntimeOf('remove', options, io, async (runtime) => {
    const targets: KnownTarget[] = [];
    for (const target of await runtime.targetsOfKey(key)) {
      const entry = await runtime.ledger.entry(target.portal, key);
      if (entry?.nid) targets.push(target);
    }
    if (targets.length > 0) return awaitRuns(runtime, targets, { remove: { key, how } }, options, io);
    throw new NotFoundError(`no published key "${key}" is known`, { hint: '`sluice status` lists the keys' });
  });
};

/** Asks for a run that stands for itself alone, as soon as no other run of the target is under way, and awaits it. */
export const oneRun = (
  runtime: Runtime,
  target: KnownTarget,
  more: Parameters<Runtime['requestRun']>[2],
  options: CommonOptions,
  io: Io,
): Promise<number> => awaitRuns(runtime, [target], more, options, io);

const awaitRuns = async (
  runtime: Runtime,
  targets: KnownTarget[],
  more: Parameters<Runtime['requestRun']>[2],
  options: CommonOptions,
  io: Io,
): Promise<number> => {
  const runs: AwaitedRun[] = [];
  for (const { manifestPath, manifest, portal } of targets) {
    const asked = { path: manifestPath, name: manifest, portal };
    const { runId } = await runtime.requestRun(asked, 'command', more, io.stop).catch((error: unknown) => {
      if (!io.stop.aborted) throw error;
      throw new InterruptedError('interrupted before the run was requested', { hint: 'run the command again' });
    });
    runs.push({ runId, manifest, portal: runtime.portalOf(asked) });
  }
  return awaitReports(runtime, runs, options, io);
};

/** `sluice release`, `discard` and `remove` on the command line. */
export const commands = {
  release: {
    arguments: { '<run>': '' },
    options: commonOptions,
    examples: ['sluice release 20261121-031500-k3x9a'],
    run: releaseCommand,
  },
  discard: {
    arguments: { '<run>': '' },
    options: commonOptions,
    examples: ['sluice discard 20261121-031500-k3x9a'],
    run: discardCommand,
  },
  remove: {
    arguments: { '<key>': 'key of a dataset (with its resources) or a resource' },
    options: { ...commonOptions, '--how <way>': { text: 'orphan, unpublish or delete', fallback: 'unpublish' } },
    examples: ['sluice remove city-finance/budget-2019 --how orphan'],
    run: removeCommand,
  },
} satisfies CommandDeclarations;
