// Job kind `resource`: one file from its folder to a verified datastore, in steps that can each be resumed.
import { performance } from 'node:perf_hooks';
import { JobLostError, PortalGoneError } from '../errors.ts';
import type { Handler, JobContext } from '../job.ts';
import { newEntry } from '../ledger/entry.ts';
import type { ResourceWork } from '../ledger/runs.ts';
import { sourcePathOf } from '../wish.ts';
import { type HandlerDeps, inNameOf } from './deps.ts';
import { againBecause, isRefused, refuseFile, standByGoodFile } from './fall-back.ts';
import { noteFound } from './found.ts';
import { failedEntry, itemOfJob, outcomeOf } from './items.ts';
import { recreateNode } from './node-write.ts';
import { removePrepared } from './prepare-source.ts';
import { removeNode } from './removal.ts';
import { nodeTarget, type ResourceState, type ResourceStep } from './resource-state.ts';
import { nodeWishOf, resourceSteps } from './resource-steps.ts';

/** Returns the report item of the resource. */
export const resourceHandler = (shared: HandlerDeps): Handler<'resource'> => ({
  run: async (job) => {
    const deps = inNameOf(shared, job);
    const begun = performance.now();
    const { state, removal } = await openState(deps, job);
    if (removal) {
      const entry = await removeNode(nodeTarget(state), state.entry, removal);
      await deps.runs.outcome(job.data.runId, job.data.key, 'done');
      return itemOfJob(job, entry, { outcome: 'done', reason: null });
    }
    try {
      await publish(state);
    } finally {
      await removePrepared(state);
      await job.save({ workedMs: job.data.workedMs + Math.round(performance.now() - begun) });
    }
    const { reason } = state.entry;
    if (reason) {
      await deps.runs.outcome(job.data.runId, job.data.key, outcomeOf(reason));
      return itemOfJob(job, state.entry, { outcome: outcomeOf(reason), reason });
    }
    await deps.runs.outcome(job.data.runId, job.data.key, 'done');
    return itemOfJob(job, state.entry, { outcome: job.data.actions.length > 0 ? 'done' : 'unchanged', reason: null });
  },
  failed: async (job, reason) => {
    const deps = inNameOf(shared, job);
    const known = await deps.ledger.entry(job.data.portal, job.data.key);
    const wish = (await deps.runs.resourceWork(job.data.runId, job.data.key))?.wish;
    const entry =
      known ?? newEntry({ key: job.data.key, kind: 'resource', uuid: wish?.uuid ?? '', title: wish?.title ?? '' });
    const sourcePath = wish ? sourcePathOf(wish.source) : null;
    await deps.ledger.put(job.data.portal, { ...failedEntry(entry, reason, job.data.runId), sourcePath });
    await deps.runs.outcome(job.data.runId, job.data.key, outcomeOf(reason));
  },
});

/** All steps; a file that the portal cannot import gives way to the last good one, and the entry tells the reason. */
const publish = async (state: ResourceState): Promise<void> => {
  try {
    await runSteps(state);
  } catch (error) {
    if (!(await refuseFile(state, error))) throw error;
  }
  if (isRefused(state)) await standByGoodFile(state, runNamed);
};

const runSteps = async (state: ResourceState): Promise<void> => {
  try {
    for (const step of resourceSteps) {
      if (isRefused(state)) return;
      if (step.applies(state)) await runStep(step.run, state);
    }
  } catch (error) {
    const why = againBecause(state, error);
    if (why === null) throw error;
    await state.job.note(why);
    await runNamed(state, new Set(['import', 'verify', 'ledger']));
  }
};

const runNamed = async (state: ResourceState, names: ReadonlySet<ResourceStep['name']>): Promise<void> => {
  for (const step of resourceSteps) {
    if (names.has(step.name) && step.applies(state)) await runStep(step.run, state);
  }
};

const openState = async (
  deps: HandlerDeps,
  job: JobContext<'resource'>,
): Promise<{ state: ResourceState; removal: ResourceWork['removal'] }> => {
  const [work, { entry, intent }] = await Promise.all([
    deps.runs.resourceWork(job.data.runId, job.data.key),
    deps.ledger.known(job.data.portal, job.data.key),
  ]);
  if (!work) {
    throw new JobLostError(`run ${job.data.runId} holds no work on ${job.data.key} any more`, {
      hint: 'publish again',
    });
  }
  const { wish } = work;
  await noteFound(job, entry, intent);
  const state: ResourceState = {
    deps,
    job,
    portal: deps.portal(job.data.portal),
    wish,
    onDrift: work.onDrift,
    seen: work.source,
    entry: entry ?? newEntry({ key: wish.key, kind: 'resource', uuid: wish.uuid, title: wish.title }),
    intent,
    source: null,
    fetched: null,
    prepared: null,
    table: null,
    recreated: false,
    counted: false,
    fallsBack: false,
  };
  return { state, removal: work.removal };
};

/** A node that vanished in mid-job is created anew once; the steps that follow then see an empty node. */
const runStep = async (run: (state: ResourceState) => Promise<void>, state: ResourceState): Promise<void> => {
  try {
    await run(state);
  } catch (error) {
    if (!(error instanceof PortalGoneError) || state.recreated || !state.entry.nid) throw error;
    state.entry = await recreateNode(nodeTarget(state), nodeWishOf(state), state.entry);
    state.recreated = true;
    for (const step of resourceSteps) {
      if (step.applies(state)) await step.run(state);
      if (step.run === run) return;
    }
  }
};
