import { expect, it } from 'vitest';
import { checkPassword, hashPassword, isPasswordHash } from '../../src/embedded-portal/password.ts';

it('a hash is salted, names its cost and does not hold the password', async () => {
  const [first, second] = await Promise.all([hashPassword('secret'), hashPassword('secret')]);
  expect(first).toMatch(/^scrypt:32768:8:3:/);
  expect(first).not.toBe(second);
  expect(first).not.toContain('secret');
  expect(isPasswordHash(first)).toBe(true);
});

it('only the right password fits', async () => {
  const hash = await hashPassword('sécret');
  expect(await checkPassword('sécret', hash)).toBe(true);
  expect(await checkPassword('Sécret', hash)).toBe(false);
  expect(await checkPassword('', hash)).toBe(false);
});

it('nothing fits what is no hash', async () => {
  expect(await checkPassword('', '')).toBe(false);
  expect(await checkPassword('plain', 'plain')).toBe(false);
});
