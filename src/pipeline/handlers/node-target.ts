// Where and how a node is written.
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { OnDrift } from '../../model/policy.ts';
import type { Portal, PortalNode } from '../../portal-client/client.ts';
import type { Ledger } from '../../state/ledger.ts';
import type { Item } from './item.ts';

/** Where a node is written, in the name of which item, and by which rules. */
export interface NodeTarget {
  item: Item;
  ledger: Ledger;
  portal: Portal;
  /** What to do with a node that somebody edited on the portal. */
  onDrift: OnDrift;
  /** Somebody decided that what is not found is created. */
  createMissing: boolean;
  /** True for a resource whose dataset was created in this run: no other node can be it. */
  isNewDataset?: boolean;
}

/** A node that was looked at, and written where needed. */
export interface WrittenNode {
  entry: LedgerEntry;
  /** As it was read after the last write; null where it was not read since. */
  node: PortalNode | null;
}
