// Resources with a `url`: fetched, published, and asked for with one conditional request from then on.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Report, ReportItem } from '../../src/model/report.ts';
import { cases, isWhole } from '../support/extent.ts';
import { reportIn } from '../support/printed.ts';
import { type Answering, fileAnswer, type SourceServer, startSources } from '../support/source-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openGatedPortal } from './support/gated-portal.ts';
import { isWrite } from './support/gateway.ts';
import { killsIn } from './support/kills-in.ts';
import type { Place } from './support/place.ts';
import { makeRedisPlace } from './support/redis-place.ts';
import { makeRemotePlace } from './support/remote-place.ts';

const { reader, gateway } = await openGatedPortal();
const server: SourceServer = await startSources();

const sources = { allow: ['127.0.0.1'], connect: '2s', headers: '2s', body: '2s', requestsPerSecond: 0 };
const quickJobs = { jobs: { lock: '1500ms', stalledCheck: '500ms' }, retry: { backoff: '100ms', maxBackoff: '500ms' } };
const openPlace = (config: Record<string, unknown> = {}): Place => makeRemotePlace(gateway.url, { sources, ...config });

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
    const place = openPlace();
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
    expect(gateway.requests.filter(isWrite)).toEqual([]);

    const planned = await place.run(['plan', manifest]);
    expect(planned.out).toContain('4 unchanged');
    server.on('/a.csv', fileAnswer('id,name\n1,one\n', { etag: '"a2"' }));
    const changed = await place.run(['plan', manifest]);
    expect(changed.out).toContain(`attach+import          web/d/a  (${server.url}/a.csv gives another version)`);
    const third = await place.publish(manifest);
    expect(third.report.counts.actions).toEqual({ attached: 1, imported: 1 });
    expect(await reader.count(itemOf(third.report, 'a').uuid)).toBe(1);
  });

  it('whose server tells no versions are fetched and compared each time, and sent only when they differ', async () => {
    const place = openPlace();
    server.on('/plain.csv', fileAnswer('id\n1\n', {}));
    const manifest = manifestOf(place, 'plain', [{ id: 'a', title: 'A', url: `${server.url}/plain.csv` }]);
    expect((await place.publish(manifest)).code).toBe(0);
    const planned = await place.run(['plan', manifest]);
    expect(planned.out).toContain(
      'fetch                  plain/d/a  (its server offers no versions: fetched and compared)',
    );
    gateway.requests.length = 0;
    const second = await place.publish(manifest);
    expect(second.report.counts.actions).toEqual({});
    expect(itemOf(second.report, 'a')).toMatchObject({ outcome: 'unchanged', live: true, rows: 1 });
    expect(gateway.requests.filter(isWrite)).toEqual([]);
    server.on('/plain.csv', fileAnswer('id\n1\n2\n', {}));
    expect((await place.publish(manifest)).report.counts.actions).toEqual({ attached: 1, imported: 1 });
  });

  it('that are gone, forbidden or pages fail with the reason, and what is published stays', async () => {
    const place = openPlace();
    server.on('/stays.csv', fileAnswer('id\n1\n', { etag: '"s1"' }));
    const private_ = 'http://127.0.0.2:9/secret.csv';
    server.on('/trap.csv', (_request, response) => response.writeHead(302, { location: private_ }).end());
    server.on('/login.csv', fileAnswer('<html><title>Sign in</title></html>', { type: 'text/html' }));
    const resources = [
      { id: 'stays', title: 'Stays', url: `${server.url}/stays.csv` },
      { id: 'trap', title: 'Trap', url: `${server.url}/trap.csv` },
      { id: 'login', title: 'Login', url: `${server.url}/login.csv` },
      { id: 'none', title: 'None', url: `${server.url}/none.csv` },
    ];
    const manifest = manifestOf(place, 'refused', resources);
    const first = await place.publish(manifest);
    expect(first.code).toBe(3);
    expect(itemOf(first.report, 'stays').live).toBe(true);
    expect(itemOf(first.report, 'trap')).toMatchObject({ outcome: 'quarantined', nid: null });
    expect(itemOf(first.report, 'trap').reason?.message).toBe(
      `${private_} (redirected from ${server.url}/trap.csv): 127.0.0.2 is a loopback address: it is not fetched`,
    );
    expect(itemOf(first.report, 'login').reason?.message).toContain('is a web page titled "Sign in"');
    expect(itemOf(first.report, 'none').reason).toMatchObject({ code: 'source-missing' });
    const rows = await reader.list();
    expect(rows.filter(({ title }) => ['Trap', 'Login', 'None'].includes(title))).toEqual([]);

    server.on('/stays.csv', (_request, response) => response.writeHead(404).end());
    const second = await place.publish(manifest);
    const stale = itemOf(second.report, 'stays');
    expect(stale).toMatchObject({ outcome: 'failed', live: false, stale: true, reason: { code: 'source-missing' } });
    expect(await reader.count(stale.uuid)).toBe(1);
    const status = await place.run(['status', `${server.url}/stays.csv`]);
    expect(status.out).toContain('not live: the portal still serves an older version');
    expect(status.out).toContain(`${server.url}/stays.csv answered 404 (not found)`);

    server.on('/stays.csv', fileAnswer('id\n1\n', { etag: '"s1"' }));
    const retried = await place.run(['retry', 'refused/d/stays', '--json']);
    expect(retried.code, retried.err).toBe(0);
    expect(await reader.count(stale.uuid)).toBe(1);
  });

  it('are tried again while their server fails for a while', async () => {
    const place = openPlace();
    const table = `id\n${'1\n'.repeat(500)}`;
    let tries = 0;
    const whole = fileAnswer(table, { etag: '"f1"' });
    server.on('/flaky.csv', (request, response) => {
      tries += 1;
      if (tries === 1) response.writeHead(503).end();
      else if (tries > 2) whole(request, response);
      else {
        response.writeHead(200, { etag: '"f1"', 'content-length': table.length });
        response.write(table.slice(0, 600), () => response.destroy());
      }
    });
    const manifest = manifestOf(place, 'flaky', [{ id: 'a', title: 'A', url: `${server.url}/flaky.csv` }]);
    const { code, report, err } = await place.publish(manifest);
    expect(code, err).toBe(0);
    expect(itemOf(report, 'a')).toMatchObject({ live: true, rows: 500, attempts: 3 });
  });

  it('are done as a stored plan says, or held where the address gives yet another version', async () => {
    const place = openPlace();
    const version = (path: string, rows: number): void =>
      server.on(path, fileAnswer(`id\n${'1\n'.repeat(rows)}`, { etag: `"${rows}"` }));
    for (const path of ['/p.csv', '/q.csv']) version(path, 1);
    const manifest = manifestOf(place, 'pinned', [
      { id: 'p', title: 'P', url: `${server.url}/p.csv` },
      { id: 'q', title: 'Q', url: `${server.url}/q.csv` },
    ]);
    await place.publish(manifest);
    for (const path of ['/p.csv', '/q.csv']) version(path, 2);
    await place.run(['plan', manifest, '-o', 'plan.json']);
    version('/q.csv', 3);
    const applied = await place.run(['apply', 'plan.json', '--json']);
    const report = reportIn(applied.out);
    expect(itemOf(report, 'p')).toMatchObject({ outcome: 'done', live: true, rows: 2 });
    expect(itemOf(report, 'q')).toMatchObject({ outcome: 'held', reason: { code: 'plan-moved' } });
    expect(itemOf(report, 'q').reason?.message).toContain('its address serves yet another version');
    const again = reportIn((await place.run(['apply', 'plan.json', '--json'])).out);
    expect(itemOf(again, 'p').outcome).toBe('unchanged');
  });

  it('whose server calls everything unchanged are fetched and compared with --refresh', async () => {
    const place = openPlace();
    server.on('/liar.csv', fileAnswer('id\n1\n', { etag: '"same"' }));
    const manifest = manifestOf(place, 'doubted', [{ id: 'a', title: 'A', url: `${server.url}/liar.csv` }]);
    await place.publish(manifest);
    server.on('/liar.csv', fileAnswer('id\n1\n2\n', { etag: '"same"' }));
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
    const planned = await place.run(['plan', manifest, '--refresh']);
    expect(planned.out).toContain('fetched and compared, as requested');
    const refreshed = await place.run(['publish', manifest, '--refresh', '--json']);
    const { counts } = reportIn(refreshed.out);
    expect(counts.actions).toEqual({ attached: 1, imported: 1 });
  });

  it('are verified, rebuilt and taken down like others', async () => {
    const place = openPlace();
    server.on('/v.csv', fileAnswer('id\n1\n2\n', { etag: '"v1"' }));
    const resources = [{ id: 'a', title: 'A', url: `${server.url}/v.csv` }];
    const manifest = manifestOf(place, 'verified', resources);
    const { report } = await place.publish(manifest);
    expect((await place.run(['verify', manifest, '--content'])).out).toContain('2 items checked, 0 faults');
    await reader.dropRows(itemOf(report, 'a').nid ?? '');
    expect((await place.run(['verify', manifest])).code).toBe(3);
    expect((await place.publish(manifest)).report.counts.actions).toEqual({ imported: 1 });
    expect((await place.run(['verify', manifest])).code).toBe(0);

    const other = openPlace();
    const again = manifestOf(other, 'verified', resources);
    const rebuilt = await other.run(['rebuild', again]);
    expect(rebuilt.code, rebuilt.err).toBe(0);
    expect(leftBehind(other)).toEqual([]);
    server.asked.length = 0;
    const next = await other.publish(again);
    expect(next.report.counts.actions).toEqual({});

    const removed = await other.run(['remove', 'verified/d/a', '--how', 'delete', '--yes']);
    expect(removed.code, removed.err).toBe(0);
    expect((await reader.list()).some(({ nid }) => nid === itemOf(report, 'a').nid)).toBe(false);
  });
});

