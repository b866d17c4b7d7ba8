import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it } from 'vitest';
import { makeTables } from '../../../src/embedded-portal/store/schema.ts';
import {
  type Attempt,
  addressLimit,
  idleSeconds,
  openFlood,
  openSessions,
  userLimit,
} from '../../../src/embedded-portal/store/users.ts';
import { tempDir } from '../../support/temp-dir.ts';

let db: DatabaseSync;
let sessions: ReturnType<typeof openSessions>;
let flood: ReturnType<typeof openFlood>;

beforeEach(() => {
  db = new DatabaseSync(join(tempDir(), 'portal.db'));
  makeTables(db);
  sessions = openSessions(db);
  flood = openFlood(db);
});

it('ids and tokens are 256 random bits, different every time', () => {
  const first = sessions.start(3, 1000);
  const second = sessions.start(3, 1000);
  for (const text of [first.id, first.token, second.id, second.token]) expect(text).toMatch(/^[\w-]{43}$/);
  expect(new Set([first.id, first.token, second.id, second.token]).size).toBe(4);
});

it('a session is found by its id only, and its token is the same after a restart', () => {
  const { id, token } = sessions.start(3, 1000);
  expect(sessions.find(id, 1001)).toMatchObject({ uid: 3, token });
  expect(openSessions(db).find(id, 1001)).toMatchObject({ uid: 3, token });
  expect(sessions.find(`${id.slice(0, -1)}_`, 1001)).toBeNull();
});

it('the store holds neither the id nor the token', () => {
  const { id, token } = sessions.start(3, 1000);
  const rows = db.prepare('SELECT * FROM session').all();
  const text = JSON.stringify(
    rows.map((row) =>
      Object.values(row).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('base64url') : value,
      ),
    ),
  );
  expect(rows).toHaveLength(1);
  expect(text).not.toContain(id);
  expect(text).not.toContain(token);
});

it('a session ends when nobody uses it for long, and not while it is used', () => {
  const { id } = sessions.start(3, 1000);
  const session = sessions.find(id, 1000 + idleSeconds);
  if (session === null) throw new Error('the session ended too early');
  expect(sessions.isDue(session, 1000 + idleSeconds)).toBe(true);
  sessions.touch(session, 1000 + idleSeconds);
  expect(sessions.find(id, 1000 + 2 * idleSeconds)).not.toBeNull();
  expect(sessions.find(id, 1001 + 2 * idleSeconds)).toBeNull();
});

it('a session that was ended is gone at once', () => {
  const { id } = sessions.start(3, 1000);
  const session = sessions.find(id, 1000);
  if (session === null) throw new Error('no session');
  sessions.end(session);
  expect(sessions.find(id, 1000)).toBeNull();
});

it('expired sessions leave the table when somebody logs in', () => {
  sessions.start(3, 1000);
  sessions.start(3, 1001 + idleSeconds);
  expect(db.prepare('SELECT count(*) AS n FROM session').get()).toEqual({ n: 1 });
});

const attempt = (changes: Partial<Attempt> = {}): Attempt => ({
  user: 3,
  address: '::1',
  now: 1000,
  ...changes,
});

it('a user is blocked from an address after five failures, for six hours', () => {
  for (let count = 0; count < 5; count += 1) {
    expect(flood.blocked(attempt())).toBeNull();
    flood.reserve(attempt());
  }
  expect(flood.blocked(attempt())).toBe('user');
  expect(flood.blocked(attempt({ address: '::2' }))).toBeNull();
  expect(flood.blocked(attempt({ user: 4 }))).toBeNull();
  expect(flood.blocked(attempt({ now: 999 + userLimit.window }))).toBe('user');
  expect(flood.blocked(attempt({ now: 1000 + userLimit.window }))).toBeNull();
});

it('an address is blocked after fifty failures of whomever, for an hour', () => {
  for (let count = 0; count < 50; count += 1) {
    expect(flood.blocked(attempt({ user: null }))).toBeNull();
    flood.reserve(attempt({ user: count % 2 === 0 ? null : count }));
  }
  expect(flood.blocked(attempt({ user: 99 }))).toBe('address');
  expect(flood.blocked(attempt({ user: 99, address: '::2' }))).toBeNull();
  expect(flood.blocked(attempt({ user: 99, now: 1000 + addressLimit.window }))).toBeNull();
});

it('a success gives its attempt back and forgets the failures of that user from that address', () => {
  for (let count = 0; count < 4; count += 1) flood.reserve(attempt());
  const last = flood.reserve(attempt());
  expect(flood.blocked(attempt())).toBe('user');
  flood.giveBack(last, attempt());
  expect(flood.blocked(attempt())).toBeNull();
  for (let count = 0; count < 46; count += 1) flood.reserve(attempt({ user: null }));
  // Four failures and 46: the attempt that was right does not count for the address either.
  expect(flood.blocked(attempt())).toBe('address');
  flood.giveBack(flood.reserve(attempt()), attempt());
  expect(flood.blocked(attempt({ now: 1001 }))).toBe('address');
});
