import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it } from 'vitest';
import { addressLimit, Flood, userLimit } from '../../../src/server/store/flood.ts';
import { migrate } from '../../../src/server/store/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';

let flood: Flood;

beforeEach(() => {
  const db = new DatabaseSync(join(tempDir(), 'portal.db'));
  migrate(db);
  flood = new Flood(db);
});

it('a user is blocked from an address after five failures, for six hours', () => {
  for (let count = 0; count < 5; count += 1) {
    expect(flood.isUserBlocked(3, '::1', 1000)).toBe(false);
    flood.fail(3, '::1', 1000);
  }
  expect(flood.isUserBlocked(3, '::1', 1000)).toBe(true);
  expect(flood.isUserBlocked(3, '::2', 1000)).toBe(false);
  expect(flood.isUserBlocked(4, '::1', 1000)).toBe(false);
  expect(flood.isUserBlocked(3, '::1', 999 + userLimit.window)).toBe(true);
  expect(flood.isUserBlocked(3, '::1', 1000 + userLimit.window)).toBe(false);
});

it('an address is blocked after fifty failures of whomever, for an hour', () => {
  for (let count = 0; count < 50; count += 1) {
    expect(flood.isAddressBlocked('::1', 1000)).toBe(false);
    flood.fail(count % 2 === 0 ? null : count, '::1', 1000);
  }
  expect(flood.isAddressBlocked('::1', 1000)).toBe(true);
  expect(flood.isAddressBlocked('::2', 1000)).toBe(false);
  expect(flood.isAddressBlocked('::1', 1000 + addressLimit.window)).toBe(false);
});

it('a success forgets the failures of that user from that address', () => {
  for (let count = 0; count < 5; count += 1) flood.fail(3, '::1', 1000);
  flood.clear(3, '::1');
  expect(flood.isUserBlocked(3, '::1', 1000)).toBe(false);
});
