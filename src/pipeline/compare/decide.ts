// What is done about a node that is on the portal, and why. Pure.
import { countItems, missingFields } from '../../dataset-api/compare.ts';
import type { LedgerEntry, SentNode } from '../../model/ledger-entry.ts';
import type { OnDrift } from '../../model/policy.ts';
import type { NodeFields } from '../../model/wish.ts';
import type { NodeChanges, PortalNode } from '../../portal-client/client.ts';
import {
  changedBaseline,
  differences,
  driftedFields,
  editOf,
  isKnownDifference,
  type NodeWish,
  unexpectedFields,
  unlikeProven,
} from './node.ts';

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

/** Decides whether a node is updated. */
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
