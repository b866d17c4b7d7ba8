// The datastore of a resource: status, import, removal, and the number of its rows.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { paths } from '../dataset-api/paths.ts';
import type { DatastoreNumbers } from '../dataset-api/values.ts';
import {
  ImportFailedError,
  orNull,
  PortalBusyError,
  type PortalError,
  PortalRefusedError,
  PortalReplyError,
} from '../model/errors.ts';
import { isObject, parsedJson, recordOf } from '../util/json.ts';
import { hintFor, isAnswer, searchFault } from './answers.ts';
import { isForbidden } from './nodes.ts';
import { readCache } from './read-cache.ts';
import { wrongShape } from './replies.ts';
import type { Call, Caller } from './session.ts';
import type { Traits } from './settings.ts';

/** Rows of a datastore table, and its columns but the key that the portal adds; none where it does not report them. */
export type PortalTable = { rows: number; columns: string[] };

const [maxRowBytes, rowsAtOnce, tablesAtOnce] = [16 * 1024 * 1024, 1000, 20];

/** Tries of an unclear search, and the pause between (ms): each locks all datastores, so some fail side by side. */
const [mostSearches, searchPauseMs] = [3, 200];

export type Datastore = ReturnType<typeof datastoreOf>;

/** `importMs`: how long an import may take before its reply. */
export const datastoreOf = (caller: Caller, traits: Traits, importMs: number) => {
  const offered = readCache<boolean>(caller.session.signal);
  /** True where the portal has datastore endpoints at all; asked once per portal, with a read of any node's status. */
  const isOffered = async (signal: AbortSignal): Promise<boolean> =>
    traits.get('datastore') ?? offered('', (until) => ask(until), signal);
  /** The integers of the datastore status; null where the portal has no datastore endpoints ({@link isOffered}). */
  const status = async (nid: string, signal: AbortSignal): Promise<DatastoreNumbers | null> => {
    const call = { action: 'read datastore status', method: 'GET', path: paths.datastore(nid) } as const;
    try {
      const reply = await caller.call(call, signal);
      const numbers = numbersOf(reply.text);
      if (numbers === null) throw wrongShape(reply, caller.session.portal, 'a datastore status');
      return numbers;
    } catch (error) {
      if (isAnswer(error, 'not-offered') && !(await isOffered(signal))) return null;
      throw error;
    }
  };
  /** Imports the resource's file; waits up to `importMs`. The reply says nothing about success: look at the status. */
  const runImport = (nid: string, signal: AbortSignal): Promise<void> => {
    const patience = { headersMs: importMs, totalMs: importMs };
    const call = { action: 'import datastore', method: 'POST', path: paths.datastoreImport(nid), body: '' } as const;
    return command({ ...call, ...patience }, signal);
  };
  const remove = (nid: string, signal: AbortSignal): Promise<void> =>
    command({ action: 'delete datastore', method: 'DELETE', path: paths.datastore(nid) }, signal);
  /** Sets how the next import reads the file (spec 2.7, `configurable_properties`). @throws PortalRefusedError where that is not offered. */
  const configure = async (nid: string, dialect: { delimiter: string; escape?: string }, signal: AbortSignal) => {
    const configuration = { ...dialect, quote: '"', trailing_delimiter: false };
    const body = JSON.stringify({ manager: '', configuration });
    const call = { action: 'configure datastore', method: 'PUT', path: paths.datastore(nid), body } as const;
    await caller.order(call, 'null', signal);
  };
  /** False where the portal is known not to count rows: then `table` is undefined, and only states tell of imports. */
  const counts = (): boolean => traits.last('counts') !== 'none';
  /** One table; undefined where the portal does not count rows, null where there is no table. */
  const table = async (uuid: string, signal: AbortSignal): Promise<PortalTable | null | undefined> => {
    const value = (await repeated([uuid], (open) => search(open, signal), signal)).get(uuid);
    const table = tableOf(uuid, value);
    if (table !== undefined || traits.get('counts') === 'none') return table;
    // Pages of another site, from the first to the last try: there is no search. One that has counted owes its answer.
    if (value !== undefined || traits.get('counts') !== undefined) throw unusable(uuid, value);
    traits.learn({ counts: 'none' });
    return undefined;
  };
  /** The error for an answer that leaves open what a table holds: the search failed, or that is no answer of it. */
  const unusable = (uuid: string, value: unknown): PortalError => {
    const { name, redact } = caller.session.portal;
    const request = { method: 'GET', path: paths.datastoreSearch, mayHaveHappened: false, status: 200 }; // it answered
    const isFailed = isObject(value) && 'error' in value;
    const said = redact(JSON.stringify(isFailed ? value.error : (value ?? 'no JSON'))).slice(0, 300);
    const words = value === null ? 'the search is gone' : said;
    const message = `portal ${name}: the rows of ${uuid} cannot be counted: ${words}`;
    if (isFailed) return new PortalBusyError(message, request, { hint: 'nothing to do: it is retried' });
    const ofSearch = 'bring it back; where the portal is to do without, `sluice rebuild` finds out';
    return new PortalReplyError(message, request, { hint: value === null ? ofSearch : hintFor('odd-answer') });
  };
  /** Tables by the uuids of their resources; null for one that is not there, none for one that could not be counted. */
  const tables = async (uuids: readonly string[], signal: AbortSignal): Promise<Map<string, PortalTable | null>> => {
    const answers = (await orNull(repeated(uuids, search, signal), [PortalRefusedError])) ?? [];
    const found = [...answers].map(([uuid, value]) => [uuid, tableOf(uuid, value)] as const);
    return new Map(found.filter((each): each is [string, PortalTable | null] => each[1] !== undefined));
  };
  /** The rows of a table by the names of its columns, page by page; none where it is not there or cannot be read. */
  async function* rows(uuid: string, signal: AbortSignal) {
    for (let offset = 0; ; ) {
      const query = `resource_id=${encodeURIComponent(uuid)}&limit=${rowsAtOnce}&offset=${offset}`;
      const path = `${paths.datastoreSearch}?${query}`;
      const call = { action: 'read rows', method: 'GET', path } as const;
      const search = async () => new Map([[uuid, await answerTo(call, signal)]]);
      const answers = await orNull(repeated([uuid], search, signal), offset > 0 ? [] : [PortalRefusedError]);
      const value = answers?.get(uuid);
      const table = tableOf(uuid, value);
      if (table === undefined && offset > 0) throw unusable(uuid, value);
      if (!table) return;
      const found = recordOf(recordOf(value).result).records;
      const records = Array.isArray(found) ? found.filter(isObject) : [];
      yield { ...table, records };
      offset += records.length;
      if (records.length === 0 || offset >= table.rows) return;
    }
  }
  /** The answers of searches by uuid; those that are unclear are asked for again. */
  const repeated = async (uuids: readonly string[], ask: typeof search, signal: AbortSignal) => {
    const values = new Map<string, unknown>();
    for (let searches = 1, open = uuids; ; searches++) {
      for (let at = 0; at < open.length; at += tablesAtOnce) {
        for (const [uuid, value] of await ask(open.slice(at, at + tablesAtOnce), signal)) values.set(uuid, value);
      }
      open = open.filter((uuid) => isUnclear(uuid, values.get(uuid)));
      if (open.length === 0 || searches === mostSearches) return values;
      await sleep(searchPauseMs, undefined, { signal });
    }
  };
  /** The answers of searches for the first row of each table, by uuid; none where the portal has no search. */
  const search = async (uuids: readonly string[], signal: AbortSignal): Promise<Map<string, unknown>> => {
    const isOne = uuids.length === 1;
    const many = isOne ? null : await searchMany(uuids, signal);
    if (many) return many;
    const values = new Map<string, unknown>();
    for (const uuid of uuids) values.set(uuid, await searchOne(uuid, isOne ? 'many' : 'one', signal));
    return values;
  };
  /** The same of one table; how many a request may name is known by an answer. */
  const searchOne = async (uuid: string, proven: 'many' | 'one', signal: AbortSignal): Promise<unknown> => {
    const ways = traits.get('counts');
    const path = `${paths.datastoreSearch}?resource_id=${encodeURIComponent(uuid)}&limit=1`;
    const value = ways === 'none' ? null : await answerTo({ action: 'count rows', method: 'GET', path }, signal);
    const shown = value === null ? 'none' : tableOf(uuid, value) ? proven : undefined;
    if (ways === undefined && shown) traits.learn({ counts: shown });
    return value;
  };
  /** Several queries in one request; null where the portal does not take them. */
  const searchMany = async (uuids: readonly string[], signal: AbortSignal): Promise<Map<string, unknown> | null> => {
    if ((traits.get('counts') ?? 'many') !== 'many') return null;
    // Portals cache answers by body, hence new names of queries.
    const nonce = randomUUID().slice(0, 8);
    const names = new Map(uuids.map((uuid, index) => [uuid, `t${index}_${nonce}`]));
    const queries = [...names].map(([uuid, name]) => [name, { resource_id: uuid, limit: 1 }]);
    const body = JSON.stringify(Object.fromEntries(queries));
    const call = { action: 'count rows', method: 'POST', path: paths.datastoreSearch, body, isRead: true } as const;
    const answers = await orNull(answerTo(call, signal), [PortalRefusedError]);
    // There may be no search at all, or none by such requests; a single query shows that.
    if (answers === null || answers === undefined) return null;
    const isTaken = isObject(answers) && names.values().some((name) => name in answers);
    traits.learn({ counts: isTaken ? 'many' : 'one' });
    return isTaken ? new Map([...names].map(([uuid, name]) => [uuid, answers[name]])) : null;
  };
  /** The JSON of an answer (undefined: none); null where the portal has no such route, or breaks on every search. */
  const answerTo = async (call: Call, signal: AbortSignal): Promise<unknown> => {
    try {
      const { text } = await caller.call({ ...call, maxBytes: maxRowBytes }, signal);
      return parsedJson(text) ?? undefined;
    } catch (error) {
      if (isAnswer(error, 'table-absent')) return { error: 'not found' };
      if (error instanceof PortalRefusedError && !isForbidden(error)) return null;
      // Releases without a datastore answer every search with the page of a crash; others only while something is wrong.
      if (isAnswer(error, 'search-broken') && !(await isOffered(signal))) return null;
      throw error;
    }
  };
  const command = async (call: Call, signal: AbortSignal): Promise<void> => {
    const text = await caller.order(call, 'a list holding true', signal);
    if (/^(?:---\s*)?(?:-\s*|\[\s*)?false\b/.test(text.trim())) {
      throw new ImportFailedError(`portal ${caller.session.portal.name}: ${call.method} ${call.path} answered false`, {
        hint: 'the portal failed without a reason; check its error log',
      });
    }
  };
  /** Node 1 need not exist: a portal with the endpoint speaks of the node, one without speaks of the resource. */
  const ask = async (signal: AbortSignal): Promise<boolean> => {
    const call = { action: 'look for datastore', method: 'GET', path: paths.datastore('1') } as const;
    const isOffered = await caller.call(call, signal).then(
      () => true,
      (error: unknown) => {
        if (isAnswer(error, 'node-gone', 'datastore-denied', 'forbidden')) return true;
        if (isAnswer(error, 'not-offered')) return false;
        throw error;
      },
    );
    traits.learn({ datastore: isOffered });
    return isOffered;
  };
  return { isOffered, status, import: runImport, remove, configure, counts, table, tables, rows };
};

/** Of a status in JSON or YAML, null when they are not there. That of recorded portals is not valid YAML, hence by line. */
export const numbersOf = (text: string): DatastoreNumbers | null => {
  const [storage, data_import] = ['storage', 'data_import'].map(
    (key) => new RegExp(`(?:^|[\\n{,])\\s*"?${key}"?\\s*:\\s*"?(-?\\d+)"?`).exec(text)?.[1],
  );
  if (storage === undefined || data_import === undefined) return null;
  return { storage: Number(storage), data_import: Number(data_import) };
};

/** True for a search that failed without saying that the table is not there, and for what is no answer of this search. */
const isUnclear = (uuid: string, value: unknown): boolean =>
  isObject(value) && 'error' in value
    ? searchFault(value.error) !== 'table-missing'
    : value !== null && tableOf(uuid, value) === undefined;

/** The table in the answer of its search; null: there is none of that name, undefined: that is no answer of this search. */
const tableOf = (uuid: string, value: unknown): PortalTable | null | undefined => {
  if (isObject(value) && 'error' in value) return searchFault(value.error) === null ? undefined : null;
  const { total, fields, resource_id } = recordOf(recordOf(value).result);
  const of = [resource_id].flat().filter((each) => typeof each === 'string');
  if (of.length > 0 && !of.some((each) => each.toLowerCase() === uuid.toLowerCase())) return undefined;
  const rows = typeof total === 'string' && /^\d+$/.test(total) ? Number(total) : total;
  if (typeof rows !== 'number' || !Number.isInteger(rows) || rows < 0) return undefined;
  const names = Array.isArray(fields) ? fields.map((field) => String(isObject(field) ? field.id : field)) : [];
  return { rows, columns: names.filter((name) => name !== 'entry_id') };
};
