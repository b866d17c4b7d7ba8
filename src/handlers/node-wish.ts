// The node that a wish asks for, and in what a node of the portal differs from it.
import { missingFields } from '../dkan/compare.ts';
import { isTakenByForm } from '../dkan/form-fields.ts';
import type { Dialect, PortalNode } from '../portal/client.ts';
import type { NodeFields } from '../wish.ts';

/** The node that a wish asks for. */
export interface NodeWish {
  key: string;
  type: 'dataset' | 'resource';
  /** See {@link datasetWishSchema}. */
  identifier?: string;
  optional?: string[];
  uuid: string;
  title: string;
  published: boolean;
  fields: NodeFields;
  /** Fingerprint the ledger shall hold once the node is as wished. */
  fingerprint: string;
}

/** The wish without those of its optional fields that the portal does not take, and their names. */
export const asTaken = (wish: NodeWish, dialect: Dialect): { wish: NodeWish; leftOut: string[] } => {
  if (dialect === 'entity') return { wish, leftOut: [] };
  const leftOut = (wish.optional ?? []).filter(
    (name) => name in wish.fields && !isTakenByForm(name, wish.fields[name]),
  );
  const fields = Object.fromEntries(Object.entries(wish.fields).filter(([name]) => !leftOut.includes(name)));
  return { wish: { ...wish, fields }, leftOut };
};

/** Marker in a revision's log message by which we know our own writes again. */
export const markerOf = (wish: Pick<NodeWish, 'key' | 'fingerprint'>): string =>
  `sluice ${wish.key} ${wish.fingerprint.slice(0, 12)}`;

/** Names of title, status and fields in which a node differs from its wish. */
export const differences = (wish: NodeWish, node: PortalNode): string[] => [
  ...(node.title === wish.title ? [] : ['title']),
  ...(node.status === (wish.published ? '1' : '0') ? [] : ['status']),
  ...missingFields(wish.fields, node),
];
