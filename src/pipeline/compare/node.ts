// The node of a wish, the marks of our own nodes, how a node on the portal differs from its wish, who edited it, and what is done about that.
import { randomBytes } from 'node:crypto';
import { baselineOf, countItems, missingFields, shownField } from '../../dataset-api/compare.ts';
import { itemsOfField } from '../../dataset-api/fields.ts';
import { DriftError } from '../../model/errors.ts';
import type { LedgerEntry, Pending, SentNode } from '../../model/ledger-entry.ts';
import type { OnDrift } from '../../model/policy.ts';
import type { DatasetWish, NodeFields } from '../../model/wish.ts';
import type { Dialect, NodeChanges, Portal, PortalNode } from '../../portal-client/client.ts';

export interface NodeWish extends Omit<DatasetWish, 'expectMs' | 'metadataFingerprint' | 'resources'> {
  type: 'dataset' | 'resource';
  /** What the ledger shall hold once the node is verified. */
  fingerprint: string;
}

/** The node of a wish; `fields` where they are not those of the wish as it stands. */
export const nodeOf = (
  type: NodeWish['type'],
  wish: Omit<NodeWish, 'type' | 'fingerprint'> & { metadataFingerprint: string },
  fields: NodeFields = wish.fields,
): NodeWish => ({ ...wish, type, fields, fingerprint: wish.metadataFingerprint });

/** Begins the log messages of our revisions of a node. */
const markOf = (key: string): string => `sluice ${key} `;

/** Log message of a revision that a write makes; its nonce tells it from other writes of the same wish. */
export const logOf = ({ key, fingerprint }: Pick<NodeWish, 'key' | 'fingerprint'>, nonce: string): string =>
  `${markOf(key)}${fingerprint.slice(0, 12)} ${nonce}`;

export const newNonce = (): string => randomBytes(4).toString('hex');

/** True for a node whose last revision we wrote for this key. */
export const bearsMark = (node: Pick<PortalNode, 'log'>, key: string): boolean => node.log.startsWith(markOf(key));

/** True for a node whose last revision we wrote for exactly this wish. */
export const bearsWish = (node: Pick<PortalNode, 'log'>, wish: Pick<NodeWish, 'key' | 'fingerprint'>): boolean =>
  node.log.startsWith(logOf(wish, ''));

/** True for a node whose last revision is of exactly this write. */
export const bearsNonce = (node: Pick<PortalNode, 'log'>, key: string, { nonce }: Pick<Pending, 'nonce'>): boolean =>
  bearsMark(node, key) && node.log.endsWith(` ${nonce}`);

/** True for the node of a ledger entry, by type and uuid, or by our mark on portals that make their own uuids. */
export const isOurs = (node: PortalNode, wish: NodeWish, uuid: string, dialect: Dialect): boolean =>
  node.type === wish.type && (sameUuid(node.uuid, uuid) || (dialect === 'form' && bearsMark(node, wish.key)));

export const sameUuid = (a: string, b: string): boolean => a !== '' && a.toLowerCase() === b.toLowerCase();

/** True where a field differs from what was sent exactly as it is known to on this node. */
export const isKnownDifference = ({ notHeld }: LedgerEntry, node: PortalNode, field: string): boolean => {
  const [known, shown] = [notHeld[field], shownField(node, field)];
  return known !== undefined && (known === shown || known.startsWith(`${shown}; `));
};

/** Names of title, status and fields in which a node differs from its wish. */
export const differences = (wish: Pick<NodeWish, 'title' | 'published' | 'fields'>, node: PortalNode): string[] => [
  ...(node.title === wish.title ? [] : ['title']),
  ...(node.status === (wish.published ? '1' : '0') ? [] : ['status']),
  ...missingFields(wish.fields, node),
];

/** Names of differences between a node and its wish that are not known yet. */
export const unexpectedFields = (wish: NodeWish, entry: LedgerEntry, node: PortalNode): string[] =>
  differences(wish, node).filter((field) => !isKnownDifference(entry, node, field));

/** What an entry records of its node as it was read. */
export const asRead = (node: PortalNode, { uuid }: { uuid: string }) => ({
  uuid: node.uuid || uuid,
  vid: node.vid,
  changed: node.changed || null,
  url: node.path,
});

/** The fields of a wish with ids of terms; unknown ones are learned from the node where we wrote these names, else by look-up. */
export const resolveAt = async (portal: Portal, wish: NodeWish, node: PortalNode, signal: AbortSignal) => {
  const { fresh } = await portal.terms.resolve(wish.fields);
  if (bearsWish(node, wish)) await portal.terms.learn(fresh, node);
  return portal.terms.find(wish.fields, signal, { node });
};

/** Ids of the nodes that a field refers to, in order. */
export const nidsIn = (value: unknown): string[] =>
  (itemsOfField(value) ?? []).flatMap(({ target_id }) => (target_id === undefined ? [] : [String(target_id)]));

