import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWebPlace, type WebPlace } from './support/web-place.ts';

let place: WebPlace;
beforeAll(async () => {
  place = await openWebPlace();
});
afterAll(() => place.close());

describe('the HTTP server of the service', () => {
  it('answers its health check', async () => {
    const reply = await place.get('/healthz');
    expect(reply.statusCode).toBe(200);
    expect(reply.json()).toEqual({ status: 'ok', redis: 'ok' });
  });

  it.each(['127.0.0.1:4283', 'localhost', 'LOCALHOST:80', '[::1]:4283', 'sluice.localhost:1'])(
    'on loopback answers requests for %s',
    async (host) => {
      expect((await place.get('/healthz', { host })).statusCode).toBe(200);
    },
  );

  it.each(['attacker.example', '127.0.0.1.attacker.example', 'localhost.attacker.example:4283', '10.0.0.1'])(
    'on loopback refuses requests for "%s"',
    async (host) => {
      expect((await place.get('/healthz', { host })).statusCode).toBe(421);
    },
  );

  it('says nothing of itself where there is nothing', async () => {
    const reply = await place.get('/nowhere');
    expect(reply.statusCode).toBe(404);
    expect(reply.body).not.toContain('nowhere');
  });
});
