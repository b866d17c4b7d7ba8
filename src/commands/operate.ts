// What operators do to runs and items: release or discard a held run, take one item down.

import { InterruptedError, NotFoundError, UsageError } from '../model/errors.ts';
import type { LedgerEntry } from '../model/ledger-entry.ts';
import { removalModes } from '../model/policy.ts';
import type { KnownTarget, Runtime } from '../service/runtime.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type CommonOptions, type Io, say } from './io.ts';
import { awaitReports } from './publish.ts';
import { withRuntimeOf } from './session.ts';
import type { AwaitedRun } from './wait.ts';

/** Lets a held run do what it was held for, and nothing it was not held for; or publishes the held tables of a key. */
export const releaseCommand = async (what: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('release', options, io, async (runtime) => {
    if (what.includes('/')) return decide(runtime, { key: what, how: 'release' }, options, io);
    const runId = what;
    const held = await runtime.plans.heldRun(runId);
    return oneRun(runtime, held, { release: runId, plan: held.plan }, options, io);
  });

/** Forgets a held run: nothing of it is done; or settles that the held tables of a key stay as they are on the portal. */
export const discardCommand = async (what: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('discard', options, io, async (runtime) => {
    if (what.includes('/')) return decide(runtime, { key: what, how: 'discard' }, options, io);
    const runId = what;
    const held = await runtime.plans.heldRun(runId);
    await runtime.plans.dropHeld(runId);
    const text = `run ${runId} of ${held.manifest} is discarded; nothing was changed`;
    say(io, options.json ? JSON.stringify({ discarded: runId }) : text);
    return exitCodes.ok;
  });

/** Has a run do what was decided about the held tables of a resource, or of all resources of a dataset. */
const decide = async (
  runtime: Runtime,
  { key, how }: { key: string; how: 'release' | 'discard' },
  options: CommonOptions,
  io: Io,
): Promise<number> => {
  const asked: { target: KnownTarget; keys: string[] }[] = [];
  for (const target of await runtime.targetsOfKey(key)) {
    const entries = [...(await runtime.ledger.entries(target)).values()];
    const held = entries.filter((entry) => isHeld(entry) && (entry.key === key || entry.key.startsWith(`${key}/`)));
    if (held.length > 0) asked.push({ target, keys: held.map((entry) => entry.key) });
  }
  if (asked.length === 0) {
    throw new NotFoundError(`nothing of "${key}" is held`, { hint: '`sluice status` names what is held' });
  }
  const runs: AwaitedRun[] = [];
  for (const { target, keys } of asked)
    runs.push(await ask(runtime, target, { decision: { keys, how }, only: keys }, io));
  return awaitReports(runtime, runs, options, io);
};

const isHeld = ({ reason, kind }: LedgerEntry): boolean => kind === 'resource' && reason?.code === 'held';

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
  for (const target of targets) runs.push(await ask(runtime, target, more, io));
  return awaitReports(runtime, runs, options, io);
};

const ask = async (
  runtime: Runtime,
  { manifestPath, manifest, portal }: KnownTarget,
  more: Parameters<Runtime['requestRun']>[2],
  io: Io,
): Promise<AwaitedRun> => {
  const asked = { path: manifestPath, name: manifest, portal };
  const { runId } = await runtime.requestRun(asked, 'command', more, io.stop).catch((error: unknown) => {
    if (!io.stop.aborted) throw error;
    throw new InterruptedError('interrupted before the run was requested', { hint: 'run the command again' });
  });
  return { runId, manifest, portal: runtime.portalOf(asked) };
};

/** `sluice release`, `discard` and `remove` on the command line. */
export const commands = {
  release: {
    arguments: { '<run|key>': '' },
    options: commonOptions,
    examples: ['sluice release 20261121-031500-k3x9a', 'sluice release city-finance/budget/spending'],
    run: releaseCommand,
  },
  discard: {
    arguments: { '<run|key>': '' },
    options: commonOptions,
    examples: ['sluice discard 20261121-031500-k3x9a', 'sluice discard city-finance/budget/spending'],
    run: discardCommand,
  },
  remove: {
    arguments: { '<key>': 'key of a dataset (with its resources) or a resource' },
    options: { ...commonOptions, '--how <way>': { text: 'orphan, unpublish or delete', fallback: 'unpublish' } },
    examples: ['sluice remove city-finance/budget-2019 --how orphan'],
    run: removeCommand,
  },
} satisfies CommandDeclarations;
