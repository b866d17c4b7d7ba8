// Step `import`: the rows of the attached file into the portal's datastore.
import { setTimeout as sleep } from 'node:timers/promises';
import { type DatastoreNumbers, datastoreState } from '../../dataset-api/values.ts';
import {
  ImportFailedError,
  ImportTimeoutError,
  orNull,
  PortalBusyError,
  PortalError,
  TableRefusedError,
} from '../../model/errors.ts';
import { GiveBack } from '../../model/job.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { Portal } from '../../portal-client/client.ts';
import { proveTable } from '../compare/prove.ts';
import type { NodeTarget } from './node-locate.ts';
import { importsRows, type ResourceState, type ResourceStep, sentAgain, shapeOf } from './resource-file.ts';

/**
 * Makes the portal import the attached file. Portals differ: some import on attach (`data_import` 2 with storage), some keep
 * the rows of the former file until they are removed (6 with storage), some import by cron and have no datastore endpoint.
 * The result is proven later, or here where `provesNow`: the entry is `imported` then.
 */
export const importFile: ResourceStep = async (state) => {
  const { item, portal } = state.target;
  const { nid, file, datastore } = state.entry;
  if (file === null || datastore === 'imported') return state;
  const withoutRows: ResourceState = { ...state, entry: { ...state.entry, datastore: 'none' } };
  if (!importsRows(state)) return withoutRows; // an import that was wanted before may have failed
  if (!(await portal.datastore.isOffered(item.signal))) {
    item.tell('the portal imports tables by itself and does not tell whether it has: only the file is verified');
    return withoutRows;
  }
  const entry = await oneAtATime(state.target, item.signal, () =>
    item.step(
      { name: 'import', on: `node ${nid}`, writes: true },
      (lost) => untilStopped(item.signal, lost, (signal) => importTable(state, signal)),
      (done) => (done.datastore === 'pending' ? 'ordered' : done.datastore),
    ),
  );
  return { ...state, entry };
};

/** Portals that keep the states of all datastores together lose some when two are written at once, by any worker. */
export const oneAtATime = <T>({ item, importsTogether }: NodeTarget, signal: AbortSignal, work: () => Promise<T>) =>
  importsTogether ? work() : item.job.exclusive(`datastore:${item.portal}`, signal, work);

/** How long a job that is to stop waits for an import, milliseconds. */
const hangUpMs = 5000;

