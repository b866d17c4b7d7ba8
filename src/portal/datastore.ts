// The datastore of a resource: status, import, removal, and the number of its rows.
import type { DatastoreNumbers } from '../dkan/datastore-status.ts';
import { paths } from '../dkan/paths.ts';
import { ImportFailedError, PortalError, PortalGoneError, PortalRefusedError } from '../errors.ts';
import { wrongShape } from './classify.ts';
import { jsonOf } from './replies.ts';
import type { Session } from './session.ts';
import { abortable } from './wait.ts';
import { isHtmlPage, wordsOf } from './words.ts';

/** How many rows and columns a datastore table has; `columns` is null where the portal does not tell. */
export interface TableSize {
  rows: number;
  columns: number | null;
}

/** How a portal shall read a table file (spec 2.7, `configurable_properties`). */
export interface TableDialectSettings {
  delimiter: string;
  quote: string;
  escape?: string;
  trailing_delimiter: boolean;
}

/** The datastore calls of one portal. */
export class Datastore {
  private readonly session: Session;
  private readonly importMs: number;
  private offered: Promise<boolean> | null = null;

  /** `importMs`: how long an import may take before its reply. */
  constructor(session: Session, importMs: number) {
    this.session = session;
    this.importMs = importMs;
  }

  /** True where the portal has datastore endpoints at all; asked once per portal, with a read of any node's status. */
  async isOffered(signal: AbortSignal): Promise<boolean> {
    this.offered ??= this.ask().catch((error: unknown) => {
      this.offered = null;
      throw error;
    });
    return abortable(this.offered, signal);
  }

  /** See `Portal.datastoreStatus`. */
  async status(nid: string, signal: AbortSignal): Promise<DatastoreNumbers | null> {
    const call = { action: 'read datastore status', method: 'GET', path: paths.datastore(nid) } as const;
    try {
      const reply = await this.session.call(call, signal);
      const numbers = numbersOf(reply.text);
      if (numbers === null) throw wrongShape(reply, this.session.portal, 'a datastore status');
      return numbers;
    } catch (error) {
      const status = statusOf(error);
      if (
        error instanceof PortalGoneError ||
        (error instanceof PortalRefusedError && (status === 403 || status === 404))
      ) {
        return null;
      }
      throw error;
    }
  }

  /** Starts the import and waits for its reply, which says nothing about success: look at the status. */
  async import(nid: string, signal: AbortSignal): Promise<void> {
    const { importMs } = this;
    await this.command('import datastore', 'POST', paths.datastoreImport(nid), signal, {
      headersMs: importMs,
      totalMs: importMs,
    });
  }

  /** Removes table and record. */
  async remove(nid: string, signal: AbortSignal): Promise<void> {
    await this.command('delete datastore', 'DELETE', paths.datastore(nid), signal, {});
  }

  /** Sets how the file of a resource is to be read; takes effect with the next import. */
  async configure(nid: string, dialect: TableDialectSettings, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify({ manager: '', configuration: dialect });
    const headers = { 'content-type': 'application/json' };
    const call = { action: 'configure datastore', method: 'PUT', path: paths.datastore(nid), headers, body } as const;
    const reply = await this.session.call(call, signal);
    if (isHtmlPage(reply.text)) throw wrongShape(reply, this.session.portal, 'null');
  }

  /** See `Portal.tableSize`. */
  async tableSize(uuid: string, signal: AbortSignal): Promise<TableSize | null> {
    const path = `${paths.datastoreSearch}?resource_id=${encodeURIComponent(uuid)}&limit=1`;
    try {
      const reply = await this.session.call({ action: 'count rows', method: 'GET', path }, signal);
      const size = sizeOf(jsonOf(reply));
      if (size !== null) return size;
      if (isHtmlPage(reply.text)) return null;
      // A portal without the table answers 200 with the database's message.
      if (noTable.test(wordsOf(reply))) return { rows: 0, columns: null };
      throw wrongShape(reply, this.session.portal, 'a datastore search result');
    } catch (error) {
      const status = statusOf(error);
      if (status === 403 || status === 404) return null;
      throw error;
    }
  }

  private async command(
    action: string,
    method: 'POST' | 'DELETE',
    path: string,
    signal: AbortSignal,
    patience: { headersMs?: number; totalMs?: number },
  ): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const body = method === 'POST' ? { body: '' } : {};
    const reply = await this.session.call({ action, method, path, headers, ...body, ...patience }, signal);
    if (isHtmlPage(reply.text)) throw wrongShape(reply, this.session.portal, 'a list holding true');
    if (/^(?:---\s*)?(?:-\s*|\[\s*)?false\b/.test(reply.text.trim())) {
      throw new ImportFailedError(`portal ${this.session.portal.name}: ${method} ${path} answered false`, {
        hint: 'the portal did not do it and gives no reason; its error log says more',
      });
    }
  }

  /** Node 1 need not exist: a portal with the endpoint speaks of the node, one without speaks of the resource. */
  private async ask(): Promise<boolean> {
    const call = { action: 'look for datastore', method: 'GET', path: paths.datastore('1') } as const;
    try {
      await this.session.call(call, this.session.signal);
      return true;
    } catch (error) {
      if (error instanceof PortalGoneError || statusOf(error) === 403) return true;
      if (statusOf(error) === 404) return false;
      throw error;
    }
  }
}

/**
 * `storage` and `data_import` of a status in JSON or YAML, null when they are not there. The YAML of recorded portals is
 * not valid YAML (`quote: "`), hence by line.
 */
export const numbersOf = (text: string): DatastoreNumbers | null => {
  const storage = numberAfter('storage', text);
  const data_import = numberAfter('data_import', text);
  return storage === null || data_import === null ? null : { storage, data_import };
};

const numberAfter = (key: string, text: string): number | null => {
  const found = new RegExp(`(?:^|[\\n{,])\\s*"?${key}"?\\s*:\\s*"?(-?\\d+)"?`).exec(text)?.[1];
  return found === undefined ? null : Number(found);
};

const noTable = /doesn't exist|does not exist|not found/i;

const statusOf = (error: unknown): number | undefined =>
  error instanceof PortalError ? error.request.status : undefined;

/** Rows and columns (without the key that the portal adds) of a search result; null when it is none. */
const sizeOf = (value: unknown): TableSize | null => {
  const result = isRecord(value) ? value.result : undefined;
  if (!isRecord(result)) return null;
  const { total, fields } = result;
  const rows = typeof total === 'string' && /^\d+$/.test(total) ? Number(total) : total;
  if (typeof rows !== 'number' || !Number.isInteger(rows) || rows < 0) return null;
  const columns = Array.isArray(fields)
    ? fields.filter((field) => !isRecord(field) || field.id !== 'entry_id').length
    : 0;
  return { rows, columns: columns === 0 ? null : columns };
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
