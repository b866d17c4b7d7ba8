// Roles and their permissions (recorded behaviour 14).
import type { Permission } from '../dataset-api/values.ts';

export type RoleTable = Readonly<Record<string, { rid: number; permissions: readonly Permission[] }>>;

const writer = ['create content', 'edit own content', 'manage datastore'] as const;
const editor = [...writer, 'edit any content', 'access site in maintenance mode'] as const;
const manager = [...editor, 'create other content', 'administer nodes', 'administer users'] as const;

/** The default roles by name (recorded behaviour 14); the first two are everybody without a session, and with one. */
export const defaultRoles: RoleTable = {
  'anonymous user': { rid: 1, permissions: [] },
  'authenticated user': { rid: 2, permissions: [] },
  administrator: { rid: 3, permissions: [...manager, 'unlimited lists'] },
  'site manager': { rid: 4, permissions: manager },
  editor: { rid: 5, permissions: editor },
  'content creator': { rid: 6, permissions: writer },
};

/** The default roles with other permissions for those that `changes` names, and new roles for names that are none. */
export const roleTableOf = (changes: Readonly<Record<string, readonly Permission[]>> = {}): RoleTable => {
  const table = { ...defaultRoles };
  let next = Math.max(...Object.values(defaultRoles).map(({ rid }) => rid)) + 1;
  for (const [name, granted] of Object.entries(changes)) {
    table[name] = { rid: table[name]?.rid ?? next++, permissions: granted };
  }
  return table;
};

export const assignableRoles = (table: RoleTable = defaultRoles): string[] =>
  Object.keys(table).filter((name) => !/^(anonymous|authenticated) user$/.test(name));

/** What the roles of an account grant: the stored ones, and the one that everybody has with or without a session. */
export const grantsOf = (table: RoleTable, { uid, roles }: { uid: number; roles: readonly string[] }) => {
  const names = [uid === 0 ? 'anonymous user' : 'authenticated user', ...roles];
  return {
    permissions: new Set(names.flatMap((name) => table[name]?.permissions ?? [])),
    roleMap: Object.fromEntries(names.map((name) => [String(table[name]?.rid ?? name), name])),
  };
};
