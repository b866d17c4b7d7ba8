// Access to nodes and files by user (recorded behaviour 14).
import type { Permission } from '../dataset-api/values.ts';
import { accessDenied } from './refusal.ts';
import type { StoredFile } from './store/files.ts';
import type { StoredNode } from './store/nodes.ts';
import type { Store } from './store/open.ts';
import type { User } from './store/users.ts';

/** True when a role of the user has the permission; user 1 may everything. */
export const may = (user: User, permission: Permission): boolean => user.uid === 1 || user.permissions.has(permission);

type Owned = Pick<StoredNode, 'uid' | 'status'>;

const owns = (user: User, node: Owned): boolean => user.uid !== 0 && node.uid === user.uid;

/** True when the user may read the node: published, his own, or he administers nodes. */
export const mayRead = (user: User, node: Owned): boolean =>
  node.status === 1 || owns(user, node) || may(user, 'administer nodes');

/** True when the user may update, delete or attach to the node. */
export const mayEdit = (user: User, node: StoredNode): boolean =>
  may(user, 'edit any content') || (owns(user, node) && may(user, 'edit own content'));

/** True when the user may read one of the nodes that use the file. */
export const mayReadFile = (store: Store, user: User, { fid }: StoredFile): boolean =>
  store.files.nodesOf(fid).some((nid) => {
    const node = store.nodes.byNid(nid);
    return node !== null && mayRead(user, node);
  });

/** True when the user may put the file on the node (null: a new one): it is there already, he uploaded it, or may read it. */
export const mayUseFile = (store: Store, user: User, { file, node }: { file: StoredFile; node: StoredNode | null }) =>
  (node !== null && store.files.nodesOf(file.fid).includes(node.nid)) ||
  (user.uid !== 0 && file.uid === user.uid) ||
  mayReadFile(store, user, file);

export const demand = (user: User, allowed: boolean): void => {
  if (!allowed) throw accessDenied(user.name);
};
