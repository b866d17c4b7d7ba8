// Looks up nodes: by uuid, many in one list request; groups by title; and drafts that lists hide.
import { itemsOfField } from '../dataset-api/fields.ts';
import { maxPageSize } from '../dataset-api/paths.ts';
import { PortalRefusedError } from '../model/errors.ts';
import type { NodeFields } from '../model/wish.ts';
import { BoundedMap } from '../util/bounded-map.ts';
import { abortable } from '../util/concurrency.ts';
import { byNid, type ListQuery, leastLimit, type Nodes } from './nodes.ts';
import { readCache } from './read-cache.ts';
import type { NodeRow, PortalNode } from './replies.ts';
import type { Identity, Session } from './session.ts';
import type { Suggestions } from './suggestions.ts';

/** How long the first call of a batch waits for others, and how long an answer that came along may be used, milliseconds. */
const [gatherMs, recentMs] = [5, 10_000];

const mostExpected = 10_000;

type List = (query: ListQuery, signal: AbortSignal) => Promise<NodeRow[]>;
type Rows = Promise<Map<string, NodeRow>>;

type Batch = { uuids: Set<string>; rows: Rows; go: () => void };

/**
 * Looks nodes up by uuid, up to 20 (a page) in one request: those requested together, filled up with others that soon will be.
 * `shared`: the signal batches run under, for they belong to no single caller; `now`: a clock that only goes forward.
 */
export const uuidLookup = (list: List, shared: AbortSignal, now = () => performance.now()) => {
  let batch: Batch | null = null;
  /** What is looked up soon, with the answer where it came along. */
  const expected = new BoundedMap<string, { rows: Rows; until: number } | null>(mostExpected);
  /** Uuids that are looked up soon (`recent`). */
  const expect = (uuids: readonly string[]): void => {
    for (const uuid of uuids.map((each) => each.toLowerCase())) {
      if (!expected.has(uuid)) expected.set(uuid, null);
    }
  };
  /** The listed row of that uuid with the lowest nid. `recent`: takes, once, an answer that came along with others. */
  const find = async (uuid: string, signal: AbortSignal, { recent = false } = {}): Promise<NodeRow | null> => {
    signal.throwIfAborted();
    const key = uuid.toLowerCase();
    const early = expected.get(key);
    expected.delete(key);
    if (recent && early && now() < early.until) {
      const rows = await abortable(early.rows, signal).catch(() => null);
      if (rows) return rows.get(key) ?? null;
      signal.throwIfAborted();
    }
    batch ??= begin();
    const { uuids, rows, go } = batch;
    uuids.add(key);
    if (uuids.size === maxPageSize) go();
    return (await abortable(rows, signal)).get(key) ?? null;
  };
  const begin = (): Batch => {
    const uuids = new Set<string>();
    const gathered = Promise.withResolvers<void>();
    const rows = gathered.promise.then(() => request([...uuids]));
    const go = (): void => {
      clearTimeout(timer);
      batch = null;
      const at = now();
      for (const [uuid, early] of expected) {
        if (uuids.size === maxPageSize) break;
        if (early && at < early.until) continue;
        uuids.add(uuid);
        expected.set(uuid, { rows, until: at + recentMs });
      }
      gathered.resolve();
    };
    const timer = setTimeout(go, gatherMs);
    return { uuids, rows, go };
  };
  const request = async (uuids: string[]): Promise<Map<string, NodeRow>> => {
    const fields = ['nid', 'vid', 'uuid', 'type', 'title', 'status', 'uid', 'changed'];
    const rows = await list({ fields, parameters: { uuid: uuids }, orderBy: byNid }, shared);
    const byUuid = new Map<string, NodeRow>();
    for (const row of rows) {
      const key = row.uuid.toLowerCase();
      const known = byUuid.get(key);
      if (known === undefined || Number(row.nid) < Number(known.nid)) byUuid.set(key, row);
    }
    // They may not have fit on the page: portals limit it, and nodes may share a uuid.
    const missing = uuids.filter((uuid) => !byUuid.has(uuid));
    if (rows.length < leastLimit || missing.length === 0 || missing.length === uuids.length) return byUuid;
    return new Map([...byUuid, ...(await request(missing))]);
  };
  return { expect, find };
};

/** Nodes that the account may read and that no list shows, and how many ids were not checked. */
type HiddenNodes = { nodes: PortalNode[]; unread: number };

/** Most ids that are checked one by one, and most pages of the list that are read to know which. */
const [mostReads, mostPages] = [500, 500];

/** Ids without a node in a row after the highest known one, after which there are no more. */
const enoughMisses = 20;

/** Roles whose accounts see unpublished nodes in lists (recorded behaviour 14). */
const seesAll = new Set(['administrator', 'site manager']);

