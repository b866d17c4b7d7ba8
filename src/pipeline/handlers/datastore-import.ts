// Step `import`: the rows of the attached file into the portal's datastore.
import { setTimeout as sleep } from 'node:timers/promises';
import { type DatastoreNumbers, datastoreState } from '../../dataset-api/values.ts';
import { ImportFailedError, ImportTimeoutError, PortalError } from '../../model/errors.ts';
import type { TableSize } from '../../portal-client/datastore.ts';
import { hasShape } from '../compare/prove.ts';
import type { ResourceState } from './resource-state.ts';

/**
 * Makes the portal import the attached file. Portals differ: some import on attach (`data_import` 2 with storage), some keep
 * the rows of the former file until they are removed (6 with storage), some import by cron and have no datastore endpoint.
 * The result is proven later, or here where `provesNow`: the entry is `imported` then.
 */
export const importFile = async (state: ResourceState): Promise<void> => {
  const { item, portal } = state.target;
  if (state.entry.datastore === 'imported') return;
  if (!(await portal.datastore.isOffered(item.signal))) {
    state.entry = { ...state.entry, datastore: 'none' };
    return;
  }
  await item.step(
    { name: 'import', on: `node ${state.entry.nid}`, writes: true },
    (signal) => oneAtATime(state, signal, () => importOnce(state, signal)),
    (outcome) => outcome,
  );
};

/**
 * Portals that keep the states of all datastores together lose some when two are written at once, so there only one job of
 * all workers writes a datastore at a time.
 */
