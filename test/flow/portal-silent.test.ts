// A portal that takes requests and does not answer them: `--wait` and signals end every command all the same.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { cases, sampled } from '../support/extent.ts';
import { waitUntil } from '../support/wait-until.ts';
import { isWrite, openGateway } from './support/gateway.ts';
import type { Place } from './support/place.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortal } from './support/server.ts';

const trickle = (send: () => void, socket: Socket | null): void => {
  const timer = setInterval(send, 500);
  socket?.once('close', () => clearInterval(timer));
};

/** How it keeps its clients waiting. */
const ways: Record<string, (reply: ServerResponse) => void> = {
  'never answers': () => undefined,
  'sends a byte of the head now and then': ({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\nx-long: ');
    trickle(() => socket?.write('x'), socket);
  },
  'sends a byte of the body now and then': (reply) => {
    reply.writeHead(200, { 'content-type': 'application/json' });
    trickle(() => reply.write(' '), reply.socket);
  },
};

const openServers: Server[] = [];
let taken = 0;
const openPortal = async (way: (reply: ServerResponse) => void): Promise<string> => {
  const server = createServer((_request, reply) => {
    taken += 1;
    way(reply);
  });
  openServers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
afterAll(() => {
  for (const server of openServers) {
    server.closeAllConnections();
    server.close();
  }
});

const manifestOf = (place: Place): string => {
  const resources = [{ id: 't', title: 'T', file: place.write('t.csv', 'id\n1\n') }];
  return place.manifest({ name: 'silent', datasets: [{ id: 'd', title: 'D', resources }] });
};

const itsSilence = /portal local has not answered for \d+ s/;

describe('a portal that', () => {
  it.each(sampled(Object.entries(ways), 2))('%s ends publish once --wait is over', async (_, way) => {
    const place = makeRemotePlace(await openPortal(way));
    const { code, err } = await place.run(['publish', manifestOf(place), '--wait', '2s', '--json']);
    expect(code).toBe(3);
    expect(err).toMatch(itsSilence);
    expect(err).toContain('the run stays queued');
  });

  it('never answers ends publish beside the service that works the run', async () => {
    const place = makeRemotePlace(await openPortal(() => undefined));
    await place.serve();
    const { code, err } = await place.run(['publish', manifestOf(place), '--wait', '2s', '--json']);
    expect(code).toBe(3);
    expect(err).toMatch(itsSilence);
  });

  it.each(cases(['SIGTERM', 'SIGINT'] as const, ['SIGTERM'] as const))(
    'never answers keeps neither service nor commands from %s',
    async (signal) => {
      const place = makeRemotePlace(await openPortal(() => undefined));
      const manifest = manifestOf(place);
      const before = taken;
      const service = await place.spawnService([manifest]);
      const publish = place.spawn(['publish', manifest, '--wait', '1h']);
      await waitUntil('a request', () => taken > before);
      expect(await publish.end(signal)).toBe(130);
      expect(await service.end(signal)).toBe(0);
      const commands = [
        ['publish', manifest],
        ['adopt', manifest],
        ['rebuild', manifest],
        ['check', '--portal', 'local'],
        ['export', 'local', '--output', 'out'],
      ];
      for (const words of sampled(commands, 4)) {
        const asked = taken;
        const command = place.spawn(words);
        await waitUntil(`a request of ${words[0]}`, () => taken > asked || command.hasEnded());
        expect([words[0], await command.end(signal)]).toEqual([words[0], 130]);
      }
    },
  );
});

describe('a write that is never answered', () => {
  it('ends publish once --wait is over, and is not sent again while nobody knows what became of it', async () => {
    const portal = await startPortal();
    const gateway = await openGateway(portal.url);
    const place = makeRemotePlace(gateway.url);
    const manifest = manifestOf(place);
    const never = Promise.withResolvers<void>();
    gateway.after = (passed) => (isWrite(passed) ? never.promise : undefined);
    const { code, err } = await place.run(['publish', manifest, '--wait', '2s', '--json']);
    expect(code).toBe(3);
    expect(err).toMatch(itsSilence);
    never.resolve();
    gateway.after = () => undefined;
    expect((await place.publish(manifest)).code).toBe(0);
    const reader = await portal.reader();
    expect((await reader.list()).map(({ title }) => title).sort()).toEqual(['D', 'T']);
  });
});
