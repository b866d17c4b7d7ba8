// A resource: one file from its folder to a verified node. Each step looks first at what is done already.
import { PortalError, PortalGoneError, reasonOf } from '../../model/errors.ts';
import { type LedgerEntry, newEntry } from '../../model/ledger-entry.ts';
import { sourcePathOf } from '../../model/wish.ts';
import { removePreparedFile } from '../../tables/transform/prepare.ts';
import { madeTable } from '../compare/local-file.ts';
import { importFingerprint } from '../plan/known-wish.ts';
import { importFile } from './datastore-import.ts';
import type { HandlerDeps } from './deps.ts';
import { refuseFile, restoreLastGood, sizeRefused, whyImportAgain } from './fall-back.ts';
import { guardTable, versionsToReport } from './guard-table.ts';
import { type Item, noteFound, outcomeOf, workLost } from './item.ts';
import { goneAgain } from './node-write.ts';
import { removeNode } from './removal.ts';
import { attachFile, bringFile, nodeWishOf, putNode, putNodeAgain } from './resource-attach.ts';
import {
  checkFile,
  fetchSource,
  isRefused,
  prepareTable,
  type ResourceState,
  type ResourceStep,
} from './resource-file.ts';
import { recordResource, verifyResource } from './resource-verify.ts';

const onThisHost: readonly ResourceStep[] = [fetchSource, prepareTable, checkFile, guardTable];
const onThePortal: readonly ResourceStep[] = [putNode, bringFile, attachFile, importFile, verifyResource];

type ResourceMode = Pick<ResourceState, 'datasetNid' | 'provesNow'> & {
  /** True where the dataset was created in this run. */
  isNewDataset: boolean;
};

/** Publishes or removes a resource; ends its item unless its table is still to be proven. */
export const publishResource = async (deps: HandlerDeps, item: Item, mode: ResourceMode): Promise<void> => {
  if (item.unproven && !mode.provesNow) return;
  const [work, known] = await Promise.all([
    deps.runs.resourceWork(item.runId, item.key),
    deps.ledger.entry(item.portal, item.key),
  ]);
  if (!work) throw workLost(item.runId, item.key);
  await noteFound(item, known);
  const { wish, onDrift, createMissing, removal, source: seen } = work;
  const { isNewDataset, ...how } = mode;
  const { ledger } = deps;
  const target = { item, ledger, portal: deps.portal(item.portal), onDrift, createMissing, isNewDataset };
  const before = known ?? newEntry({ key: wish.key, kind: 'resource', uuid: wish.uuid, title: wish.title });
  if (removal) {
    const removed = await removeNode(deps, target, nodeWishOf({ wish }), before, removal);
    return item.end(removed, { outcome: 'done', reason: null });
  }
  const nothing = { source: null, prepared: null, fetched: null, table: null, node: null, fallsBack: false };
  const flow = new Flow({ ...nothing, ...how, deps, target, wish, seen, entry: before });
  const entry = await publish(flow).finally(async () => {
    const made = madeTable(flow.state.prepared);
    if (made) await removePreparedFile(made.path);
  });
  if (item.unproven && !mode.provesNow) return;
  const { reason } = entry;
  if (reason === null)
    return item.end(entry, { outcome: item.actions.length > 0 ? 'done' : 'unchanged', reason: null });
  const held = entry.refused?.guard === 'held' ? { versions: await versionsToReport(deps.ledger, item, entry) } : {};
  return item.end(entry, { outcome: outcomeOf(reason), reason, ...held });
};

/** Steps of a resource one after the other, until its file turns out to be refused. */
class Flow {
  /** What is known after the last step. */
  state: ResourceState;
  #isRecreated = false;

  constructor(state: ResourceState) {
    this.state = state;
  }

  /** Runs steps; where the node vanishes meanwhile, it is recreated once and filled anew. */
  async run(steps: readonly ResourceStep[]): Promise<void> {
    const { deps, target, entry } = this.state;
    try {
      for (const step of steps) {
        if (!this.state.fallsBack && isRefused(this.state)) return;
        const { nid } = this.state.entry;
        this.state = await step(this.state);
        this.#isRecreated ||= nid !== null && nid !== this.state.entry.nid;
      }
    } catch (error) {
      // A step that fails has recorded what it did.
      const known = (await deps.ledger.entry(target.item.portal, entry.key)) ?? this.state.entry;
      this.state = { ...this.state, entry: known };
      if (!(error instanceof PortalGoneError) || known.nid === null) throw error;
      if (this.#isRecreated) throw goneAgain(error);
      this.#isRecreated = true;
      this.state = await putNodeAgain(this.state);
      await this.run([...onThePortal, ...(steps.includes(recordResource) ? [recordResource] : [])]);
    }
  }
}

/** Runs all steps; a file that the portal cannot import is replaced by the last good one, and the entry holds the reason. */
const publish = async (flow: Flow): Promise<LedgerEntry> => {
  try {
    await runAll(flow);
  } catch (error) {
    if (isOfUnfilledNode(flow.state, error)) return removeUnfilled(flow.state, error);
    const refused = await refuseFile(flow.state, error);
    if (refused === null) throw error;
    flow.state = refused;
  }
  if (!isRefused(flow.state)) return flow.state.entry;
  return restoreLastGood(flow.state, async (state) => {
    const back = new Flow(state);
    await back.run(onThePortal);
    return back.state;
  });
};

const runAll = async (flow: Flow): Promise<void> => {
  try {
    await flow.run([...onThisHost, ...onThePortal, recordResource]);
  } catch (error) {
    const why = whyImportAgain(flow.state, error);
    if (why === null) throw error;
    await flow.state.target.item.note(why);
    await flow.run([importFile, verifyResource, recordResource]);
  }
};

/** True where a node was created for a file which the portal refuses: it would stay empty. */
const isOfUnfilledNode = ({ target: { item }, entry, source }: ResourceState, error: unknown): error is PortalError =>
  error instanceof PortalError &&
  error.fault === 'file' &&
  item.lastStep === 'attach' &&
  source !== null &&
  item.actions.includes('created') &&
  entry.file === null &&
  entry.nid !== null;

const removeUnfilled = async (state: ResourceState, error: PortalError): Promise<LedgerEntry> => {
  const { deps, target, entry, source, fetched, wish } = state;
  const removed = await removeNode(deps, target, nodeWishOf(state), entry, 'delete');
  const reason = reasonOf(error);
  const wanted = { sha256: source?.sha256 ?? '', importFingerprint: importFingerprint(wish) };
  const refused = { ...wanted, delimiter: null, isReplaced: true, reason, ...sizeRefused(state, error) };
  const from = { source, sourcePath: sourcePathOf(wish.source), fetched };
  const entryNow = { ...removed, ...from, removed: null, reason, refused };
  return deps.ledger.settle(target.item.portal, entryNow, { former: null });
};
