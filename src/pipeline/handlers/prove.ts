// Job kind `prove`: after everything was sent, verifies that tables are complete, many by one request, and imports others again.
import { type DatastoreNumbers, datastoreState } from '../../dataset-api/values.ts';
import { PortalGoneError, PortalRefusedError, reasonOf } from '../../model/errors.ts';
import { type Handler, UnfinishedItemsError } from '../../model/job.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { TableSize } from '../../portal-client/client.ts';
import type { Unproven } from '../../state/run-work.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { hasShape } from '../compare/prove.ts';
import { forJob, type HandlerDeps } from './deps.ts';
import { formerWith } from './guard-table.ts';
import { type Item, ItemRunner, noteFound, workLost } from './item.ts';
import { publishResource } from './resource.ts';

/** States that are requested at once. */
const statesAtOnce = 4;

/** Ends the items of the resources that it is for. */
export const proveHandler = (shared: HandlerDeps): Handler<'prove'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    const { runId, portal, group } = job.data;
    const keys = await deps.runs.phases.tables(runId, group);
    const runner = new ItemRunner(deps, job);
    const seen = await proveTables(deps, { runId, portal }, keys, job.signal);
    for (const key of keys) await runner.run(key, (item) => proveTable(deps, item, seen.get(key) ?? null));
    runner.finish();
  },
  failed: async (job, reason, error) => {
    const deps = forJob(shared, job);
    const runner = new ItemRunner(deps, job);
    const reasons = error instanceof UnfinishedItemsError ? error.items : new Map<string, unknown>();
    for (const key of await deps.runs.phases.tables(job.data.runId, job.data.group)) {
      const own = reasons.get(key);
      await runner.fail(key, own === undefined ? reason : reasonOf(own));
    }
  },
});

/** What the portal reports of a table; `size` is undefined where it was not counted, `state` null where it was not read. */
interface SeenTable {
  unproven: Unproven;
  size: TableSize | null | undefined;
  state: DatastoreNumbers | null;
  /** False where the portal counts no rows at all. */
  counts: boolean;
}

/** Counts all tables by one request, and requests their states where portals may lose them. */
const proveTables = async (
  deps: HandlerDeps,
  { runId, portal: portalName }: { runId: string; portal: string },
  keys: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, SeenTable>> => {
  if (keys.length === 0) return new Map();
  const portal = deps.portal(portalName);
  const items = await Promise.all(keys.map((key) => deps.runs.item(runId, key)));
  const open = keys.flatMap((key, index) => {
    const unproven = items[index]?.begun.unproven;
    return unproven ? [{ key, unproven }] : [];
  });
  const sizes = await portal.datastore.tableSizes(
    open.map(({ unproven }) => unproven.uuid),
    signal,
  );
  const seen = new Map<string, SeenTable>();
  const atOnce = (await deps.isShared(portalName)) ? 1 : statesAtOnce;
  await eachAtOnce(open, atOnce, async ({ key, unproven }) => {
    const size = sizes.get(unproven.uuid);
    const isToRequest = !deps.settings.importsTogether(portalName) || size === undefined;
    // What prevents the read of one concerns its item only, which meets it again.
    const read = isToRequest ? portal.datastore.status(unproven.nid, signal).catch(ifOfItem) : null;
    seen.set(key, { unproven, size, state: await read, counts: portal.datastore.counts });
  });
  return seen;
};

const ifOfItem = (error: unknown): null => {
  if (error instanceof PortalRefusedError || error instanceof PortalGoneError) return null;
  throw error;
};

const proveTable = async (deps: HandlerDeps, item: Item, seen: SeenTable | null): Promise<void> => {
  if (seen && isWhole(seen)) {
    if (item.log.resumed) await noteFound(item, await deps.ledger.entry(item.portal, item.key));
    return settle(deps, item, seen.unproven);
  }
  if (seen) await item.note(`the table is not verified as complete: ${found(seen)}; checking further`);
  await publishResource(deps, item, { datasetNid: null, provesNow: true, isNewDataset: false });
};

/** A table that was counted by its rows, and by its state where that was read; one that cannot be counted by its state. */
const isWhole = ({ unproven, size, state, counts }: SeenTable): boolean => {
  if (size === undefined) return !counts && state !== null && datastoreState(state) === 'imported';
  return size !== null && hasShape(size, unproven) && (state === null || datastoreState(state) === 'imported');
};

const found = ({ unproven, size, state }: SeenTable): string =>
  [
    ...(size === undefined ? [] : [`${size?.rows ?? 'no'} rows of ${unproven.rows}`]),
    ...(state === null ? [] : [`its state is ${datastoreState(state)}`]),
  ].join(', ');

/** Records that the resource is live. */
const settle = async (deps: HandlerDeps, item: Item, { rows, good, version: sent }: Unproven): Promise<void> => {
  const [known, work] = await Promise.all([
    deps.ledger.entry(item.portal, item.key),
    deps.runs.resourceWork(item.runId, item.key),
  ]);
  if (!known || !work) throw workLost(item.runId, item.key);
  const formerGood = known.good?.sha256;
  const version = sent ?? known.version;
  const former = await formerWith(deps.ledger, item.portal, known, version);
  const entry: LedgerEntry = {
    ...known,
    datastore: 'imported',
    rowsAreOwn: true,
    rows,
    rowsDropped: 0,
    live: work.wish.published,
    good,
    refused: null,
    version,
    runId: item.runId,
    syncedAt: Date.now(),
  };
  await item.step(
    { name: 'prove', on: item.key, light: true },
    () => deps.ledger.settle(item.portal, entry, { former }),
    () => `${entry.live ? 'live' : 'published as a draft'}, ${rows} rows`,
  );
  if (formerGood !== undefined && formerGood !== good.sha256)
    await deps.kept.forget({ portal: item.portal, uuid: work.wish.uuid }, formerGood);
  await item.end(entry, { outcome: 'done', reason: null });
};
