import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import type { ProfileName } from '../../src/embedded-portal/portal.ts';
import { profiles } from '../../src/embedded-portal/profiles/profiles.ts';
import { fc } from '../support/extent.ts';
import { startTestPortal } from '../support/portal.ts';
import { survive } from '../support/survival.ts';
import { tempDir } from '../support/temp-dir.ts';

const profileNames = Object.keys(profiles) as ProfileName[]; // the table is keyed by them

/** What an error is answered with that nobody foresaw; deployed releases have other 500s, which are recorded. */
const ourFault = 'Internal Server Error : An error occurred.';

/** `SURVIVE_REQUESTS=10000` for the long version. */
const malformed = Number(process.env.SURVIVE_REQUESTS ?? 2000);

// The long version: npm run survive -- --kills 200
it.each(profileNames)(
  'kill -9 amid mixed writes loses nothing acknowledged and leaves no orphan: %s',
  async (profile) => {
    const { acknowledged, faults } = await survive(tempDir(), { kills: 3, profile });
    expect(faults).toEqual([]);
    expect(acknowledged).toBeGreaterThan(40);
  },
);

it.each(profileNames)(
  `serves on amid ${malformed} random malformed requests, without a fault of our own: %s`,
  async (profile) => {
    const portal = await startTestPortal({ profile });
    const { hostname, port } = new URL(portal.url);
    const creator = await portal.as('creator');
    const line = fc.constantFrom(
      'GET /api/dataset/node',
      'POST /api/dataset/node',
      'PUT /api/dataset/node/1',
      'DELETE /api/dataset/node/x',
      'POST /api/dataset/node/1/attach_file',
      'POST /api/dataset/user/login',
      'GET /api/dataset/datastore/1',
      'GET /api/action/datastore/search.json',
      'GET /sites/default/files/x',
      'BREW /',
      'GET',
      '',
      'OPTIONS *',
      '\u0000\u0016\u0003\u0001',
    );
    const type = fc.constantFrom(
      'application/json',
      'application/xml',
      'application/x-yaml',
      'application/vnd.php.serialized',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=b',
      'multipart/form-data',
      'text/plain',
      ';',
      '',
    );
    const junk = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.json(),
      fc.constantFrom(
        '--b\r\n',
        '--b\r\ncontent-disposition: form-data; name="files[1]"; filename="a.csv"\r\n\r\na\n--b--',
        '<a',
        '{"type":',
        'a:1:{',
        '- [',
        'a[b',
      ),
    );
    const requests = fc.sample(
      fc.tuple(line, junk, type, fc.constantFrom('1.1', '1.0', '9.9', ''), junk, fc.integer({ min: -1, max: 100 })),
      { numRuns: malformed, seed: 7 },
    );
    const statuses = new Map<string, number>();
    const faults: string[] = [];
    const shoot = ([start, query, contentType, version, body, length]: (typeof requests)[number]): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), hostname);
        let text = '';
        socket.on('data', (chunk) => {
          text += chunk.toString('latin1');
        });
        socket.on('error', () => undefined);
        socket.on('close', () => {
          const [, status = 'none', reason = ''] = /^HTTP\/1\.1 (\d+) ?([^\r]*)/.exec(text) ?? [];
          const isRecorded = profile !== 'spec' && status === '500' && reason !== ourFault;
          if (status.startsWith('5') && !isRecorded) faults.push(`${status} ${reason}`);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          resolve();
        });
        const bytes = Buffer.from(body);
        const size = length < 0 ? bytes.length : length;
        socket.end(
          Buffer.concat([
            Buffer.from(
              `${start}?${encodeURI(query.toWellFormed())} HTTP/${version}\r\nhost: x\r\nconnection: close\r\ncookie: ${creator.cookie}\r\nx-csrf-token: ${creator.token}\r\ncontent-type: ${contentType}\r\ncontent-length: ${size}\r\n\r\n`,
            ),
            bytes,
          ]),
        );
      });
    const next = requests.values();
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        for (const one of next) await shoot(one);
      }),
    );
    expect(faults).toEqual([]);
    expect(
      [...statuses].reduce((sum, [status, count]) => sum + (status.startsWith('4') ? count : 0), 0),
    ).toBeGreaterThan(malformed / 10);
    await creator.create({ type: 'dataset', title: 'Alive' });
  },
);

it('answers 1,000 connections that are open at once', async () => {
  const portal = await startTestPortal();
  const agent = new Agent({ keepAlive: true, maxSockets: 1000, maxFreeSockets: 1000 });
  const get = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request(`${portal.url}/api/dataset/node`, { agent }, (reply) => {
        reply.resume().on('end', () => resolve(reply.statusCode));
      })
        .on('error', reject)
        .end();
    });
  for (const _round of [1, 2]) {
    const replies = await Promise.all(Array.from({ length: 1000 }, get));
    expect(new Set(replies)).toEqual(new Set([200]));
  }
  expect(Object.values(agent.freeSockets).flat()).toHaveLength(1000);
  agent.destroy();
});
