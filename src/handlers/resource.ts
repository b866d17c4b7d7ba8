// A resource: one file from its folder to a verified datastore, in steps that can each be resumed.
import { JobLostError, PortalGoneError } from '../errors.ts';
import { newEntry } from '../ledger/entry.ts';
import type { ResourceWork } from '../ledger/runs.ts';
import type { HandlerDeps } from './deps.ts';
import { againBecause, isRefused, refuseFile, standByGoodFile } from './fall-back.ts';
import { noteFound } from './found.ts';
import { type Item, outcomeOf } from './item.ts';
import { recreateNode } from './node-write.ts';
import { removePrepared } from './prepare-source.ts';
import { removeNode } from './removal.ts';
import { nodeTarget, type ResourceState, type ResourceStep } from './resource-state.ts';
import { nodeWishOf, resourceSteps } from './resource-steps.ts';

/** Publishes a resource below the node of its dataset. */
export const publishResource = async (deps: HandlerDeps, item: Item, datasetNid: string): Promise<void> => {
  const { state, removal } = await openState(deps, item, datasetNid);
  if (removal) return takeDown(state, removal);
  try {
    await publish(state);
  } finally {
    await removePrepared(state);
  }
  const { reason } = state.entry;
  if (reason) return item.end(state.entry, { outcome: outcomeOf(reason), reason });
  return item.end(state.entry, { outcome: item.actions.length > 0 ? 'done' : 'unchanged', reason: null });
};

/** Takes a resource down whose dataset goes as well. */
export const removeResource = async (deps: HandlerDeps, item: Item): Promise<void> => {
  const { state, removal } = await openState(deps, item, '');
  if (removal) await takeDown(state, removal);
};

const takeDown = async (state: ResourceState, how: NonNullable<ResourceWork['removal']>): Promise<void> => {
  const entry = await removeNode(nodeTarget(state), state.entry, how);
  await state.item.end(entry, { outcome: 'done', reason: null });
};

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
    await state.item.note(why);
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
  item: Item,
  datasetNid: string,
): Promise<{ state: ResourceState; removal: ResourceWork['removal'] }> => {
  const [work, { entry, intent }] = await Promise.all([
    deps.runs.resourceWork(item.runId, item.key),
    deps.ledger.known(item.portal, item.key),
  ]);
  if (!work) {
    throw new JobLostError(`run ${item.runId} holds no work on ${item.key} any more`, {
      hint: 'publish again',
    });
  }
  const { wish } = work;
  await noteFound(item, entry, intent);
  const state: ResourceState = {
    deps,
    item,
    datasetNid,
    portal: deps.portal(item.portal),
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
