// Job kind `prove`: after everything was sent, verifies that tables are complete, many by one request, and imports others again.
import { datastoreState } from '../../dataset-api/values.ts';
import { orNull, PortalGoneError, PortalRefusedError, reasonOf } from '../../model/errors.ts';
import { type Handler, type JobContext, UnfinishedItemsError } from '../../model/job.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { Unproven } from '../../state/run-work.ts';
import { eachAtOnce } from '../../util/concurrency.ts';
import { plural } from '../../util/plural.ts';
import { hasShape } from '../compare/prove.ts';
import { forJob, type HandlerDeps } from './deps.ts';
import { formerWith } from './guard.ts';
import { asOf, type Item, itemRunner, noteFound, workLost } from './item.ts';
import { publishResource } from './resource.ts';

export const proveHandler = (shared: HandlerDeps): Handler<'prove'> => ({
  run: async (job) => {
    const deps = forJob(shared, job);
    const keys = await deps.runs.phases.tables(job.data.runId, job.data.group);
    if (keys.length === 0) return;
    const runner = itemRunner(deps, job);
    const seen = await lookAtTables(deps, job, keys);
    for (const key of keys)
      await runner.run(key, async (item) => {
        const table = seen.get(key);
        if (table?.isWhole) return settle(deps, item, table.unproven);
        if (table) await item.note(`the table is not verified as complete: ${table.found}; checking further`);
        await publishResource(deps, item, { datasetNid: null, provesNow: true, isNewDataset: false });
      });
    runner.finish();
  },
  failed: async (job, reason, error) => {
    const deps = forJob(shared, job);
    const runner = itemRunner(deps, job);
    for (const key of await deps.runs.phases.tables(job.data.runId, job.data.group)) {
      const own = error instanceof UnfinishedItemsError ? error.items.get(key) : undefined;
      await runner.fail(key, own === undefined ? reason : reasonOf(own));
    }
  },
});

/** Counts all tables by one request, and requests their states where portals may lose them. */
const lookAtTables = async (
  deps: HandlerDeps,
  { data: { runId, portal: name }, signal }: JobContext<'prove'>,
  keys: readonly string[],
) => {
  const { datastore } = deps.portal(name);
  const items = await Promise.all(keys.map((key) => deps.runs.item(runId, key)));
  const open = keys.flatMap((key, index) => {
    const unproven = items[index]?.begun.unproven;
    return unproven ? [{ key, unproven }] : [];
  });
  const uuids = open.map(({ unproven }) => unproven.uuid);
  const sizes = await datastore.tables(uuids, signal);
  const atOnce = (await deps.isShared(name)) ? 1 : 4;
  const seen = await eachAtOnce(open, atOnce, async ({ key, unproven }) => {
    const size = sizes.get(unproven.uuid);
    const isToRequest = !deps.settings.importsTogether(name) || size === undefined;
    // What prevents the read of one concerns its item only, which meets it again.
    const ofItem = [PortalRefusedError, PortalGoneError];
    const numbers = isToRequest ? await orNull(datastore.status(unproven.nid, signal), ofItem) : null;
    const state = numbers && datastoreState(numbers);
    // By its rows, and by its state where that was read; what cannot be counted by its state.
    const fits = size ? hasShape(size, unproven) : size === undefined && !datastore.counts() && state !== null;
    const isWhole = fits && (state === null || state === 'imported');
    const found = [
      ...(size === undefined ? [] : [`${size?.rows ?? 'no'} rows of ${unproven.rows}`]),
      ...(state === null ? [] : [`its state is ${state}`]),
    ].join(', ');
    return [key, { unproven, isWhole, found }] as const;
  });
  return new Map(seen);
};

const settle = async (deps: HandlerDeps, item: Item, { rows, good, version: sent }: Unproven): Promise<void> => {
  const [known, work] = await Promise.all([
    deps.ledger.entry(item.portal, item.key),
    deps.runs.resourceWork(item.runId, item.key),
  ]);
  await noteFound(item, known);
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
    ...asOf(item),
  };
  // Before the ledger names the new one: after a kill nothing would name it any more.
  if (formerGood !== undefined && formerGood !== good.sha256)
    await deps.kept.forget({ portal: item.portal, uuid: work.wish.uuid }, formerGood);
  await item.step(
    { name: 'confirm', on: item.key, light: true },
    () => deps.ledger.settle(item.portal, entry, { former }),
    () => `${entry.live ? 'live' : 'published as a draft'}, ${plural(rows, 'row')}`,
  );
  await item.end(entry, { outcome: 'done', reason: null });
};