/** Ends the work soon after `stop`: an import goes on without its caller, and the next attempt looks how far it is. */
const untilStopped = async <T>(stop: AbortSignal, lost: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => {
  const hangUp = new AbortController();
  const onStop = () => setTimeout(() => hangUp.abort(new GiveBack()), hangUpMs).unref();
  if (stop.aborted) onStop();
  stop.addEventListener('abort', onStop, { once: true });
  try {
    return await work(AbortSignal.any([lost, hangUp.signal]));
  } catch (error) {
    throw hangUp.signal.aborted ? hangUp.signal.reason : error;
  } finally {
    stop.removeEventListener('abort', onStop);
  }
};

type Look = Awaited<ReturnType<typeof lookAt>>;

/** `size`: as `Datastore.table` gives it; `isWhole`: rows and columns are those of the file, but for rows that importers drop. */
const lookAt = async (state: ResourceState, signal: AbortSignal) => {
  const { table, entry, target } = state;
  const { datastore } = target.portal;
  const numbers = (await datastore.status(entry.nid ?? '', signal)) ?? { storage: 0, data_import: 2 };
  // A new node without storage has no table: some portals say so by an error, which is asked for again.
  const { isNewNode, actions } = target.item;
  const isFresh = isNewNode && entry.rowsAreOwn && !actions.includes('imported') && !isResumed(state);
  if (isFresh && datastoreState(numbers) === 'none') return { numbers, size: null, isWhole: false };
  // Searches read the header of the attached file, too: where they cannot, the import says why.
  const size = await orNull(datastore.table(entry.uuid, signal), [PortalBusyError]);
  const isWhole = !!table && !!size && (await proveTable(size, shapeOf(state, table, signal))).fault === null;
  return { numbers, size, isWhole };
};

/** The first look after an attach, which shows whether the portal imports by it: others that want to know wait for it. */
const looks = new WeakMap<Portal['traits'], Promise<unknown>>();

const lookAndLearn = (state: ResourceState, isStill: boolean, signal: AbortSignal): Promise<Look> => {
  const { item, portal } = state.target;
  const looking = (isStill ? untilStill : lookAt)(state, signal);
  if (!item.actions.includes('attached')) return looking;
  const learning = looking.then((look) => {
    if (datastoreState(look.numbers) !== 'running') portal.traits.learn({ importsOnAttach: isOfAttach(look.numbers) });
    return look;
  });
  if (!looks.has(portal.traits)) looks.set(portal.traits, Promise.allSettled([learning]));
  return learning;
};

/** The entry once its import is ordered, or done where that is proven now. */
const importTable = async (state: ResourceState, signal: AbortSignal): Promise<LedgerEntry> => {
  const { item, portal } = state.target;
  // Plain imports need no look at the table before.
  const isPlain = !needsDialect(state) && !state.provesNow && !state.fallsBack && !isResumed(state);
  if (item.actions.includes('attached') && isPlain) {
    if (looks.has(portal.traits)) await looks.get(portal.traits); // nothing may come between this and the first look
    const importsOnAttach = portal.traits.get('importsOnAttach');
    if (importsOnAttach !== undefined)
      return settle(importsOnAttach ? state : await order(state, { replaces: !state.entry.rowsAreOwn }, signal));
  }
  for (let isStill = false; ; isStill = true) {
    const look = await lookAndLearn(state, isStill, signal);
    if (isResumed(state)) await item.note(`an interrupted import: the portal says ${described(look)}`);
    const move = moveOf(state, look, isStill);
    if (move === 'wait') continue; // two imports of one table at once double its rows
    if (move === 'done') return settle(state);
    const replaces = move === 'replace' || (await doubles(state, look, signal));
    return settle(await (state.provesNow ? orderAndWait : order)(state, { replaces, numbers: look.numbers }, signal));
  }
};

/** True where an earlier attempt ordered the import, which may still be running. */
const isResumed = ({ entry }: ResourceState): boolean => entry.pending?.what === 'import';

/** What is done about a table: nothing, wait for a running import, add missing rows, or replace those of another file. */
const moveOf = (state: ResourceState, look: Look, isStill: boolean): 'done' | 'wait' | 'add' | 'replace' => {
  const { numbers, size, isWhole } = look;
  const { datastore, rowsAreOwn } = state.entry;
  const now = datastoreState(numbers);
  // Miscounted rows are imported again, unless they were counted during an import that has ended since.
  const isDistrusted = datastore === 'failed';
  const isTold = !needsDialect(state) && (size === undefined || isOfAttach(numbers));
  const isImported = now === 'imported' && (rowsAreOwn || isOfAttach(numbers)) && (isWhole || isTold);
  if (isImported && (!isDistrusted || isStill)) return 'done';
  const mayBeRunning = now === 'running' || (isResumed(state) && !!size && now !== 'imported' && now !== 'failed');
  if (mayBeRunning && !isStill) return 'wait';
  // Where attaching imports, an import replaces the rows by itself, and until then old ones are better than none.
  if (state.target.portal.traits.get('importsOnAttach') === true) return isDistrusted ? 'replace' : 'add';
  return rowsAreOwn && !isDistrusted && (size?.rows ?? 0) <= (state.table?.rows ?? 0) ? 'add' : 'replace';
};

const described = ({ numbers, size }: Look): string =>
  `${datastoreState(numbers)} (${numbers.storage}, ${numbers.data_import}), ${size?.rows ?? 'no'} rows`;

const mostOrders = 3; // because the portal forgot that a table was removed, created or imported

const orderAndWait = async (begun: ResourceState, how: OrderOptions, signal: AbortSignal): Promise<ResourceState> => {
  const { item, portal } = begun.target;
  for (let orders = 1, next = how, state = begun; ; orders++) {
    state = await order(state, next, signal);
    const look = await untilStill(state, signal);
    const now = datastoreState(look.numbers);
    // States get lost: rows decide.
    if (now === 'imported' || (look.isWhole && orders === mostOrders)) return state;
    const isForgotten = now === 'failed' && look.size === null;
    if (orders === mostOrders || !(look.isWhole || isForgotten)) throw unfinished(state, look);
    await item.note(
      isForgotten
        ? 'the import failed because its table is missing: clearing its state on the portal, then retrying'
        : `${portal.name} has all rows, but says ${described(look)}: importing again`,
    );
    next = { ...how, replaces: isForgotten || (await doubles(state, look, signal)) };
  }
};

const unfinished = (state: ResourceState, look: Look): Error => {
  const { name } = state.target.portal;
  const { nid } = state.entry;
  if (datastoreState(look.numbers) === 'failed')
    return tableRefused(state, `${name}: the portal could not import the file of node ${nid} into its datastore`);
  return new ImportTimeoutError(
    `${name}: the import of node ${nid} makes no progress (${described(look)}, ${state.table?.rows ?? '?'} wanted)`,
    { hint: 'a later attempt checks again; look for the reason in the log of the portal' },
  );
};

/** Importers say little: what is known of the file is named. */
const likelyCause = ({ table }: ResourceState): string =>
  table === null || table.importer.refuses.length === 0
    ? 'nothing in the file is known to stop importers: look for the reason in the log of the portal'
    : `the importer of the portal may not take the file: ${table.importer.refuses.join('; ')}`;

const tableRefused = (state: ResourceState, message: string): ImportFailedError =>
  new TableRefusedError(message, { hint: `${likelyCause(state)}; ${sentAgain}` });

/** True for a delimiter other than the portal's default comma, of this file or a previous one. */
const needsDialect = ({ table, entry }: ResourceState): boolean =>
  table !== null &&
  [table.delimiter, entry.good?.delimiter, entry.refused?.delimiter].some((delimiter) => (delimiter ?? ',') !== ',');

/** Storage with `data_import` 2 is only reported by portals that import a file at once when it is attached. */
const isOfAttach = ({ storage, data_import }: DatastoreNumbers): boolean => storage >= 1 && data_import === 2;

/** `replaces`: the rows of another file are removed first, which the portal would keep. */
type OrderOptions = { replaces: boolean; numbers?: DatastoreNumbers };

/** Orders the import, and stays with it while it is cut off. */
const order = async (before: ResourceState, { replaces, numbers }: OrderOptions, signal: AbortSignal) => {
  const { item, ledger, portal } = before.target;
  let { entry } = before;
  if (replaces) {
    await portal.datastore.remove(entry.nid ?? '', signal);
    entry = { ...entry, rowsAreOwn: true, datastore: 'pending', rows: 0 };
  }
  entry = await ledger.begin(item.portal, entry, { what: 'import', before: null, nonce: '' });
  const state = { ...before, entry };
  if (needsDialect(state)) await sendDialect(state, numbers, signal);
  await sendImport(state, signal);
  return { ...before, entry: { ...entry, rows: null } }; // to be counted
};

/**
 * Sends the import, again as long as it is cut off and every time adds rows: it goes on behind those that are there. After
 * rows that the importer drops it would add some twice, so such a file begins from zero.
 */
const sendImport = async (state: ResourceState, signal: AbortSignal): Promise<void> => {
  const { item, portal } = state.target;
  const nid = state.entry.nid ?? '';
  const wanted = state.table?.rows ?? '?';
  for (let most = 0, idle = 0; ; ) {
    const cut = await portal.datastore.import(nid, signal).catch((error: unknown) => {
      if (!(error instanceof PortalError)) throw error;
      const { fault, mayHaveHappened, situation } = error.request;
      if (fault === 'file' && !error.retryable) throw tableRefused(state, error.message);
      if (mayHaveHappened !== true || situation === 'database-down') throw error;
      return error;
    });
    if (!cut) return;
    const rows = await rowsAfter(state, cut, signal);
    if (rows === 'all') return;
    const isDropping = await dropsRows(state, signal);
    // How much further it must get than the last one (from zero, less is chance), and how many in a row may not.
    const [least, enough, next] = isDropping ? [1.1, 1, 'starting over'] : [1, 2, 'going on behind them'];
    idle = rows > most * least ? 0 : idle + 1;
    most = Math.max(most, rows);
    if (idle === (hasEnded(cut) ? enough : 1)) throw givenUp(state, cut, rows);
    await item.note(`${cut.message}: ${rows} of ${wanted} rows are in; ${next}`);
    if (isDropping) await portal.datastore.remove(nid, signal);
  }
};

/** True where an import would add rows again: it goes on behind the number of those that are there, and some were dropped. */
const doubles = async (state: ResourceState, { size }: Look, signal: AbortSignal): Promise<boolean> =>
  (size?.rows ?? 0) > 0 &&
  state.target.portal.traits.get('importsOnAttach') !== true &&
  (await dropsRows(state, signal));

const dropsRows = async (state: ResourceState, signal: AbortSignal): Promise<boolean> =>
  state.table !== null && (await shapeOf(state, state.table, signal).dropped()) > 0;

/** True for an import that the portal has ended; behind a gateway or a lost connection it may be running. */
const hasEnded = (cut: PortalError): boolean => cut.request.status === 500;

/** The rows that are in after an import was cut off. @throws the error of the import where the portal does not count rows */
const rowsAfter = async (state: ResourceState, cut: PortalError, signal: AbortSignal): Promise<number | 'all'> => {
  const look = await (hasEnded(cut) ? lookAt(state, signal) : untilStill(state, signal));
  if (look.size === undefined) throw cut;
  const isDone = look.isWhole || (!hasEnded(cut) && datastoreState(look.numbers) === 'imported');
  return isDone ? 'all' : (look.size?.rows ?? 0);
};

/** The portal answers, so it is not down. */
const givenUp = (state: ResourceState, cut: PortalError, rows: number): Error => {
  const shown = rows > 0 && state.entry.good === null ? ', which readers see' : '';
  const message = `${cut.message} (${rows} of ${state.table?.rows ?? '?'} rows were imported${shown})`;
  if (!hasEnded(cut))
    return new ImportTimeoutError(message, {
      hint: 'a later attempt goes on; look for a time limit before the portal',
    });
  // It may be the portal's own fault.
  if (rows === 0) return new ImportFailedError(message, { hint: likelyCause(state) });
  return new TableRefusedError(message, {
    hint: `the portal limits how long an import may take: split the file into parts of less than ${rows} rows, or have its limit raised (max_execution_time of PHP); ${sentAgain}`,
  });
};

/** Tells the portal the delimiter. Those that import on attach read RFC 4180 unless an escape is set. */
const sendDialect = async (state: ResourceState, status: DatastoreNumbers | undefined, signal: AbortSignal) => {
  const { item, portal } = state.target;
  const delimiter = state.table?.delimiter ?? ',';
  const readsRfc = status && (isOfAttach(status) || (status.storage === 0 && status.data_import === 7));
  const dialect = { delimiter, ...(readsRfc ? {} : { escape: '\\' }) };
  await item.note(`telling the portal that columns are separated by ${JSON.stringify(delimiter)}`);
  await portal.datastore.configure(state.entry.nid ?? '', dialect, signal);
};

/**
 * How long the table of a running import may stay the same size, milliseconds; may be missing, which an import makes first;
 * may have all rows. An import that goes on behind rows reads these first: 14,000 a second on a small machine.
 */
const [standsStillMs, isMissingMs, settlesMs] = [10_000, 2000, 250];
const rowsSkippedAMs = 7;

/** Waits until no import of the table is running: the state says so, or the table has stopped growing. */
const untilStill = async (state: ResourceState, signal: AbortSignal): Promise<Look> => {
  let rows = -1;
  let changedAt = Date.now();
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2000)) {
    const look = await lookAt(state, signal);
    const now = look.size?.rows ?? 0;
    if (now !== rows) changedAt = Date.now();
    rows = now;
    const isEnded = ['imported', 'failed'].includes(datastoreState(look.numbers));
    if (isEnded || Date.now() - changedAt > mayStandMs(state, look)) return look;
    await sleep(pauseMs, undefined, { signal });
  }
};