describe('a download that is interrupted by kill -9', () => {
  const rows = 60_000;
  const table = `id\n${`${'x'.repeat(99)}\n`.repeat(rows)}`;
  const half = 3_000_000;

  it('begins again at the next publish, and the table arrives once and whole', async () => {
    const place = openPlace({ sources: { ...sources, body: '30s' } });
    const whole = fileAnswer(table, { etag: '"big"' });
    let isSlow = true;
    server.on('/big.csv', (request, response) => {
      if (!isSlow) return whole(request, response);
      response.writeHead(200, { etag: '"big"', 'content-length': table.length });
      response.write(table.slice(0, half));
    });
    const manifest = manifestOf(place, 'killed', [{ id: 'a', title: 'A', url: `${server.url}/big.csv` }]);
    const process = place.spawn(['publish', manifest]);
    const folder = join(place.stateDir, 'fetched/local');
    const notes = () => (existsSync(folder) ? readdirSync(folder, { recursive: true }) : []).map(String);
    const part = await waitUntil('the half to lie here', () =>
      notes().find((name) => name.endsWith('.part') && statSync(join(folder, name)).size > 0),
    );
    expect(await process.end('SIGKILL')).toBe('SIGKILL');
    isSlow = false;
    server.asked.length = 0;
    const { code, report, err } = await place.publish(manifest);
    expect(code, err).toBe(0);
    expect(itemOf(report, 'a')).toMatchObject({ live: true, rows, file: { bytes: table.length } });
    expect(existsSync(join(folder, part))).toBe(false);
    expect(leftBehind(place)).toEqual([]);
  });
});

