// The node that a wish asks for, and in what a node of the portal differs from it.
import { missingFields } from '../dkan/compare.ts';
import type { PortalNode } from '../portal/client.ts';
import type { NodeFields } from '../wish.ts';

/** The node that a wish asks for. */
export interface NodeWish {
  key: string;
  type: 'dataset' | 'resource';
  /** See {@link datasetWishSchema}. */
  identifier?: string;
  uuid: string;
  title: string;
  published: boolean;
  fields: NodeFields;
  /** Fingerprint the ledger shall hold once the node is as wished. */
  fingerprint: string;
}

/** Marker in a revision's log message by which we know our own writes again. */
export const markerOf = (wish: Pick<NodeWish, 'key' | 'fingerprint'>): string =>
  `sluice ${wish.key} ${wish.fingerprint.slice(0, 12)}`;

/** Names of title, status and fields in which a node differs from its wish. */
export const differences = (wish: NodeWish, node: PortalNode): string[] => [
  ...(node.title === wish.title ? [] : ['title']),
  ...(node.status === (wish.published ? '1' : '0') ? [] : ['status']),
  ...missingFields(wish.fields, node),
];
