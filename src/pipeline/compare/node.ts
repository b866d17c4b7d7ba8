// The node of a wish, the marks of our own nodes, and differences to a node of the portal.
import { missingFields, shownField } from '../../dataset-api/compare.ts';
import { itemsOfField } from '../../dataset-api/fields.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { Dialect, Portal, PortalNode } from '../../portal-client/client.ts';
import type { ResolvedTerms } from '../../portal-client/terms.ts';

/** The node of a wish. */
export interface NodeWish {
  key: string;
  type: 'dataset' | 'resource';
  /** See {@link datasetWishSchema}. */
  identifier?: string;
  uuid: string;
  title: string;
  published: boolean;
  fields: NodeFields;
  /** Fingerprint the ledger shall hold once the node is verified. */
  fingerprint: string;
}

/** The node of a wish; `fields` where they are not those of the wish as it stands. */
export const nodeOf = (
  type: NodeWish['type'],
  wish: Omit<NodeWish, 'type' | 'fingerprint'> & { metadataFingerprint: string },
  fields: NodeFields = wish.fields,
): NodeWish => ({ ...wish, type, fields, fingerprint: wish.metadataFingerprint });

/** Marker in a revision's log message by which we know our own writes again. */
export const markerOf = (wish: Pick<NodeWish, 'key' | 'fingerprint'>): string =>
  `sluice ${wish.key} ${wish.fingerprint.slice(0, 12)}`;

/** True for a node whose last revision we wrote for this key. */
export const bearsMark = (node: Pick<PortalNode, 'log'>, key: string): boolean => node.log.startsWith(`sluice ${key} `);

/**
 * True for the node that the ledger stands for: the type is right, and the uuid is the known one. A portal that makes its
 * own uuids is believed our mark, which no other key's node bears.
 */
export const isOurs = (
  node: PortalNode,
  wish: Pick<NodeWish, 'key' | 'type'>,
  uuid: string,
  dialect: Dialect,
): boolean =>
  node.type === wish.type && (sameUuid(node.uuid, uuid) || (dialect === 'form' && bearsMark(node, wish.key)));

/** Compares uuids whatever their case. */
export const sameUuid = (a: string, b: string): boolean => a !== '' && a.toLowerCase() === b.toLowerCase();

/** True where a node holds in a field what it is known to make of it, otherwise than it was sent. */
export const isKnownDifference = (
  { notHeld }: Pick<LedgerEntry, 'notHeld'>,
  node: PortalNode,
  field: string,
): boolean => {
  const [known, shown] = [notHeld[field], shownField(node, field)];
  return known !== undefined && (known === shown || known.startsWith(`${shown}; `));
};

/** Names of title, status and fields in which a node differs from its wish. */
export const differences = (wish: Pick<NodeWish, 'title' | 'published' | 'fields'>, node: PortalNode): string[] => [
  ...(node.title === wish.title ? [] : ['title']),
  ...(node.status === (wish.published ? '1' : '0') ? [] : ['status']),
  ...missingFields(wish.fields, node),
];

/** Names of what a node holds otherwise than it is wanted, beyond what it is known to make of it. */
export const unexpectedFields = (
  wish: Pick<NodeWish, 'title' | 'published' | 'fields'>,
  entry: Pick<LedgerEntry, 'notHeld'>,
  node: PortalNode,
): string[] => differences(wish, node).filter((field) => !isKnownDifference(entry, node, field));

/** The fields of a wish with ids of terms; a node that we wrote with these very names gives those that were not known. */
export const resolveAt = async (portal: Portal, wish: NodeWish, node: PortalNode): Promise<ResolvedTerms> => {
  const resolved = await portal.terms.resolve(wish.fields);
  if (resolved.fresh.length === 0 || node.log !== markerOf(wish)) return resolved;
  await portal.terms.learn(resolved.fresh, node);
  return portal.terms.resolve(wish.fields);
};

/** Node ids that the list of a dataset holds, in order. */
export const linkedNids = (node: NodeFields): string[] =>
  (itemsOfField(node.field_resources) ?? []).flatMap(({ target_id }) =>
    target_id === undefined ? [] : [String(target_id)],
  );

/** True when a list holds all of ours, in our order; what others linked may stand anywhere. */
export const holdsLinks = (held: readonly string[], ours: readonly string[]): boolean => {
  const own = new Set(ours);
  return held.filter((nid, index) => own.has(nid) && held.indexOf(nid) === index).join() === ours.join();
};

/** The field that makes a list hold ours in our order, before what others linked. */
export const linksField = (held: readonly string[], ours: readonly string[]): NodeFields => {
  const own = new Set(ours);
  const all = [...ours, ...held.filter((nid) => !own.has(nid))];
  return { field_resources: { und: all.map((nid) => ({ target_id: nid })) } };
};