describe('a worker that is killed between fetch and attach', () => {
  it.runIf(isWhole)('sends what it had fetched, without a second fetch', async () => {
    const place = openPlace();
    server.on('/once.csv', fileAnswer('id\n1\n2\n', { etag: '"o1"' }));
    const manifest = manifestOf(place, 'once', [{ id: 'a', title: 'A', url: `${server.url}/once.csv` }]);
    place.write('kills/d', 'resource/attach/begin');
    const first = place.spawn(['publish', manifest], killsIn(join(place.dir, 'kills')));
    expect(await first.ended).toBe('SIGKILL');
    const { code, report, err } = await place.publish(manifest);
    expect(code, err).toBe(0);
    expect(itemOf(report, 'a')).toMatchObject({ live: true, rows: 2 });
    const fetches = server.asked.filter(({ headers }) => headers['if-none-match'] === undefined);
    expect(fetches).toHaveLength(1);
    expect(leftBehind(place)).toEqual([]);
  });
});

describe('servers at their worst', () => {
  const count = cases(24, 12);
  const tableOf = (index: number): string => `id,name\n${'1,x\n'.repeat(1000 + index)}`;
  const hang: Answering = () => undefined;
  const busy: Answering = (_request, response) => response.writeHead(503, { 'retry-after': '1' }).end('busy');
  const reset: Answering = (request) => request.socket.resetAndDestroy();
  const cut: Answering = (_request, response) => {
    response.writeHead(200, { 'content-length': 1e6, etag: '"cut"' }).write('id,name\n1,x\n'.repeat(200));
    setImmediate(() => response.destroy());
  };
  const broken: Answering = (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(tableOf(0)).subarray(0, 40));
  const worst = [hang, busy, reset, cut, broken];

  it('delay a publish, and nothing else: every table is there in the end, once and whole', async () => {
    const hasty = { sources: { ...sources, headers: '500ms', body: '1s' } };
    const place = openPlace(hasty);
    const resources = Array.from({ length: count }, (_, index) => {
      const path = `/worst-${index}.csv`;
      const good = fileAnswer(tableOf(index), { etag: `"w${index}"` });
      let asked = 0;
      server.on(path, (request, response) => {
        const bad = asked++ < index % 3 ? worst[(index + asked) % worst.length] : undefined;
        (bad ?? good)(request, response);
      });
      return { id: `r${index}`, title: `Worst ${index}`, url: `${server.url}${path}` };
    });
    const manifest = manifestOf(place, 'worst', resources);
    const { code, report, err } = await place.publish(manifest);
    expect(code, err).toBe(0);
    const items = report.items.filter(({ kind }) => kind === 'resource').sort((a, b) => (a.rows ?? 0) - (b.rows ?? 0));
    expect(items.map(({ key, live, rows }) => ({ key, live, rows }))).toEqual(
      resources.map(({ id }, index) => ({ key: `worst/d/${id}`, live: true, rows: 1000 + index })),
    );
    for (const { nid, uuid, rows } of items.slice(0, 5)) {
      expect(await reader.count(uuid)).toBe(rows);
      expect((await reader.file(nid ?? ''))?.content).toBe(tableOf((rows ?? 0) - 1000));
    }
    expect(leftBehind(place)).toEqual([]);
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
  });
});