export const oneAtATime = <T>(
  { deps, target }: Pick<ResourceState, 'deps' | 'target'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> =>
  deps.settings.importsTogether(target.item.portal)
    ? work()
    : target.item.exclusive(`datastore:${target.item.portal}`, signal, work);

const importOnce = async (state: ResourceState, signal: AbortSignal): Promise<string> => {
  const { item, portal } = state.target;
  const resumed = state.intent?.action === 'import' && state.intent.nid === state.entry.nid;
  const isNew = item.isNewNode && !resumed;
  const isKnown = portal.traits.get('importsOnAttach');
  const isPlain = !needsDialect(state) && !state.provesNow && !state.fallsBack && !resumed;
  if (isPlain && isKnown === true && item.actions.includes('attached')) return pending(state);
  if (isPlain && isKnown === false && item.actions.includes('attached')) {
    await order(state, { isForeign: !isNew }, signal);
    return pending(state);
  }
  return importWithLook(state, { resumed, isNew }, signal);
};

/** How an import begins. */
interface ImportStart {
  /** An earlier attempt ordered it. */
  resumed: boolean;
  /** The node was created in this run, and nothing was imported yet. */
  isNew: boolean;
}

const importWithLook = async (state: ResourceState, start: ImportStart, signal: AbortSignal): Promise<string> => {
  const { item, portal } = state.target;
  const status = await portal.datastore.status(state.entry.nid ?? '', signal);
  if (start.resumed) await item.note(`an interrupted import: the portal says ${formatStatus(status)}`);
  if (status === null) {
    state.entry = { ...state.entry, datastore: 'none' };
    return 'this portal has no datastore for it';
  }
  if (item.actions.includes('attached')) portal.traits.learn({ importsOnAttach: importedOnAttach(status) });
  return state.fallsBack ? importGoodFile(state, status, signal) : importUnlessDone(state, status, start, signal);
};

const importUnlessDone = async (
  state: ResourceState,
  status: DatastoreNumbers,
  { resumed, isNew }: ImportStart,
  signal: AbortSignal,
): Promise<string> => {
  const { item, portal } = state.target;
  // Miscounted rows are imported again; any other state may be that of the previous file.
  const isDistrusted = state.entry.datastore === 'failed' && !resumed;
  const isDone = importedOnAttach(status) || (resumed && datastoreState(status) === 'imported');
  const isMisread = needsDialect(state) && !(isDone && (await isWhole(state, signal)));
  if (isDone && !isDistrusted && !isMisread) return state.provesNow ? imported(state) : pending(state);
  // None of our jobs imports now: the state is stale, or an import by others is running, which is waited for.
  if (!isMisread && datastoreState(status) === 'running' && (await endsByItself(state, signal))) {
    if (await isWhole(state, signal)) return imported(state);
  }
  // Only the state was lost: an import adds no rows to those that are there.
  const holdsOwn = item.isNewNode || !item.actions.includes('attached');
  const isStateLost = holdsOwn && !isMisread && (await isWhole(state, signal));
  // Where an attach imports nothing, rows of an older file may be there whatever the state says.
  const mayHoldOthers = !isNew && portal.traits.get('importsOnAttach') !== true;
  const isForeign = !isStateLost && (isDistrusted || keepsOldRows(status) || mayHoldOthers);
  if (state.provesNow) return importAndWait(state, { status, isForeign }, signal);
  await order(state, { status, isForeign }, signal);
  return pending(state);
};

/** Most imports that are ordered because the portal forgot that a table was removed or created. */
const mostOrders = 3;

const importAndWait = async (
  state: ResourceState,
  how: { status?: DatastoreNumbers; isForeign: boolean },
  signal: AbortSignal,
): Promise<string> => {
  const { item, portal } = state.target;
  for (let orders = 1; ; orders++) {
    await order(state, orders === 1 ? how : { ...how, isForeign: true }, signal);
    try {
      await waitForImport(state, signal);
      return await imported(state);
    } catch (error) {
      if (!(error instanceof ImportFailedError) || orders === mostOrders) throw error;
      if ((await portal.datastore.tableSize(state.entry.uuid, signal)) !== null) throw error;
      await item.note(
        'the import failed because its table is missing: clearing its state on the portal, then retrying',
      );
    }
  }
};

/**
 * Imports the last good file after its successor failed. The status may still be that of the successor, so only an import on
 * attach counts as done; any other one is ordered.
 */
const importGoodFile = async (state: ResourceState, found: DatastoreNumbers, signal: AbortSignal): Promise<string> => {
  const { portal } = state.target;
  const nid = state.entry.nid ?? '';
  let status = found;
  if (datastoreState(status) === 'running' && (await endsByItself(state, signal)))
    status = (await portal.datastore.status(nid, signal)) ?? status;
  const whole = await isWhole(state, signal);
  if (importedOnAttach(status) && (whole || !needsDialect(state))) return imported(state);
  return importAndWait(
    state,
    { status, isForeign: status.storage >= 1 && !importedOnAttach(status) && !whole },
    signal,
  );
};

const formatStatus = (status: DatastoreNumbers | null): string =>
  status === null ? 'nothing' : `${datastoreState(status)} (${status.storage}, ${status.data_import})`;

/** True when the portal's table has the rows and columns of the file. */
const isWhole = async (state: ResourceState, signal: AbortSignal): Promise<boolean> =>
  !!state.table?.rows && isOfFile(state, await state.target.portal.datastore.tableSize(state.entry.uuid, signal));

const isOfFile = ({ table }: ResourceState, size: TableSize | null | undefined): boolean =>
  !!table?.rows && !!size && hasShape(size, { rows: table.rows, columns: table.columns.length });

/** True for a delimiter other than the portal's default comma, of this file or a previous one. */
const needsDialect = ({ table, entry }: ResourceState): boolean =>
  table !== null &&
  [table.delimiter, entry.good?.delimiter, entry.refused?.delimiter].some((delimiter) => (delimiter ?? ',') !== ',');

/** Storage with `data_import` 2 is only reported by portals that import a file at once when it is attached. */
const importedOnAttach = ({ storage, data_import }: DatastoreNumbers): boolean => storage >= 1 && data_import === 2;

/** Orders the import, after removing rows of another file (`isForeign`) that the portal would keep. */
const order = async (
  state: ResourceState,
  { status, isForeign }: { status?: DatastoreNumbers; isForeign: boolean },
  signal: AbortSignal,
): Promise<void> => {
  const { item, ledger, portal } = state.target;
  const nid = state.entry.nid ?? '';
  await ledger.begin(item.portal, state.wish.key, { action: 'import', nid, at: Date.now() });
  if (isForeign) await portal.datastore.remove(nid, signal);
  if (needsDialect(state)) await sendDialect(state, status, signal);
  await portal.datastore.import(nid, signal).catch((error: unknown) => {
    // A verdict on the file; an import that was cut off is tried again.
    const isVerdict = error instanceof PortalError && error.fault === 'file' && !error.retryable;
    throw isVerdict ? new ImportFailedError(error.message, { hint: error.hint, cause: error }) : error;
  });
};

/**
 * Tells the portal the delimiter of the file. Portals that import on attach read quotes by RFC 4180 unless an escape is
 * set; the others replace all four properties by what is sent, so theirs are sent whole.
 */
const sendDialect = async (
  state: ResourceState,
  status: DatastoreNumbers | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const { item, portal } = state.target;
  const delimiter = state.table?.delimiter ?? ',';
  const readsRfc = status && (importedOnAttach(status) || (status.storage === 0 && status.data_import === 7));
  const dialect = { delimiter, quote: '"', trailing_delimiter: false, ...(readsRfc ? {} : { escape: '\\' }) };
  await item.note(`telling the portal that columns are separated by ${JSON.stringify(delimiter)}`);
  await portal.datastore.configure(state.entry.nid ?? '', dialect, signal);
};

/** Done or paused with rows of a previous file. After a failure (7) they stay: old rows are better than none. */
const keepsOldRows = ({ storage, data_import }: DatastoreNumbers): boolean =>
  storage >= 1 && (data_import === 6 || data_import === 5);

/**
 * How long the table of a running import may stay the same size, milliseconds; the second where it has all rows and was
 * created for this file.
 */
const [standsStillMs, settlesMs] = [10_000, 250];

/** Waits for an import that others started; false when its state is stale, because the table does not grow. */
const endsByItself = async (state: ResourceState, signal: AbortSignal): Promise<boolean> => {
  const { item, portal } = state.target;
  const { uuid, nid } = state.entry;
  let rows = -1;
  let grewAt = Date.now();
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2000)) {
    const status = await portal.datastore.status(nid ?? '', signal);
    if (status === null || datastoreState(status) !== 'running') return true;
    const size = await portal.datastore.tableSize(uuid, signal);
    const now = size?.rows ?? rows;
    if (now > rows) grewAt = Date.now();
    rows = now;
    if (Date.now() - grewAt > (item.isNewNode && isOfFile(state, size) ? settlesMs : standsStillMs)) return false;
    await sleep(pauseMs, undefined, { signal });
  }
};

