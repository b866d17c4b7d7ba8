// Resources with a `url`: fetched, published, and asked for with one conditional request from then on.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Report, ReportItem } from '../../src/report.ts';
import { fileAnswer, type SourceServer, startSources } from '../support/source-server.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import { makePlace, type Place } from './support/place.ts';
import type { Reader } from './support/reader.ts';
import { type PortalProcess, remoteConfig, startPortalProcess, writePassword } from './support/server.ts';

const portal: PortalProcess = await startPortalProcess();
const reader: Reader = await portal.reader();
const gateway: Gateway = await openGateway(portal.url);
const server: SourceServer = await startSources();

const sources = { allow: ['127.0.0.1'], connect: '2s', headers: '2s', body: '2s', requestsPerSecond: 0 };
const makeRemotePlace = (config: Record<string, unknown> = {}): Place => {
  const place = makePlace({ ...remoteConfig(gateway.url), sources, ...config });
  writePassword(place.dir);
  return place;
};

const manifestOf = (place: Place, name: string, resources: Record<string, unknown>[]): string =>
  place.manifest({ name, datasets: [{ id: 'd', title: `${name} data`, resources }] });

const itemOf = (report: Report, key: string): ReportItem => {
  const found = report.items.find((each) => each.key.endsWith(`/${key}`));
  if (!found) throw new Error(`no item ${key}`);
  return found;
};

const leftBehind = (place: Place): string[] => {
  const dir = join(place.stateDir, 'fetched', 'local');
  return existsSync(dir) ? readdirSync(dir) : [];
};

beforeEach(() => {
  server.asked.length = 0;
});

describe('resources with a url', () => {
  it('are fetched and imported once; from then on each costs one conditional request and no write', async () => {
    const place = makeRemotePlace();
    server.on('/a.csv', fileAnswer('id,name\n1,one\n2,two\n', { etag: '"a1"' }));
    server.on('/export', (_request, response) =>
      response
        .writeHead(200, { etag: '"e1"', 'content-disposition': 'attachment; filename="export.csv"' })
        .end('id\n1\n2\n3\n'),
    );
    server.on('/notes', fileAnswer('hello', { etag: '"n1"', type: 'text/plain' }));
    const manifest = manifestOf(place, 'web', [
      { id: 'a', title: 'A', url: `${server.url}/a.csv` },
      { id: 'export', title: 'Export', url: `${server.url}/export?format=csv` },
      { id: 'notes', title: 'Notes', url: `${server.url}/notes`, name: 'read me.txt' },
    ]);
    const first = await place.publish(manifest);
    expect(first.code, first.err).toBe(0);
    expect(itemOf(first.report, 'a')).toMatchObject({ live: true, rows: 2, file: { name: 'a.csv', bytes: 20 } });
    expect(itemOf(first.report, 'export')).toMatchObject({ live: true, rows: 3 });
    const file = await reader.file(itemOf(first.report, 'export').nid ?? '');
    expect(file).toMatchObject({ name: 'export.csv', content: 'id\n1\n2\n3\n' });
    expect(await reader.count(itemOf(first.report, 'export').uuid)).toBe(3);
    expect(leftBehind(place)).toEqual([]);
    expect(server.asked).toHaveLength(3);

    server.asked.length = 0;
    gateway.requests.length = 0;
    const second = await place.publish(manifest);
    expect(second.code, second.err).toBe(0);
    expect(second.report.counts.actions).toEqual({});
    expect(server.asked.map(({ headers }) => headers['if-none-match']).sort()).toEqual(['"a1"', '"e1"', '"n1"']);
    expect(gateway.requests.filter(({ method }) => method !== 'GET')).toEqual([]);

    const planned = await place.run(['plan', manifest]);
    expect(planned.out).toContain('4 none');
    server.on('/a.csv', fileAnswer('id,name\n1,one\n', { etag: '"a2"' }));
    const changed = await place.run(['plan', manifest]);
    expect(changed.out).toContain(`attach+import          web/d/a  (${server.url}/a.csv gives another version)`);
    const third = await place.publish(manifest);
    expect(third.report.counts.actions).toEqual({ attached: 1, imported: 1 });
    expect(await reader.count(itemOf(third.report, 'a').uuid)).toBe(1);
  });
});
