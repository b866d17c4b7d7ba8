// Guessing the secrets of the service, by whatever way in.
import { describe, expect, it } from 'vitest';
import { networkOf } from '../../src/util/connections.ts';
import { Guesses } from '../../src/web/part.ts';
import { openWebPlace } from './support/web-place.ts';

const ways = {
  '/login': (secret: string) => ({
    method: 'POST' as const,
    url: '/login',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: `username=operator&password=${secret}`,
  }),
  '/runs': (secret: string) => ({
    method: 'POST' as const,
    url: '/runs',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
    payload: '{"manifest":"none"}',
  }),
  '/metrics': (secret: string) => ({
    method: 'GET' as const,
    url: '/metrics',
    headers: { authorization: `Bearer ${secret}` },
  }),
};

it('guesses by one way in close them all to that network, also for the right secret, and to nobody else', async () => {
  const config = { web: { port: 0, password: { file: 'password' }, token: { file: 'token' } } };
  const web = await openWebPlace(config, { password: 'secret', token: 'secret' });
  try {
    for (const [index, guess] of Object.values(ways).entries()) {
      const remoteAddress = `2001:db8:0:${index + 1}::1`;
      const codes = [];
      for (let at = 0; at < 7; at++) codes.push((await web.send({ ...guess(`wrong${at}`), remoteAddress })).statusCode);
      expect(codes.slice(0, 5)).not.toContain(429);
      expect(codes.slice(5)).toEqual([429, 429]);
      for (const right of Object.values(ways)) {
        const sameNetwork = `2001:db8:0:${index + 1}:5:6:7:8`;
        expect((await web.send({ ...right('secret'), remoteAddress: sameNetwork })).statusCode).toBe(429);
        expect((await web.send({ ...right('secret'), remoteAddress: '2001:db8::1' })).statusCode).toBeLessThan(405);
      }
    }
  } finally {
    await web.close();
  }
});

it('guesses through a trusted proxy count by the address that it forwards, not that a client claims', async () => {
  const config = { web: { port: 0, password: { file: 'password' }, trustedProxies: ['127.0.0.1'] } };
  const web = await openWebPlace(config, { password: 'secret' });
  const logIn = async (secret: string, forwarded: string): Promise<number> => {
    const request = ways['/login'](secret);
    return (await web.send({ ...request, headers: { ...request.headers, 'x-forwarded-for': forwarded } })).statusCode;
  };
  try {
    for (let at = 0; at < 6; at++) await logIn('wrong', `198.51.100.${at}, 203.0.113.7`);
    expect(await logIn('secret', '203.0.113.7')).toBe(429);
    expect(await logIn('secret', '203.0.113.8')).toBe(303);
  } finally {
    await web.close();
  }
});

describe('a count of guesses', () => {
  it('is not reset by the right token in between, and forgotten 15 minutes after the last wait', () => {
    const guesses = new Guesses();
    const minute = 60_000;
    for (let guess = 0; guess < 4; guess++) expect(guesses.try(false, '10.0.0.1', 0)).toBe('wrong');
    expect(guesses.try(true, '10.0.0.1', 1)).toBe('right');
    expect(guesses.try(false, '10.0.0.1', 2)).toBe('wrong');
    expect(guesses.try(true, '10.0.0.1', 3)).toBe(9_999);
    expect(guesses.try(false, '10.0.0.1', 14 * minute)).toBe('wrong');
    expect(guesses.try(true, '10.0.0.1', 14 * minute + 1)).toBe(19_999);
    expect(guesses.try(false, '10.0.0.1', 40 * minute)).toBe('wrong');
    expect(guesses.try(true, '10.0.0.1', 40 * minute + 1)).toBe('right');
  });
});

it.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:DB8::2:3', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s is counted as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
