// A portal that asks for pauses by Retry-After: publish waits no longer than it was told to, and everybody sees why.
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import type { Place } from './support/place.ts';
import { makeRemotePlace } from './support/remote-place.ts';

let seconds = 0;
let url = '';
const server = createServer((_request, reply) => {
  reply.writeHead(503, { 'retry-after': String(seconds) }).end('maintenance');
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const manifestOf = (place: Place): string => {
  const resources = [{ id: 't', title: 'T', file: place.write('t.csv', 'id\n1\n') }];
  return place.manifest({ name: 'asked', datasets: [{ id: 'd', title: 'D', resources }] });
};

describe('a 503 with a Retry-After', () => {
  it('that is longer than --wait ends publish with 3, and status tells until when everything waits, and why', async () => {
    seconds = 50;
    const place = makeRemotePlace(url, { retry: { backoff: '100ms', maxBackoff: '60s' } });
    const manifest = manifestOf(place);
    const { code, err } = await place.run(['publish', manifest, '--wait', '2s', '--json']);
    expect(code).toBe(3);
    expect(err).toMatch(/[\w-]+@local: nothing is tried again before 20\S+Z: portal local: .* answered 503/);
    expect(err).toContain('the run stays queued');
    const status = await place.run(['status']);
    expect(status.out).toMatch(/the rest of the run waits until 20\S+Z: portal local: .* answered 503/);
  });

  it('that is shorter, and comes again and again, ends publish once all pauses together are longer', async () => {
    seconds = 2;
    const place = makeRemotePlace(url, { retry: { attempts: 50, backoff: '100ms', maxBackoff: '60s' } });
    const { code, err } = await place.run(['publish', manifestOf(place), '--wait', '3s', '--json']);
    expect(code).toBe(3);
    expect(err).toMatch(/[\w-]+@local: nothing is tried again before 20/);
  });

  it('that is shorter is shown by the progress line', async () => {
    seconds = 50;
    const place = makeRemotePlace(url, { retry: { backoff: '100ms', maxBackoff: '60s' } });
    const publish = place.start(['publish', manifestOf(place), '--wait', '60s']);
    await waitUntil('the line', () => /waits until 20\S+Z: portal local: .* answered 503/.test(publish.err()));
    await publish.end('SIGINT');
  });

  it('that is huge pauses the portal, which status shows', async () => {
    seconds = 999_999;
    const place = makeRemotePlace(url);
    const { code, err } = await place.run(['publish', manifestOf(place), '--wait', '1s', '--json']);
    expect(code).toBe(3);
    expect(err).toContain('portal local requested a pause of 86400 s: POST ');
    await waitUntil('the pause in status', async () =>
      (await place.run(['status'])).out.includes('the portal has been paused since'),
    );
  });
});
