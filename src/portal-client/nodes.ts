// Nodes: create, update, delete, read and list.
import { maxPageSize, paths } from '../dataset-api/paths.ts';
import { orNull, PortalError, PortalGoneError, PortalReplyError } from '../model/errors.ts';
import type { NodeFields } from '../model/wish.ts';
import { abortable } from '../util/concurrency.ts';
import { isAnswer } from './answers.ts';
import { changedByForm, type DialectChoice, echoedFields, fieldsFor } from './dialect.ts';
import { type NodeRow, nodeResultSchema, nodeRowsSchema, type PortalNode, portalNodeSchema } from './replies.ts';
import type { Call, Caller } from './session.ts';
import type { Dialect } from './settings.ts';

/** A node to create. `fields` are in entity shape whatever the portal's dialect is. */
export interface NodeInput {
  type: 'dataset' | 'resource';
  title: string;
  /** 1 = published. Form portals publish whatever is sent. */
  status: 0 | 1;
  /** Kept by entity portals; form portals make their own. */
  uuid: string;
  log: string;
  fields: NodeFields;
}

/** What to change of a node; only these keys are sent. */
export type NodeChanges = Partial<Pick<NodeInput, 'title' | 'status' | 'fields'>> & { log: string };

export interface ListQuery {
  /** Columns of the node table; all when absent. */
  fields?: readonly string[];
  /** Column filters; several values mean "one of these". */
  parameters?: Readonly<Record<string, string | readonly string[]>>;
  page?: number;
  /** At most 20 (spec 8); 20 when absent. */
  pageSize?: number;
  orderBy?: { column: string; direction: 'ASC' | 'DESC' };
}

/** Rows by nid; `complete` is true where no listed node is missing, otherwise why one may be. */
type WholeList = { rows: Map<string, NodeRow>; complete: true | string };

export class Nodes {
  private readonly caller: Caller;
  private readonly dialect: DialectChoice;

  constructor(caller: Caller, dialect: DialectChoice) {
    this.caller = caller;
    this.dialect = dialect;
  }

  /** See `Portal.createNode`; `beforeRepeat` runs when the session was lost, before the create is sent again. */
  async create(input: NodeInput, signal: AbortSignal, beforeRepeat: Call['beforeRepeat']): Promise<{ nid: string }> {
    const { fields, ...core } = input;
    const call = { action: `create ${input.type}`, method: 'POST', path: paths.nodes, beforeRepeat } as const;
    const body = async (dialect: Dialect) => {
      // Some releases make the anonymous user the author of a node that names none. Of a token the portal knows whose it is.
      const uid = dialect === 'entity' ? (await this.caller.session.identity(signal)).uid : '';
      return { ...core, ...(uid === '' ? {} : { uid }), ...fieldsFor(dialect, fields).fields };
    };
    const { nids } = this.caller.session;
    const { highest } = nids;
    const { nid } = await this.write(call, body, signal);
    // Ids of new nodes only grow: this may be another's node, which a cache has answered and which would get the file.
    if (Number(nid) <= highest && (await this.visible(nid, signal))?.log !== input.log)
      throw new PortalReplyError(
        `portal ${this.caller.session.portal.name}: POST node answered with node ${nid}, which it has not created`,
        { method: 'POST', path: paths.nodes, mayHaveHappened: true },
        { hint: 'a cache in front of the portal may answer writes: it must not' },
      );
    nids.highest = Math.max(nids.highest, Number(nid));
    this.dialect.noteCreate(nid, input.uuid);
    return { nid };
  }

  /** Updates the given keys with one PUT; editing forms also need what `node` held before. @throws PortalGoneError */
  async update(nid: string, changes: NodeChanges, signal: AbortSignal, node?: PortalNode): Promise<void> {
    const { fields, ...core } = changes;
    const call = { action: 'update node', method: 'PUT', path: paths.node(nid) } as const;
    const body = (dialect: Dialect) => {
      const shaped = fields === undefined ? {} : fieldsFor(dialect, fields).fields;
      return { ...core, ...(dialect === 'form' && node ? echoedFields(node, shaped) : {}), ...shaped };
    };
    await this.write(call, body, signal);
  }

  /** Why the portal will not hold fields as they are, by name: its dialect has no words for them, or it changes them. */
  async unsendable(fields: NodeFields, signal: AbortSignal): Promise<Record<string, string[]>> {
    const dialect = await this.dialect.current(signal);
    return { ...(dialect === 'form' ? changedByForm(fields) : {}), ...fieldsFor(dialect, fields).problems };
  }

  async remove(nid: string, signal: AbortSignal): Promise<void> {
    const call = { action: 'delete node', method: 'DELETE', path: paths.node(nid), isSave: true } as const;
    await this.caller.order(call, 'an empty body or [true]', signal);
  }

