// The cookies that deployed portals send to those who have no session.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestPortal, type TestPortal } from '../../support/portal.ts';

const profiles = ['dkan-7.18', 'dkan-7.14'] as const;

describe.each(profiles)('cookies of %s', (profile) => {
  let portal: TestPortal;
  let name: string;

  beforeAll(async () => {
    portal = await startTestPortal({ profile });
    name = (await portal.as('creator')).cookie.split('=')[0] ?? '';
  });

  const cookieFor = async (method: string, path: string, value: string): Promise<string> => {
    const headers = value === '' ? {} : { cookie: `${name}=${value}` };
    const reply = await portal.anonymous.send(method, path, { headers });
    return String(reply.headers['set-cookie'] ?? '');
  };

  it.each([
    ['GET', '/api/dataset/node'],
    ['GET', '/api/dataset/node/99999'],
    ['GET', '/api/dataset/nothing'],
    ['GET', '/api/dataset/node.foo'],
    ['GET', '/api/dataset'],
    ['POST', '/services/session/token'],
    ['GET', '/nowhere'],
  ])('%s %s takes a dead session cookie back', async (method, path) => {
    for (const value of ['B'.repeat(43), 'bogus']) {
      expect(await cookieFor(method, path, value)).toBe(
        `${name}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/; HttpOnly`,
      );
    }
    expect(await cookieFor(method, path, '')).toBe('');
  });

  it('a page number that is none starts a session for nobody', async () => {
    expect(await cookieFor('GET', '/api/dataset/node?page=abc', '')).toMatch(/=[\w-]{43}; expires=/);
  });

  it('an odd query of somebody with a session starts none', async () => {
    const reply = await (await portal.as('creator')).send('GET', '/api/dataset/node?page=abc');
    expect(reply.headers['set-cookie']).toBeUndefined();
  });
});

it('spec leaves dead cookies alone', async () => {
  const portal = await startTestPortal();
  const name = (await portal.as('creator')).cookie.split('=')[0] ?? '';
  const headers = { cookie: `${name}=${'B'.repeat(43)}` };
  const reply = await portal.anonymous.send('GET', '/api/dataset/node?page=0', { headers });
  expect([reply.status, reply.headers['set-cookie']]).toEqual([200, undefined]);
});
