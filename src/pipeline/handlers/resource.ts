// A resource: one file from its folder to a verified node, in steps that can each be resumed.
import { PortalError, PortalGoneError, reasonOf } from '../../model/errors.ts';
import { newEntry } from '../../model/ledger-entry.ts';
import type { RemovalMode } from '../../model/policy.ts';
import { sourcePathOf } from '../../model/wish.ts';
import { importFingerprint } from '../plan/known-wish.ts';
import type { HandlerDeps } from './deps.ts';
import { againBecause, isRefused, refuseFile, restoreLastGood, sizeRefused } from './fall-back.ts';
import { versionsToReport } from './guard-table.ts';
import { type Item, noteFound, outcomeOf, workLost } from './item.ts';
import { recreateNode, takenBack } from './node-write.ts';
import { removeNode } from './removal.ts';
import { type ResourceState, type ResourceStep, removePrepared } from './resource-state.ts';
import { atCreation, nodeWishOf, resourceSteps } from './resource-steps.ts';

/** How a resource is published. */
interface ResourceMode {
  datasetNid: string | null;
  provesNow: boolean;
  /** True where the dataset was created in this run. */
  isNewDataset: boolean;
}

/** Publishes or removes a resource; ends its item unless its table is still to be proven. */
export const publishResource = async (deps: HandlerDeps, item: Item, mode: ResourceMode): Promise<void> => {
  if (item.unproven && !mode.provesNow) return;
  const { state, removal } = await openState(deps, item, mode);
  if (removal) return takeDown(state, removal);
  try {
    await publish(state);
  } finally {
    await removePrepared(state);
  }
  if (item.unproven && !mode.provesNow) return;
  const { reason } = state.entry;
  if (reason) {
    const held = state.entry.refused?.guard === 'held' ? { versions: await versionsToReport(state) } : {};
    return item.end(state.entry, { outcome: outcomeOf(reason), reason, ...held });
  }
  return item.end(state.entry, { outcome: item.actions.length > 0 ? 'done' : 'unchanged', reason: null });
};

const takeDown = async (state: ResourceState, how: RemovalMode): Promise<void> => {
  const entry = await removeNode(state.deps, state.target, nodeWishOf(state), state.entry, how);
  await state.target.item.end(entry, { outcome: 'done', reason: null });
};

/** Runs all steps; a file that the portal cannot import is replaced by the last good one, and the entry holds the reason. */
const publish = async (state: ResourceState): Promise<void> => {
  try {
    await runSteps(state);
  } catch (error) {
    if (await removeUnfilled(state, error)) return;
    if (!(await refuseFile(state, error))) throw error;
  }
  if (isRefused(state)) await restoreLastGood(state, runNamed);
};

/** Deletes a node that was created for a file which the portal refuses: it would stay empty. False for another failure. */
const removeUnfilled = async (state: ResourceState, error: unknown): Promise<boolean> => {
  const { deps, target, entry, source, wish } = state;
  const { item } = target;
  const isOfFile = error instanceof PortalError && error.fault === 'file';
  if (!isOfFile || item.lastStep !== 'attach' || source === null) return false;
  if (!item.actions.includes('created') || entry.file !== null || entry.nid === null) return false;
  const removed = await removeNode(deps, target, nodeWishOf(state), entry, 'delete');
  const reason = reasonOf(error);
  const wanted = { sha256: source.sha256, importFingerprint: importFingerprint(wish) };
  const refused = { ...wanted, delimiter: null, isReplaced: true, reason, ...sizeRefused(state, error) };
  const from = { source, sourcePath: sourcePathOf(wish.source), fetched: state.fetched };
  state.entry = { ...removed, ...from, removed: null, reason, refused };
  await deps.ledger.settle(item.portal, state.entry, { former: null });
  return true;
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
    await state.target.item.note(why);
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
  { datasetNid, provesNow, isNewDataset }: ResourceMode,
): Promise<{ state: ResourceState; removal: RemovalMode | null }> => {
  const [work, { entry, intent }] = await Promise.all([
    deps.runs.resourceWork(item.runId, item.key),
    deps.ledger.known(item.portal, item.key),
  ]);
  if (!work) {
    throw workLost(item.runId, item.key);
  }
  const { wish, onDrift, createMissing, removal } = work;
  await noteFound(item, entry, intent);
  const { ledger } = deps;
  const state: ResourceState = {
    deps,
    target: { item, ledger, portal: deps.portal(item.portal), onDrift, createMissing, isNewDataset },
    datasetNid,
    provesNow,
    wish,
    seen: work.source,
    entry: entry ?? newEntry({ key: wish.key, kind: 'resource', uuid: wish.uuid, title: wish.title }),
    intent,
    node: null,
    source: null,
    fetched: null,
    prepared: null,
    table: null,
    recreated: false,
    fallsBack: false,
  };
  return { state, removal };
};

/** Recreates a node that vanished, once; the steps up to this one run again on the empty node. */
const runStep = async (run: (state: ResourceState) => Promise<void>, state: ResourceState): Promise<void> => {
  try {
    await run(state);
  } catch (error) {
    if (!(error instanceof PortalGoneError) || !state.entry.nid) throw error;
    if (state.recreated) throw takenBack(error);
    const written = await recreateNode(state.target, nodeWishOf(state), state.entry, atCreation(state));
    state.entry = written.entry;
    state.node = written.node;
    state.recreated = true;
    for (const step of resourceSteps) {
      if (step.applies(state)) await step.run(state);
      if (step.run === run) return;
    }
  }
};