  /** Reads a node; `fieldItems` takes its fields apart. @throws PortalGoneError when it is gone. */
  async read(nid: string, signal: AbortSignal): Promise<PortalNode> {
    const call = { action: 'read node', method: 'GET', path: paths.node(nid) } as const;
    // One that is answered in the place of another would be written to.
    const isOwn = (node: PortalNode) => node.nid === nid;
    const node = await this.caller.body(call, portalNodeSchema, `node ${nid}`, signal, isOwn);
    this.dialect.noteRead(node);
    return node;
  }

  /** A node, or null where there is none. @throws PortalRefusedError (403) for one that this account may not read. */
  find(nid: string, signal: AbortSignal): Promise<PortalNode | null> {
    return orNull(this.read(nid, signal), [PortalGoneError]);
  }

  /** The same; `hidden` for one that this account may not read. */
  look(nid: string, signal: AbortSignal): Promise<PortalNode | null | 'hidden'> {
    return this.find(nid, signal).catch((error: unknown) => {
      if (isForbidden(error)) return 'hidden';
      throw error;
    });
  }

  /** A node, or null where there is none that this account may read. */
  visible(nid: string, signal: AbortSignal): Promise<PortalNode | null> {
    return this.look(nid, signal).then((node) => (node === 'hidden' ? null : node));
  }

  /** One page of nodes. Unpublished ones are hidden from ordinary users. */
  async list(query: ListQuery, signal: AbortSignal, how: Pick<Call, 'retries' | 'isProbe'> = {}): Promise<NodeRow[]> {
    const call = { action: 'list nodes', method: 'GET', path: `${paths.nodes}?${queryString(query)}`, ...how } as const;
    const rows = await this.caller.body(call, nodeRowsSchema, 'a list of nodes', signal);
    const { nids } = this.caller.session;
    for (const { nid } of rows) nids.highest = Math.max(nids.highest, Number(nid) || 0);
    return rows;
  }

  /** The highest listed node id, "0" on an empty portal. */
  async highest(signal: AbortSignal): Promise<string> {
    const orderBy = { column: 'nid', direction: 'DESC' } as const;
    const [row] = await this.list({ fields: ['nid'], pageSize: 1, orderBy }, signal);
    return row?.nid ?? '0';
  }

  /** Listed nodes of a type with exactly that title, by nid. */
  async titled(type: string, title: string, signal: AbortSignal): Promise<NodeRow[]> {
    // A comma in the title would be read as a list of titles; then all nodes of the type are looked through.
    const parameters = title.includes(',') ? { type } : { type, title };
    const { rows } = await this.all({ fields: ['nid', 'type', 'title'], parameters }, { signal });
    return [...rows.values()].filter((row) => row.title === title);
  }

  /**
   * A whole list by nid. Each page begins with a node that the one before has shown: so whatever is added or removed while
   * it is read, no node is missed that is listed throughout. `atOnce` pages are requested together.
   * @throws PortalReplyError when its pages do not end
   */
  async all(
    query: ListQuery,
    { signal, atOnce = 1, mostPages = 50_000 }: { signal: AbortSignal; atOnce?: number; mostPages?: number },
  ): Promise<WholeList> {
    const list: ReadList = { ...unread, rows: new Map() };
    for (let read = 0; read < mostPages; read += atOnce) {
      const pages = pagesAfter(list, atOnce);
      const found = await Promise.all(pages.map((page) => this.list({ ...query, ...page, orderBy: byNid }, signal)));
      for (const [at, page] of pages.entries()) {
        const step = take(list, page, found[at] ?? []);
        if (step === 'end') return list;
        if (step === 'again') break;
        if (list.stale < mostStale) continue;
        throw new PortalReplyError(
          `portal ${this.caller.session.portal.name}: its list of nodes does not end: page ${page.page} shows nothing new`,
          { method: 'GET', path: `node?page=${page.page}`, mayHaveHappened: false },
          { hint: 'a cache in front of the portal may ignore the query of an address' },
        );
      }
    }
    return { ...list, complete: `its list has more than ${mostPages} pages` };
  }

  /** One read of one row, sent once: does the portal answer? Logs in when needed. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.list({ fields: ['nid'], pageSize: 1 }, signal, { retries: 0, isProbe: true });
  }

  /** Asks for the highest id, once for all, so that {@link create} can tell the node of another. */
  async seeHighest(signal: AbortSignal): Promise<void> {
    const { nids, signal: shared } = this.caller.session;
    nids.asked ??= this.highest(shared).catch(() => null);
    await abortable(nids.asked, signal);
  }

