// Who may do what: roles, permissions, and the rules about nodes (recorded behaviour 14).
import { accessDenied } from './refusal.ts';
import type { StoredNode } from './store/nodes.ts';
import type { User } from './store/users.ts';

/** What a role can be given. */
export type Permission =
  | 'create content'
  | 'edit own content'
  | 'edit any content'
  | 'manage datastore'
  | 'create other content'
  | 'administer nodes'
  | 'unlimited lists'
  | 'administer users';

/** A role: its number and what it may do. */
export interface Role {
  rid: number;
  permissions: readonly Permission[];
}

const writer = ['create content', 'edit own content', 'manage datastore'] as const;
const editor = [...writer, 'edit any content'] as const;

/** The default roles by name (recorded behaviour 14). "authenticated user" is every logged-in user. */
export const roles: Readonly<Record<string, Role>> = {
  'anonymous user': { rid: 1, permissions: [] },
  'authenticated user': { rid: 2, permissions: [] },
  administrator: {
    rid: 3,
    permissions: [...editor, 'create other content', 'administer nodes', 'unlimited lists', 'administer users'],
  },
  'site manager': { rid: 4, permissions: [...editor, 'create other content', 'administer nodes', 'administer users'] },
  editor: { rid: 5, permissions: editor },
  'content creator': { rid: 6, permissions: writer },
};

/** The roles that an account can be given. */
export const assignableRoles = Object.keys(roles).filter((name) => !/^(anonymous|authenticated) user$/.test(name));

/** True when a role of the user has the permission; user 1 may everything. */
export const may = (user: User, permission: Permission): boolean =>
  user.uid === 1 || user.roles.some((name) => roles[name]?.permissions.includes(permission) === true);

const owns = (user: User, node: StoredNode): boolean => user.uid !== 0 && node.uid === user.uid;

/** True when the user may read the node: published, his own, or he administers nodes. */
export const mayRead = (user: User, node: StoredNode): boolean =>
  node.status === 1 || owns(user, node) || may(user, 'administer nodes');

/** True when the user may update, delete or attach to the node. */
export const mayEdit = (user: User, node: StoredNode): boolean =>
  may(user, 'edit any content') || (owns(user, node) && may(user, 'edit own content'));

/** Throws 403 unless `allowed`. */
export const demand = (user: User, allowed: boolean): void => {
  if (!allowed) throw accessDenied(user.name);
};

/** The `roles` of a user object: role number to name (spec 2.4). */
export const roleMap = (user: User): Record<string, string> => {
  if (user.uid === 0) return { '1': 'anonymous user' };
  const map: Record<string, string> = { '2': 'authenticated user' };
  for (const name of user.roles) map[String(roles[name]?.rid ?? name)] = name;
  return map;
};