/** True for a list of so many resources that portals add the groups of the dataset to them by cron only. */
export const areGroupsLate = (links: readonly string[]): boolean => links.length > 20;

export const hasGroups = (node: NodeFields, { fields }: Pick<NodeWish, 'fields'>): boolean => {
  const held = new Set(nidsIn(node.og_group_ref));
  return nidsIn(fields.og_group_ref).every((group) => held.has(group));
};

/** Node ids that the list of a dataset holds, in order. */
export const linkedNids = (node: NodeFields): string[] => nidsIn(node.field_resources);

/** True when a list holds all of ours, in our order; nodes that others linked may be anywhere. */
export const holdsLinks = (held: readonly string[], ours: readonly string[]): boolean => {
  const own = new Set(ours);
  return [...new Set(held)].filter((nid) => own.has(nid)).join() === ours.join();
};

/** The field that makes a list hold ours in our order, before what others linked. */
export const linksField = (held: readonly string[], ours: readonly string[]): NodeFields => {
  const own = new Set(ours);
  const all = [...ours, ...held.filter((nid) => !own.has(nid))];
  return { field_resources: { und: all.map((nid) => ({ target_id: nid })) } };
};

/** Names of our fields that others changed on the portal: in another revision, which does not hold what we sent last. */
export const driftedFields = (entry: LedgerEntry, sent: SentNode | null, node: PortalNode): string[] => {
  if (!sent || entry.vid === null || node.vid === entry.vid) return [];
  // A write of ours whose end we did not live to see, or that Redis forgot: its marker is in the revision's log. The
  // marker of the state we do know proves nothing, because portals carry a log on to edits that bring none.
  const known = { key: entry.key, fingerprint: entry.metadataFingerprint ?? '' };
  if (bearsMark(node, entry.key) && !bearsWish(node, known)) return [];
  return unlikeProven(entry, sent, node);
};

/** Names of the fields of ours in which a node is not as it was sent and proven last. */
export const unlikeProven = (entry: LedgerEntry, sent: SentNode, node: PortalNode): string[] => [
  ...new Set([...differences(sent, node), ...changedBaseline(entry, sent.fields, node)]),
];

/** Names of the fields whose terms, or number of items, are not those of when the node was last proven; empty if never. */
export const changedBaseline = (entry: LedgerEntry, fields: NodeFields, node: PortalNode): string[] => {
  if (entry.baseline === null) return [];
  const [before, now] = [entry.baseline, baselineOf(fields, node)];
  return Object.keys(fields).filter((field) => before[field] !== now[field] && !isByTid(fields[field]));
};

/** True for terms whose ids are all known: these are compared as they are. */
const isByTid = (value: unknown): boolean => {
  const items = itemsOfField(value) ?? [];
  return items.length > 0 && items.every(({ tid }) => /^\d+$/.test(String(tid)));
};

export const driftHeld = (portal: Portal, node: PortalNode, fields: string[]): DriftError =>
  new DriftError(
    `${portal.name}: node ${node.nid} ("${node.title}") was edited on the portal ${editOf(node)} (revision ${node.vid}): ${fields.join(', ')}`,
    { hint: 'copy the edit into the source, or publish once with `--on-drift overwrite` (or `keep`), or set onDrift' },
  );

/** Who made the revision of a node, and when: `by user 7 at 2026-11-21T03:15:00.000Z`. */
export const editOf = (node: PortalNode): string => {
  const by = typeof node.revision_uid === 'string' ? `by user ${node.revision_uid}` : 'by an unknown user';
  return /^\d+$/.test(node.changed) ? `${by} at ${new Date(Number(node.changed) * 1000).toISOString()}` : by;
};

/** What a wish is compared with, its terms as ids. */
export interface NodeFacts {
  entry: LedgerEntry;
  node: PortalNode;
  /** What was sent last; null where that is not known. */
  sent: SentNode | null;
  onDrift: OnDrift;
  /** True where the portal tells no ids of some terms, and no log of ours says that the node has them. */
  lacksTerms: boolean;
  /** Fields that are sent although the wish does not name them; null for none. */
  also: NodeFields | null;
}

/** What is done; `kept` are fields that stay as they were edited on the portal. */
export type UpdateDecision =
  | { do: 'nothing'; why: string }
  | { do: 'hold'; why: string; fields: string[] }
  | { do: 'keep'; why: string; kept: string[] }
  | { do: 'send'; why: string; kept: string[]; emptied: string[]; sendsMetadata: boolean };