describe('packed and other tables of the web', () => {
  it('are made tables as files of this host are, and not fetched again', async () => {
    const place = openPlace();
    const packed = gzipSync('id,name\n1,one\n2,two\n');
    server.on('/t.csv.gz', (request, response) => {
      const facts = { etag: '"g1"', 'content-type': 'application/gzip', 'content-encoding': 'gzip' };
      if (request.headers['if-none-match'] === '"g1"') response.writeHead(304, facts).end();
      else response.writeHead(200, facts).end(packed);
    });
    server.on('/api', fileAnswer('[{"id":1},{"id":2},{"id":3}]', { etag: '"j1"', type: 'application/json' }));
    server.on('/download', (request, response) => {
      const facts = { etag: '"d1"', 'content-disposition': 'attachment; filename="said.json"' };
      if (request.headers['if-none-match'] === '"d1"') response.writeHead(304, facts).end();
      else response.writeHead(200, facts).end('[{"id":1}]');
    });
    const manifest = manifestOf(place, 'packed', [
      { id: 'said', title: 'Said', url: `${server.url}/download?id=3` },
      { id: 'gz', title: 'Gz', url: `${server.url}/t.csv.gz` },
      { id: 'json', title: 'Json', url: `${server.url}/api?rows=all`, name: 'rows.json' },
      { id: 'part', title: 'Part', url: `${server.url}/t.csv.gz`, table: [{ select: ['name'] }] },
    ]);
    const first = await place.publish(manifest);
    expect(first.code, first.err).toBe(0);
    expect(itemOf(first.report, 'gz')).toMatchObject({ live: true, rows: 2, file: { name: 't.csv' } });
    expect(itemOf(first.report, 'json')).toMatchObject({ live: true, rows: 3, file: { name: 'rows.csv' } });
    expect(itemOf(first.report, 'said')).toMatchObject({ live: true, rows: 1, file: { name: 'said.csv' } });
    expect(await reader.records(itemOf(first.report, 'part').uuid)).toMatchObject([{ name: 'one' }, { name: 'two' }]);
    server.asked.length = 0;
    gateway.requests.length = 0;
    const second = await place.publish(manifest);
    expect(second.report.counts.actions).toEqual({});
    expect(server.asked.map(({ headers }) => headers['if-none-match']).sort()).toEqual([
      '"d1"',
      '"g1"',
      '"g1"',
      '"j1"',
    ]);
    expect(gateway.requests.filter(isWrite)).toEqual([]);
    expect((await place.run(['verify', manifest])).out).toContain('0 faults');
  });
});

describe('two workers on two hosts', () => {
  it.runIf(isWhole)('fetch what each attaches: a job continues elsewhere with a fetch of its own', async () => {
    const one = makeRedisPlace(gateway.url, { sources, ...quickJobs });
    const two = openPlace();
    server.on('/host.csv', fileAnswer('id\n1\n2\n', { etag: '"h1"' }));
    const manifest = manifestOf(one, 'hosts', [{ id: 'a', title: 'A', url: `${server.url}/host.csv` }]);
    const kills = join(one.dir, 'kills');
    one.write('kills/d', 'resource/check/end');
    const first = one.spawn(['publish', manifest], killsIn(kills));
    expect(await first.ended).toBe('SIGKILL');
    expect(leftBehind(one)).toHaveLength(1);
    const { code, report, err } = await two.publish(manifest, { env: { REDIS_URL: one.redisUrl() } });
    expect(code, err).toBe(0);
    expect(itemOf(report, 'a')).toMatchObject({ live: true, rows: 2 });
    // One fetch on each host, and the question of the second run.
    expect(server.asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined, '"h1"']);
    expect(leftBehind(two)).toEqual([]);
  });
});