/** True where lists hide no drafts from the account, or it has none. */
const seesDrafts = ({ uid, roles }: Identity): boolean =>
  uid === '0' || uid === '1' || Object.values(roles).some((role) => seesAll.has(role.toLowerCase()));

const noneHidden: HiddenNodes = { nodes: [], unread: 0 };

/** Whether the nodes found so far are enough, with this one. */
type IsEnough = (node: PortalNode, signal: AbortSignal) => Promise<boolean>;

/** Finds nodes that the account may read and no list shows: its own drafts. */
export const draftFinder = (session: Session, nodes: Nodes, suggestions: Suggestions) => {
  const known = readCache<HiddenNodes>(session.signal);
  /** Searched for every five minutes at most, and up to one that `isEnough`: the others can be found in another way. */
  const all = (signal: AbortSignal, isEnough?: IsEnough): Promise<HiddenNodes> => {
    const read = (until: AbortSignal) => hiddenNodes({ session, nodes, isEnough }, until);
    return known(isEnough ? 'suggested' : 'all', read, signal);
  };
  /**
   * Those with a title, and maybe others. One request finds them where the portal suggests drafts to their author. Many
   * do not (access rights rebuilt), so without a draft in the answer, one must be known that is suggested.
   */
  const titled = async (type: string, title: string, signal: AbortSignal): Promise<HiddenNodes> => {
    if (seesDrafts(await session.identity(signal))) return noneHidden;
    const nids = await suggestions.nodesTitled(type, title, signal);
    if (nids === null) return all(signal);
    const seen = (await Promise.all(nids.map((nid) => nodes.visible(nid, signal)))).filter((node) => node !== null);
    if (seen.some(isDraft)) return { nodes: seen, unread: 0 };
    return all(signal, async (node, until) => {
      const suggested = isDraft(node) ? await suggestions.nodesTitled(node.type, node.title, until) : null;
      return suggested?.includes(node.nid) === true;
    });
  };
  return { all, titled };
};

const isDraft = ({ status }: PortalNode): boolean => status === '0';

const hiddenNodes = async (
  { session, nodes, isEnough }: { session: Session; nodes: Nodes; isEnough: IsEnough | undefined },
  signal: AbortSignal,
): Promise<HiddenNodes> => {
  if (seesDrafts(await session.identity(signal))) return noneHidden;
  const { rows, complete } = await nodes.all({ fields: ['nid'] }, { signal, mostPages });
  const listed = new Set([...rows.keys()].map(Number));
  if (complete !== true) return { nodes: [], unread: Math.max(1, ...listed) };
  const highest = Math.max(0, ...listed);
  const hidden = Array.from({ length: highest }, (_, index) => highest - index).filter((nid) => !listed.has(nid));
  const found: PortalNode[] = [];
  // The newest first: they are the most likely to be looked up.
  for (let reads = 0, misses = 0, beyond = highest; ; reads++) {
    const nid = misses < enoughMisses ? ++beyond : hidden.shift();
    if (nid === undefined) break;
    if (reads === mostReads) return { nodes: found, unread: hidden.length + 1 };
    const node = await nodes.look(String(nid), signal);
    if (nid > highest) misses = node === null ? misses + 1 : 0;
    if (node === null || node === 'hidden') continue;
    found.push(node);
    if (await isEnough?.(node, signal)) break;
  }
  return { nodes: found, unread: 0 };
};

/** Puts node ids in the place of titles of groups; a title is looked up once in a while, under the signal `shared`. */
export const groupResolver = (portal: string, nodes: Nodes, shared: AbortSignal) => {
  const known = readCache<string>(shared);
  const find = async (title: string, signal: AbortSignal): Promise<string> => {
    const [row, ...others] = await nodes.titled('group', title, signal);
    if (row && others.length === 0) return row.nid;
    throw new PortalRefusedError(
      `portal ${portal}: ${row ? `${others.length + 1} groups are` : 'no group is'} titled "${title}"`,
      { method: 'GET', path: 'group', mayHaveHappened: false },
      { hint: 'groups are created on the portal itself; use a title that it lists, or a node id' },
    );
  };
  /** @throws PortalRefusedError where not exactly one group has the title */
  return async (fields: NodeFields, signal: AbortSignal): Promise<NodeFields> => {
    const items = itemsOfField(fields.og_group_ref) ?? [];
    if (!items.some(({ title }) => typeof title === 'string')) return fields;
    const und = await Promise.all(
      items.map(async (item) => {
        const { title } = item;
        if (typeof title !== 'string') return item;
        return { target_id: await known(title, (until) => find(title, until), signal) };
      }),
    );
    return { ...fields, og_group_ref: { und } };
  };
};