  /** Sends a node; once more in the other dialect where the refusal shows that the first one was wrong. */
  private write(call: Call, body: (dialect: Dialect) => unknown, signal: AbortSignal) {
    const send = async () => {
      const sent = JSON.stringify(await body(await this.dialect.current(signal)));
      return this.caller.body({ ...call, isSave: true, body: sent }, nodeResultSchema, 'the nid of the node', signal);
    };
    return send().catch((error: unknown) => {
      if (error instanceof PortalError && this.dialect.noteRefusal(error)) return send();
      throw error;
    });
  }
}

/** True for the refusal of a node, or its datastore, that this account may not use. */
export const isForbidden = (error: unknown): error is PortalError =>
  isAnswer(error, 'denied', 'datastore-denied', 'forbidden', 'forbidden-suddenly');

/** Without an order, nodes could move between pages. */
export const byNid = { column: 'nid', direction: 'ASC' } as const;

interface ReadList extends WholeList {
  /** Place of the last row that was read, from 0; -1 before the first. */
  last: number;
  highest: number;
  most: number;
  /** How often rows before the next page were removed. */
  gaps: number;
  stale: number;
}

const unread = { last: -1, highest: -1, most: maxPageSize, gaps: 0, stale: 0, complete: true } as const;

type Page = Required<Pick<ListQuery, 'page' | 'pageSize'>>;

/** A portal may give fewer rows on a page than are asked for (Services: `node_index_page_size`), but hardly less than these. */
export const leastLimit = 5;

/** Several pages may show nothing new where many nodes are added before them. */
const [mostGaps, mostStale] = [20, 4];

/** Adds the rows of a page, unless it does not continue the list; one that cannot be proven whole is read page by page. */
const take = (list: ReadList, { page, pageSize }: Page, rows: NodeRow[]): 'next' | 'end' | 'again' => {
  const nids = rows.map(({ nid }) => Number(nid));
  const isInOrder = nids.every((nid, index) => nid > (nids[index - 1] ?? -1));
  const isGap = page > 0 && !((nids[0] ?? Number.POSITIVE_INFINITY) <= list.highest);
  // All sizes of small pages end at some place: then no page shows what is before and behind it.
  const isStuck = list.most < maxPageSize && rows.length === pageSize && rows.every(({ nid }) => list.rows.has(nid));
  if (list.complete === true && (isGap || !isInOrder || isStuck)) {
    list.gaps += 1;
    list.last = Math.max(-1, page * pageSize - maxPageSize);
    if (isGap && isInOrder && list.gaps < mostGaps) return 'again';
    const why = isStuck ? `its pages have only ${list.most} nodes` : 'its list changed all the time';
    list.complete = isInOrder ? why : 'it does not list nodes in the order of their ids';
    list.rows.clear();
    list.last = -1;
    return 'again';
  }
  const { size } = list.rows;
  for (const row of rows) list.rows.set(row.nid, row);
  list.stale = list.rows.size > size ? 0 : list.stale + 1;
  list.highest = Math.max(list.highest, ...nids);
  list.last = page * pageSize + Math.min(rows.length, pageSize) - 1;
  if (rows.length >= pageSize) return 'next';
  if (page > 0 || rows.length < leastLimit) return 'end';
  list.most = rows.length; // of the list, or of every page
  return 'again';
};

/** The next pages, of varying size: each contains the last row of the one before, and as many after it as possible. */
const pagesAfter = ({ last, complete, most }: ReadList, count: number): Page[] => {
  const sizes = Array.from({ length: most }, (_, index) => most - index);
  const pages: Page[] = [];
  for (let end = last; pages.length < count; ) {
    const first = complete === true ? Math.max(0, end) : end + 1;
    const endOf = (size: number): number => (Math.floor(first / size) + 1) * size - 1;
    const pageSize = sizes.reduce((best, size) => (endOf(size) > endOf(best) ? size : best));
    pages.push({ page: Math.floor(first / pageSize), pageSize });
    end = endOf(pageSize);
  }
  return pages;
};

const queryString = ({ fields, parameters, page, pageSize, orderBy }: ListQuery): string => {
  const query = new URLSearchParams();
  if (fields !== undefined) query.set('fields', fields.join(','));
  for (const [column, value] of Object.entries(parameters ?? {})) {
    query.set(`parameters[${column}]`, typeof value === 'string' ? value : value.join(','));
  }
  if (orderBy !== undefined) query.set(`options[orderby][${orderBy.column}]`, orderBy.direction);
  if (page !== undefined && page > 0) query.set('page', String(page));
  query.set('pagesize', String(Math.min(pageSize ?? maxPageSize, maxPageSize)));
  return query.toString();
};
