// Nodes that lists hide from the account: ordinary users find their own drafts by id only.
import { byNid, type Nodes } from './nodes.ts';
import type { PortalNode } from './replies.ts';
import type { Session } from './session.ts';

/** What a walk over node ids found. */
export interface HiddenNodes {
  /** Nodes that the account may read and that no list shows. */
  nodes: PortalNode[];
  /** True when every id that no list shows was looked at. */
  isComplete: boolean;
  /** Ids that were not looked at. */
  unread: number;
}

/** Most ids that are looked at one by one, and most pages of the list that are read to know which. */
const mostReads = 500;
const mostPages = 500;

/** How far beyond the highest listed id is looked. */
const beyond = 50;

/** Roles whose accounts see unpublished nodes in lists (recorded behaviour 14). */
const seesAll = new Set(['administrator', 'site manager']);

/** See `Portal.hiddenNodes`. */
export const hiddenNodes = async (session: Session, nodes: Nodes, signal: AbortSignal): Promise<HiddenNodes> => {
  const { uid, roles } = await session.identity(signal);
  // Nobody has drafts, and some see them all in lists.
  if (uid === '0' || uid === '1' || Object.values(roles).some((role) => seesAll.has(role.toLowerCase()))) {
    return { nodes: [], isComplete: true, unread: 0 };
  }
  const listed = new Set<number>();
  for (let page = 0; page < mostPages; page++) {
    const rows = await nodes.list({ fields: ['nid'], page, pageSize: 20, orderBy: byNid }, signal);
    for (const row of rows) listed.add(Number(row.nid));
    if (rows.length < 20) break;
    if (page === mostPages - 1) return { nodes: [], isComplete: false, unread: Math.max(...listed) };
  }
  const highest = Math.max(0, ...listed) + beyond;
  // The newest first: they are the likeliest to be looked for.
  const hidden = Array.from({ length: highest }, (_, index) => highest - index).filter((nid) => !listed.has(nid));
  const found: PortalNode[] = [];
  for (const nid of hidden.slice(0, mostReads)) {
    const node = await nodes.visible(String(nid), signal);
    if (node) found.push(node);
  }
  const unread = Math.max(0, hidden.length - mostReads);
  return { nodes: found, isComplete: unread === 0, unread };
};