const waitForImport = async ({ deps, target, entry }: ResourceState, signal: AbortSignal): Promise<void> => {
  const nid = entry.nid ?? '';
  const { item, portal } = target;
  const limitMs = deps.settings.importTimeoutMs(item.portal);
  const deadline = Date.now() + limitMs;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 5000)) {
    const status = await portal.datastore.status(nid, signal);
    const now = status === null ? 'unknown' : datastoreState(status);
    if (now === 'imported') return;
    if (now === 'failed') {
      throw new ImportFailedError(
        `${portal.name}: the portal could not import the file of node ${nid} into its datastore`,
        {
          hint: 'a column name the portal cannot use is the usual cause; `sluice check` on the file names such columns',
        },
      );
    }
    if (Date.now() > deadline) {
      throw new ImportTimeoutError(
        `${portal.name}: the import of node ${nid} did not end within ${Math.round(limitMs / 1000)} s (last state: ${now})`,
        { hint: 'a later attempt checks again; raise importTimeout of this portal for large files' },
      );
    }
    await sleep(pauseMs, undefined, { signal });
  }
};

/** Leaves the table to the job that proves it. */
const pending = async (state: ResourceState): Promise<string> => {
  await settle(state);
  return 'ordered';
};

const imported = async (state: ResourceState): Promise<string> => {
  await settle(state);
  const rows = state.table?.rows ?? null;
  state.entry = { ...state.entry, datastore: 'imported', rows };
  return `imported, ${rows ?? '?'} rows expected`;
};

const settle = async (state: ResourceState): Promise<void> => {
  const { item, ledger } = state.target;
  await item.did('imported');
  state.intent = null;
  state.entry = { ...state.entry, datastore: 'pending' };
  await ledger.settle(item.portal, state.entry);
};
