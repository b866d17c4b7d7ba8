// Step `import`: the rows of the attached file into the portal's datastore, proven by its status.
import { setTimeout as sleep } from 'node:timers/promises';
import { type DatastoreNumbers, datastoreState } from '../dkan/datastore-status.ts';
import { ImportFailedError, ImportTimeoutError } from '../errors.ts';
import type { ResourceState } from './resource-state.ts';

/**
 * Makes the datastore hold the attached file. Portals differ: some import on attach (`data_import` 2 with storage),
 * some keep the rows of the former file until they are told (6 with storage), some import by their own cron and offer
 * no datastore endpoint at all.
 */
export const importFile = async (state: ResourceState): Promise<void> => {
  const { item } = state;
  if (state.entry.datastore === 'imported') return;
  await item.step(
    { name: 'import', on: `node ${state.entry.nid}`, writes: true },
    async (signal) => importOnce(state, signal),
    (outcome) => outcome,
  );
};

const importOnce = async (state: ResourceState, signal: AbortSignal): Promise<string> => {
  const { portal } = state;
  const nid = state.entry.nid ?? '';
  const resumed = state.intent?.action === 'import' && state.intent.nid === nid;
  // A node that had no rows before this job: the size of its table alone proves the import.
  if (state.item.actions.includes('created') && !resumed && (await isWhole(state, signal))) {
    state.counted = true;
    await state.item.did('imported');
    return imported(state); // the ledger says `pending` since the attach, and no intent is open
  }
  const status = await portal.datastoreStatus(nid, signal);
  if (resumed) await state.item.note(`an interrupted import: the portal says ${told(status)}`);
  if (status === null) {
    state.entry = { ...state.entry, datastore: 'none' };
    return 'this portal offers no datastore for it';
  }
  if (state.fallsBack) return importGoodFile(state, status, signal);
  // Rows that were counted and found wrong are made anew.
  const isDistrusted = state.entry.datastore === 'failed' && !resumed;
  const isDone = importedOnAttach(status) || (resumed && datastoreState(status) === 'imported');
  const isMisread = needsDialect(state) && !(isDone && (await isWhole(state, signal)));
  if (isDone && !isDistrusted && !isMisread) return settle(state);
  if (isMisread || !isRunning(status)) await order(state, status, signal);
  await waitForImport(state, nid, signal);
  return settle(state);
};

/**
 * Imports a file that goes back to its place after its successor failed. What the portal says may still be about that
 * one, so nothing but the import that an attach brings along is believed without ordering it.
 */
const importGoodFile = async (state: ResourceState, told: DatastoreNumbers, signal: AbortSignal): Promise<string> => {
  const nid = state.entry.nid ?? '';
  let status = told;
  if (isRunning(status)) {
    const error = await waitForImport(state, nid, signal).catch((cause: unknown) => cause);
    if (error && !(error instanceof ImportFailedError || error instanceof ImportTimeoutError)) throw error;
    status = (await state.portal.datastoreStatus(nid, signal)) ?? status;
  }
  const whole = await isWhole(state, signal);
  if (importedOnAttach(status) && (whole || !needsDialect(state))) return settle(state);
  await order(state, status, signal, status.storage >= 1 && !importedOnAttach(status) && !whole);
  await waitForImport(state, nid, signal);
  return settle(state);
};

const told = (status: DatastoreNumbers | null): string =>
  status === null ? 'nothing' : `${datastoreState(status)} (${status.storage}, ${status.data_import})`;

/** True when the portal's table has the rows and columns of the file. */
const isWhole = async (state: ResourceState, signal: AbortSignal): Promise<boolean> => {
  const { portal, table, wish } = state;
  if (!table || table.rows === 0) return false;
  const size = await portal.tableSize(wish.uuid, signal);
  return size !== null && size.rows === table.rows && (size.columns ?? table.columns.length) === table.columns.length;
};

/** Portals read commas unless they are told otherwise, or were told so for a file before. */
const needsDialect = ({ table, entry }: ResourceState): boolean =>
  table !== null &&
  [table.delimiter, entry.good?.delimiter, entry.refused?.delimiter].some((delimiter) => (delimiter ?? ',') !== ',');

/** Storage with `data_import` 2 is only told by portals that import a file at once when it is attached. */
const importedOnAttach = ({ storage, data_import }: DatastoreNumbers): boolean => storage >= 1 && data_import === 2;

const isRunning = (status: DatastoreNumbers): boolean => datastoreState(status) === 'running';

/** Orders the import; rows of another file (`isForeign`: known to be such) are removed first where the portal would keep them. */
const order = async (
  state: ResourceState,
  status: DatastoreNumbers,
  signal: AbortSignal,
  isForeign = false,
): Promise<void> => {
  const { item, deps, portal } = state;
  const nid = state.entry.nid ?? '';
  await deps.ledger.begin(item.portal, state.wish.key, { action: 'import', nid, at: Date.now() });
  if (isForeign || keepsOldRows(status)) await portal.deleteDatastore(nid, signal);
  if (needsDialect(state)) await tellDialect(state, status, signal);
  await portal.importDatastore(nid, signal);
};

/**
 * Tells the portal the delimiter of the file. Portals that import on attach read quotes by RFC 4180 unless an escape is
 * set; the others replace all four properties by what is sent, so theirs are sent whole.
 */
const tellDialect = async (state: ResourceState, status: DatastoreNumbers, signal: AbortSignal): Promise<void> => {
  const { portal, table } = state;
  const delimiter = table?.delimiter ?? ',';
  const readsRfc = importedOnAttach(status) || (status.storage === 0 && status.data_import === 7);
  const dialect = { delimiter, quote: '"', trailing_delimiter: false, ...(readsRfc ? {} : { escape: '\\' }) };
  await state.item.note(`telling the portal that columns are separated by ${JSON.stringify(delimiter)}`);
  await portal.configureDatastore(state.entry.nid ?? '', dialect, signal);
};

/** Done or paused with rows that cannot be those of the new file. After a failure (7) the rows are kept: better old than none. */
const keepsOldRows = ({ storage, data_import }: DatastoreNumbers): boolean =>
  storage >= 1 && (data_import === 6 || data_import === 5);

const waitForImport = async (state: ResourceState, nid: string, signal: AbortSignal): Promise<void> => {
  const { item, deps, portal } = state;
  const limitMs = deps.settings.importTimeoutMs(item.portal);
  const deadline = Date.now() + limitMs;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 5000)) {
    const status = await portal.datastoreStatus(nid, signal);
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
        { hint: 'a later attempt looks again; raise importTimeout of this portal for large files' },
      );
    }
    await sleep(pauseMs, undefined, { signal });
  }
};

const settle = async (state: ResourceState): Promise<string> => {
  await state.item.did('imported');
  const outcome = imported(state);
  state.intent = null;
  await state.deps.ledger.settle(state.item.portal, { ...state.entry, datastore: 'pending' });
  return outcome;
};

const imported = (state: ResourceState): string => {
  state.entry = { ...state.entry, datastore: 'imported', rows: state.table?.rows ?? null };
  return `imported, ${state.entry.rows ?? '?'} rows expected`;
};