export const decideUpdate = (wish: NodeWish, facts: NodeFacts): UpdateDecision => {
  const { entry, node, onDrift, also } = facts;
  const isWanted = (name: string): boolean =>
    name in wish.fields && (countItems(wish.fields[name]) !== 0 || isEmpty(node[name]));
  const dropped = entry.fieldNames.filter((name) => !isWanted(name));
  const unlike = [
    ...unexpectedFields(wish, entry, node),
    ...dropped.filter((name) => !isEmpty(node[name])),
    ...(entry.metadataFingerprint === wish.fingerprint ? changedBaseline(entry, wish.fields, node) : []),
  ];
  const sendsMetadata = unlike.length > 0 || facts.lacksTerms;
  if (!sendsMetadata && also === null) return { do: 'nothing', why: `node ${node.nid} already has the metadata` };
  const edited = editedFields(wish, facts);
  const edit = `node ${node.nid} was edited on the portal ${editOf(node)} (${edited.join(', ')})`;
  if (edited.length > 0 && onDrift === 'hold') return { do: 'hold', why: edit, fields: edited };
  const kept = onDrift === 'keep' ? edited : [];
  const emptied = dropped.filter((name) => !kept.includes(name));
  const differsAsKept = emptied.length === 0 && differences(wish, node).every((field) => kept.includes(field));
  if (also === null && kept.length > 0 && differsAsKept) return { do: 'keep', why: `${edit}: left as they are`, kept };
  const fields = [...new Set([...unlike, ...Object.keys(also ?? {})])];
  const why =
    edited.length === 0
      ? `node ${node.nid} differs in ${fields.join(', ') || 'its terms'}`
      : `${edit}: ${onDrift === 'keep' ? 'left as they are' : 'overwriting them'}`;
  return { do: 'send', why, kept, emptied, sendsMetadata };
};

/** Names of the fields that others edited on the portal, and that the wish does not agree with. */
export const editedFields = (wish: NodeWish, { entry, sent, node, onDrift }: NodeFacts): string[] => {
  // A removed node differs by our own write.
  if (sent === null || entry.removed !== null || entry.vid === null) return [];
  // What is kept stays so in later runs, until the edit is taken back or the wish agrees with it.
  const edited = onDrift === 'keep' ? unlikeProven(entry, sent, node) : driftedFields(entry, sent, node);
  const [unlikeWish, unlike] = [differences(wish, node), differences(sent, node)];
  const isOpposed = (field: string): boolean => {
    const isEmptied = field !== 'title' && field !== 'status' && !(field in wish.fields);
    if (unlikeWish.includes(field) || isEmptied) return true;
    if (unlike.includes(field)) return false;
    // Terms cannot be compared by name: a wish that was changed since, to as many, is taken to say the same.
    const [now, before] = [wish.fields[field], sent.fields[field]];
    return JSON.stringify(now) === JSON.stringify(before) || countItems(now) !== countItems(node[field]);
  };
  return edited.filter((field) => isOpposed(field) && !isKnownDifference(entry, node, field));
};

/** Fields that an update sends; `fields` are those of the wish, with terms as the portal takes them. */
export const changesOf = (
  wish: NodeWish,
  { entry, node, also }: Pick<NodeFacts, 'entry' | 'node' | 'also'>,
  { kept, emptied, sendsMetadata }: Extract<UpdateDecision, { do: 'send' }>,
  fields: NodeFields,
): Omit<NodeChanges, 'log'> => {
  const all: NodeFields = {
    ...Object.fromEntries(emptied.map((name) => [name, []])),
    ...(entry.removed === 'orphan' ? { field_orphan: { und: [{ value: '0' }] } } : {}),
    ...(sendsMetadata ? withoutSameTerms(fields, node) : {}),
    ...also,
  };
  return {
    ...(sendsMetadata && !kept.includes('title') ? { title: wish.title } : {}),
    ...(sendsMetadata && !kept.includes('status') ? { status: wish.published ? 1 : 0 } : {}),
    fields: Object.fromEntries(Object.entries(all).filter(([name]) => !kept.includes(name))),
  };
};

/** What counts as sent after a write that left some fields as they were edited: of those, what was sent before. */
export const sentOf = (wish: NodeWish, kept: readonly string[] = [], before: SentNode | null = null): SentNode => {
  const { title, published, fields } = wish;
  if (!before || kept.length === 0) return { title, published, fields };
  const former = Object.entries(before.fields).filter(([name]) => kept.includes(name));
  return {
    title: kept.includes('title') ? before.title : title,
    published: kept.includes('status') ? before.published : published,
    fields: { ...fields, ...Object.fromEntries(former) },
    kept: [...kept],
  };
};

const isEmpty = (value: unknown): boolean => value === undefined || (countItems(value) ?? 0) === 0;

/** Terms are sent only when they differ: the portal stores each reference anew. */
const withoutSameTerms = (fields: NodeFields, node: PortalNode): NodeFields =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => !JSON.stringify(value).includes('"tid"') || missingFields({ [name]: value }, node).length > 0,
    ),
  );
