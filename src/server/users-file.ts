// The users file of a portal: accounts that are added or updated at every start (architecture, "Config and paths").
import { readFileSync, statSync } from 'node:fs';
import { load } from 'js-yaml';
import { z } from 'zod';
import { UsersFileError } from '../errors.ts';
import { hashPassword, isPasswordHash } from './password.ts';
import { assignableRoles } from './roles.ts';
import type { Store } from './store/open.ts';
import type { UserInput } from './store/users.ts';

/** One account as files write it; `roles` must be among the given names. */
export const userSchemaOf = (roleNames: string[] = assignableRoles()) =>
  z.strictObject({
    name: z.string().min(1).max(60),
    password: z.string().min(1),
    roles: z.array(z.enum(roleNames as [string, ...string[]])).default([]),
    mail: z.string().max(254).optional(),
    uid: z.int().positive().optional(),
    status: z.union([z.literal(0), z.literal(1)]).optional(),
  });

const fileSchemaOf = (roleNames: string[] | undefined) =>
  z.strictObject({ users: z.array(userSchemaOf(roleNames)).min(1) });

/** An account to add or update. `password` is plain or a `scrypt:…` hash; `roles` are names of the role table. */
export interface UserSpec {
  name: string;
  password: string;
  roles: string[];
  mail?: string | undefined;
  /** Number of a new account; the next free one when absent. */
  uid?: number | undefined;
  /** 1 active (default), 0 blocked. */
  status?: 0 | 1 | undefined;
}

const hint =
  'the file looks like: users: [{ name: ann, password: …, roles: [content creator], mail: ann@example.org }]';

/** Passwords are secrets: a file with plain ones may be read by its owner only. */
const checkMode = (path: string, users: UserSpec[]): void => {
  if (process.platform === 'win32' || users.every(({ password }) => isPasswordHash(password))) return;
  const mode = statSync(path).mode & 0o077;
  if (mode !== 0) {
    throw new UsersFileError(`the users file ${path} holds plain passwords and can be read by others`, {
      hint: `run: chmod 600 ${path}`,
    });
  }
};

/** Reads a users file (YAML); roles must be among `roleNames`, the default ones when absent. Throws {@link UsersFileError} naming every problem, or when others can read plain passwords. */
export const readUsersFile = (path: string, roleNames?: string[]): UserSpec[] => {
  let value: unknown;
  try {
    value = load(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new UsersFileError(`the users file ${path} cannot be read: ${(cause as Error).message}`, { hint, cause });
  }
  const result = fileSchemaOf(roleNames).safeParse(value);
  if (!result.success) {
    const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new UsersFileError(`the users file ${path} is wrong: ${problems.join('; ')}`, { hint });
  }
  const { users } = result.data;
  const names = users.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsersFileError(`the users file ${path} names ${twice} twice`, { hint });
  checkMode(path, users);
  return users;
};

/** Adds accounts, or updates those of the same name; never removes any. */
export const saveUsers = async (store: Store, users: UserSpec[], now: number): Promise<void> => {
  const inputs: UserInput[] = [];
  for (const { name, password, roles, mail, uid, status } of users) {
    const pass = isPasswordHash(password) ? password : await hashPassword(password);
    inputs.push({
      uid: uid ?? null,
      name,
      pass,
      mail: mail ?? `${name.replace(/[^\w.-]/g, '.')}@example.org`,
      status: status ?? 1,
      roles,
      created: now,
    });
  }
  await store.write(() => {
    for (const input of inputs) store.users.save(input);
  });
};
