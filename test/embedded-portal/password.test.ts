import { execFileSync } from 'node:child_process';
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

it('a hash costs what it names', () => {
  const module = new URL('../../src/embedded-portal/password.ts', import.meta.url).href;
  // In a process of its own: here, scrypt is made quick for all tests.
  const code = `
    import { scryptSync } from 'node:crypto';
    import { checkPassword, hashPassword } from '${module}';
    const hash = await hashPassword('secret');
    const [, N, r, p, salt, key] = hash.split(':');
    const cost = { N: Number(N), r: Number(r), p: Number(p), maxmem: 2 ** 27 };
    const expected = scryptSync('secret', Buffer.from(salt, 'base64url'), 32, cost).toString('base64url');
    console.log(JSON.stringify({ hash, isExpected: key === expected, fits: await checkPassword('secret', hash) }));
  `;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual({
    hash: expect.stringMatching(/^scrypt:32768:8:3:/),
    isExpected: true,
    fits: true,
  });
});
