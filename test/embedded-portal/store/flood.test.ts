import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it } from 'vitest';
import { type Attempt, addressLimit, Flood, userLimit } from '../../../src/embedded-portal/store/flood.ts';
import { migrate } from '../../../src/embedded-portal/store/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';

let flood: Flood;

beforeEach(() => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  migrate(db);
  flood = new Flood(db);
});

const attempt = (changes: Partial<Attempt> = {}): Attempt => ({
  user: 3,
  address: '::1',
  countsByAddress: true,
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
  expect(flood.blocked(attempt({ user: 99, countsByAddress: false }))).toBeNull();
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
