// The users file of a portal, read at every start, and the seed that fills an empty store.
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { load } from 'js-yaml';
import { z } from 'zod';
import { PortalStoreError, UsersFileError, unreadable } from '../model/errors.ts';
import { checkPassword, hashPassword, isPasswordHash, isWeakHash } from './password.ts';
import { assignableRoles } from './roles.ts';
import type { Store } from './store/open.ts';
import { statementsOf } from './store/statements.ts';
import { defaultTerms } from './store/terms.ts';
import type { UserInput } from './store/users.ts';

const userSchemaOf = (roleNames: string[] = assignableRoles()) =>
  z.strictObject({
    name: z.string().min(1).max(60),
    /** Plain, or a `scrypt:…` hash. */
    password: z.string().min(1),
    roles: z.array(z.enum(roleNames as [string, ...string[]])).default([]),
    mail: z.string().max(254).optional(),
    /** Number of a new account; the next free one when absent. */
    uid: z.int().positive().optional(),
    /** 1 active (default), 0 blocked. */
    status: z.union([z.literal(0), z.literal(1)]).optional(),
  });

export type UserSpec = z.output<ReturnType<typeof userSchemaOf>>;

const hint =
  'the file looks like: users: [{ name: ann, password: …, roles: [content creator], mail: ann@example.org }]';

/** Reads a YAML file of accounts; `what` names it in a UsersFileError, which lists every problem. */
const readAccounts = <T>(path: string, schema: z.ZodType<T>, { what, hint }: { what: string; hint: string }): T => {
  let value: unknown;
  try {
    value = load(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new UsersFileError(`the ${what} ${path} cannot be read: ${unreadable(cause).why}`, { hint, cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new UsersFileError(`the ${what} ${path} is wrong: ${problems.join('; ')}`, { hint });
};

/** Reads a users file (YAML). Throws {@link UsersFileError} naming every problem, or where others can read plain passwords. */
export const readUsersFile = (path: string, roleNames?: string[]): UserSpec[] => {
  const schema = z.strictObject({ users: z.array(userSchemaOf(roleNames)).min(1) });
  const { users } = readAccounts(path, schema, { what: 'users file', hint });
  const names = users.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsersFileError(`the users file ${path} names ${twice} twice`, { hint });
  const isSecret = process.platform !== 'win32' && !users.every(({ password }) => isPasswordHash(password));
  if (isSecret && (statSync(path).mode & 0o077) !== 0) {
    throw new UsersFileError(`the users file ${path} holds plain passwords and can be read by others`, {
      hint: `run: chmod 600 ${path}`,
    });
  }
  return users;
};

/** What is stored of an account, and whether its sessions end: it has another password, status or role. */
const inputOf = async (store: Store, spec: UserSpec, { now, fromFile }: { now: number; fromFile: boolean }) => {
  const { name, password, roles, uid = null, status = 1 } = spec;
  const { mail = `${name.replace(/[^\w.-]/g, '.')}@example.org` } = spec;
  const known = store.users.byName(name);
  const given = isPasswordHash(password) ? password : null;
  const isKnown =
    known !== null &&
    (given === null ? await checkPassword(password, known.pass) : (known.given ?? known.pass) === given);
  // The hash of before stays for the same password, so that one which was renewed is kept.
  const isKept = isKnown && (given !== null || !isWeakHash(known.pass));
  const pass = isKept ? known.pass : (given ?? (await hashPassword(password)));
  const input: UserInput = { uid, name, pass, given, fromFile, mail, status, roles, created: now };
  const isSame = isKnown && known.status === status && known.roles.toSorted().join() === roles.toSorted().join();
  return { input, endsSessions: !isSame };
};

/** Adds accounts, or updates those of the same name; who gets another password, status or role is logged out. Never removes any. */
const saveUsers = async (store: Store, users: UserSpec[], now: number, fromFile = false): Promise<void> => {
  const inputs = await Array.fromAsync(users, (spec) => inputOf(store, spec, { now, fromFile }));
  await store.write(() => {
    for (const { input, endsSessions } of inputs) {
      const uid = store.users.save(input);
      if (endsSessions) store.sessions.endAll(uid);
    }
  });
};

const positive = z.int().positive();

const seedSchema = z.strictObject({
  next: z.strictObject({ nid: positive, vid: positive, fid: positive }).partial().optional(),
  users: z.array(userSchemaOf()).min(1),
  terms: z.array(z.strictObject({ vocabulary: z.string().min(1), tid: positive, name: z.string().min(1) })).optional(),
});

type Seed = z.infer<typeof seedSchema>;

/** Reads a seed file (YAML; plain passwords in a file of any mode). Throws UsersFileError naming every problem. */
export const readSeed = (path: string): Seed =>
  readAccounts(path, seedSchema, {
    what: 'seed file',
    hint: 'the file looks like: next: { nid: 1 }, users: [{ uid: 1, name: admin, password: …, roles: [] }], terms: [{ vocabulary: tags, tid: 1, name: … }]',
  });

/** Fills the store. Throws PortalStoreError when it is not empty. */
const applySeed = async (store: Store, seed: Seed, now: number): Promise<void> => {
  if (!store.isNew) {
    throw new PortalStoreError(`the portal store ${store.dir} is not empty, so it cannot be seeded`, {
      hint: 'seed a new data folder, or start without --seed',
    });
  }
  await saveUsers(store, seed.users, now);
  const { insert } = statementsOf(store.db);
  const { nid, vid, fid } = seed.next ?? {};
  await store.write(() => {
    store.users.loggedIn(1, { access: now, login: now }); // whoever installed such a site had logged in before
    for (const term of seed.terms ?? []) store.terms.add(term);
    for (const [name, next] of Object.entries({ node: nid, revision: vid, file: fid })) {
      if (next !== undefined) insert('sqlite_sequence', { name, seq: next - 1 });
    }
  });
};

/** Fills a new store: terms, and user 1 `admin`; returns the password that was made for it, null where one was given. */
const install = async (store: Store, given: UserSpec[], now: number): Promise<string | null> => {
  const known = given.find(({ name }) => name.toLowerCase() === 'admin');
  const password = known?.password ?? randomBytes(15).toString('base64url');
  await store.write(() => {
    for (const term of defaultTerms) store.terms.add({ tid: null, ...term });
  });
  await saveUsers(store, [{ name: 'admin', password, roles: ['administrator'], uid: 1 }], now);
  return known === undefined ? password : null;
};

/**
 * Fills the store where it is new, by the seed if there is one, and saves the accounts of the users file and more; those that
 * stood in the file before and do not any more are blocked and logged out. Returns the password of `admin` if one was made.
 */
export const setUpAccounts = async (
  store: Store,
  { seed, file, more }: { seed: Seed | null; file: UserSpec[] | null; more: UserSpec[] },
  now: number,
): Promise<string | null> => {
  if (seed !== null) await applySeed(store, seed, now);
  const made = store.isNew && seed === null ? await install(store, [...(file ?? []), ...more], now) : null;
  if (file !== null) {
    await saveUsers(store, file, now, true);
    await store.write(() => {
      for (const uid of store.users.blockOthers(file.map(({ name }) => name))) store.sessions.endAll(uid);
    });
  }
  await saveUsers(store, more, now);
  return made;
};