const mayStandMs = ({ deps, target, entry }: ResourceState, { numbers, size, isWhole }: Look): number => {
  if (isWhole && entry.rowsAreOwn) return settlesMs;
  // Where a table appears as a whole, or is not counted, nothing shows how far its import is.
  const isShown = size !== undefined && target.portal.traits.get('importsOnAttach') !== true;
  if (!isShown) return deps.settings.importTimeoutMs(target.item.portal);
  if (size === null && datastoreState(numbers) !== 'running') return isMissingMs;
  return standsStillMs + (size?.rows ?? 0) / rowsSkippedAMs;
};

/** Leaves the table to the job that proves it, or to this attempt. */
const settle = async (state: ResourceState): Promise<LedgerEntry> => {
  const { item, ledger, portal } = state.target;
  const { table } = state;
  if (portal.traits.get('importsOnAttach') !== true)
    for (const change of table?.importer.changes ?? []) item.tell(change);
  if (!portal.datastore.counts()) item.tell('its rows were not counted, which this portal does not offer');
  await item.did('imported');
  const entry = await ledger.settle(item.portal, { ...state.entry, datastore: 'pending', rowsAreOwn: true });
  return state.provesNow ? { ...entry, datastore: 'imported', rows: table?.rows ?? null } : entry;
};
