// What the body of a node says about it, and what its readers may look at.
import type { StoredFile } from '../store/files.ts';
import type { FieldItems, NodeType, StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { User } from '../store/users.ts';
import type { Field } from './fields.ts';
import type { RenderedTexts } from './long-texts.ts';

/** What a body says about the fields of a node; what it does not mention is not there. */
export interface FieldChanges {
  /** Items by field; an empty list clears the field. References and files are kept beside the node. */
  items: FieldItems;
  /** Fields that stay empty although created nodes have a default for them. */
  undefaulted?: string[];
}

/** Core properties of a node as a body sets them; all that it may have. Times are Unix seconds. */
export type CoreChanges = Partial<
  Pick<
    StoredNode,
    'title' | 'uid' | 'status' | 'language' | 'created' | 'log' | 'promote' | 'sticky' | 'comment' | 'uuid'
  >
> & {
  /** False: written over the current revision. */
  newRevision?: boolean;
};

export interface NodeChanges {
  core: CoreChanges;
  changes: FieldChanges;
  /** What is answered although the node is saved; null: success. */
  late?: Error | null;
}

/** What a reader of bodies may look at. It runs inside the write, so what it adds (terms) is undone when it throws. */
export interface ReadContext {
  store: Store;
  user: User;
  type: NodeType;
  /** The node as it is, null on create. */
  node: StoredNode | null;
  fields: readonly Field[];
  /** HTML of the long texts in the body. */
  rendered: RenderedTexts;
  /** Value of `field_datastore_status` as a read shows it. */
  shownStatus: string;
  /** Unix seconds. */
  now: number;
  /** The nodes and files that the caller may name; all of them where absent. */
  mayRefer?: (node: StoredNode) => boolean;
  mayUse?: (file: StoredFile) => boolean;
}

export type NodeReader = (body: Record<string, unknown>, context: ReadContext) => NodeChanges;
