import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
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

  it('lets no address take all connections, and no crowd all descriptors', async () => {
    await place.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = place.app.server.address() as AddressInfo;
    let ended = 0;
    const open = (localAddress: string): Socket[] =>
      Array.from({ length: 140 }, () =>
        connect({ port, host: '127.0.0.1', localAddress })
          .on('error', () => undefined)
          .on('close', () => {
            ended += 1;
          })
          .resume(),
      );
    const sockets = open('127.0.0.2');
    await waitUntil('the end of those beyond 128', () => ended === 12);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    sockets.push(...open('127.0.0.3'));
    await waitUntil('the end of those beyond 256', () => ended >= 24);
    for (const socket of sockets) socket.destroy();
  });

  it('says nothing of itself where there is nothing', async () => {
    const reply = await place.get('/nowhere');
    expect(reply.statusCode).toBe(404);
    expect(reply.body).not.toContain('nowhere');
  });
});
