// Fills an empty store with a known state: users, vocabulary terms, next ids. For rehearsals and recordings.
import { z } from 'zod';
import { PortalStoreError } from '../model/errors.ts';
import type { Store } from './store/open.ts';
import { readAccounts, saveUsers, userSchemaOf } from './users-file.ts';

const positive = z.int().positive();

const seedSchema = z.strictObject({
  next: z.strictObject({ nid: positive, vid: positive, fid: positive }).partial().optional(),
  users: z.array(userSchemaOf()).min(1),
  terms: z.array(z.strictObject({ vocabulary: z.string().min(1), tid: positive, name: z.string().min(1) })).optional(),
});

/** The state that a seed file describes. */
export type Seed = z.infer<typeof seedSchema>;

/** Reads a seed file (YAML; plain passwords in a file of any mode). Throws UsersFileError naming every problem. */
export const readSeed = (path: string): Seed =>
  readAccounts(path, seedSchema, {
    what: 'seed file',
    hint: 'the file looks like: next: { nid: 1 }, users: [{ uid: 1, name: admin, password: …, roles: [] }], terms: [{ vocabulary: tags, tid: 1, name: … }]',
  });

const tables = { nid: 'node', vid: 'revision', fid: 'file' } as const;

/** Fills the store. Throws PortalStoreError when it is not empty. */
export const applySeed = async (store: Store, seed: Seed, now: number): Promise<void> => {
  if (!store.isNew) {
    throw new PortalStoreError(`the portal store ${store.dir} is not empty, so it cannot be seeded`, {
      hint: 'seed a new data folder, or start without --seed',
    });
  }
  await saveUsers(store, seed.users, { now });
  // Whoever installed such a site had logged in before.
  await store.write(() => store.users.loggedIn(1, { access: now, login: now }));
  const setSequence = store.db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)');
  await store.write(() => {
    for (const term of seed.terms ?? []) store.terms.add(term);
    for (const [id, table] of Object.entries(tables)) {
      const next = seed.next?.[id as keyof typeof tables]; // the keys of `tables`
      if (next !== undefined) setSequence.run(table, next - 1);
    }
  });
};
