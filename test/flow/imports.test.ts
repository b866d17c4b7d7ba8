// Imports that an account may not order, that the portal's importer refuses, and columns that portals treat as their own.
import { beforeAll, describe, expect, it } from 'vitest';
import { type FaultRule, faultPlanSchema } from '../../src/embedded-portal/faults/rules.ts';
import { openSwitchboard } from '../../src/embedded-portal/faults/switchboard.ts';
import type { Report } from '../../src/model/report.ts';
import { atFileEnd } from '../support/file-end.ts';
import { startTestPortal, type TestPortal, withoutDatastores } from '../support/portal.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import { makePlace, type Place } from './support/place.ts';
import { openReader, type Reader } from './support/reader.ts';
import { remoteConfig, writePassword } from './support/server.ts';

const placeAt = (url: string): Place => {
  const place = makePlace(remoteConfig(url, { username: 'creator' }));
  writePassword(place.dir, 'pass');
  return place;
};

/** Writes a manifest with one dataset of these tables (id -> CSV). */
const write = (place: Place, name: string, tables: Record<string, string>): string =>
  place.manifest({
    name,
    datasets: [
      {
        id: 'd',
        title: `${name} dataset`,
        resources: Object.entries(tables).map(([id, text]) => {
          return { id, title: `${name} ${id}`, file: place.write(`data/${name}-${id}.csv`, text) };
        }),
      },
    ],
  });

describe('an account without manage datastore', () => {
  it('publishes them without rows once `import: never` is set, as the hint of the failure says', async () => {
    const portal = await startTestPortal({ profile: 'dkan-7.18', roles: withoutDatastores });
    const place = placeAt(portal.url);
    const file = place.write('data/never.csv', 'a,b\n1,2\n');
    const write = (more: object): string => {
      const resources = [{ id: 't', title: 'T', file, ...more }];
      return place.manifest({ name: 'never', datasets: [{ id: 'd', title: 'D', resources }] });
    };
    const { code, report } = await place.publish(write({}));
    expect([code, itemOf(report, 'never/d/t').reason?.hint]).toEqual([3, expect.stringContaining('`import: never`')]);
    const again = await place.publish(write({ import: 'never' }));
    expect(again.code).toBe(0);
    expect(itemOf(again.report, 'never/d/t')).toMatchObject({ live: true, rows: null });
  });

  it('fails its tables, says what is missing, and imports them once it has the permission', async () => {
    const first = await startTestPortal({ profile: 'dkan-7.18', roles: withoutDatastores });
    const gateway = await openGateway(first.url);
    const place = placeAt(gateway.url);
    const manifest = write(place, 'denied', { t: 'a,b\n1,2\n' });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    expect(itemOf(report, 'denied/d/t')).toMatchObject({
      live: false,
      outcome: 'failed',
      reason: { code: 'portal-refused', hint: expect.stringContaining('*manage datastore*') },
    });
    const checked = await place.run(['check', '--portal', 'local']);
    expect([checked.code, checked.out]).toEqual([3, expect.stringContaining('NO  the account may not import tables')]);
    expect((await place.run(['verify', manifest])).code).toBe(3);
    await first.server.close();
    const second = await startTestPortal({ profile: 'dkan-7.18', dataDir: first.server.dataDir });
    gateway.target = second.url;
    const again = await place.publish(manifest);
    expect(again.code, JSON.stringify(again.report.items)).toBe(0);
    expect(itemOf(again.report, 'denied/d/t')).toMatchObject({ live: true, rows: 1 });
    const reader = await openReader(second.url, 'admin', 'pass');
    expect(await reader.count(itemOf(again.report, 'denied/d/t').uuid)).toBe(1);
    expect((await place.run(['check', '--portal', 'local'])).out).toContain('ok  tables can be imported');
  });
});

describe('a portal that gets datastores by an upgrade', () => {
  it('is given what it was without, by the next version of a file and by what `verify` finds', async () => {
    const first = await startTestPortal({ profile: 'dkan-7.14' });
    const gateway = await openGateway(first.url);
    const place = placeAt(gateway.url);
    const before = await place.publish(write(place, 'old', { t: 'a,b\n1,2\n', u: 'a,b\n3,4\n' }));
    expect([before.code, itemOf(before.report, 'old/d/t').rows]).toEqual([0, null]);
    await first.server.close();
    const second = await startTestPortal({ profile: 'dkan-7.18', dataDir: first.server.dataDir });
    gateway.target = second.url;
    const manifest = write(place, 'old', { t: 'a,b\n1,2\n3,4\n', u: 'a,b\n3,4\n' });
    const changed = await place.publish(manifest);
    expect(changed.code, JSON.stringify(changed.report.items)).toBe(0);
    expect(itemOf(changed.report, 'old/d/t')).toMatchObject({ live: true, rows: 2 });
    expect((await place.run(['verify', manifest])).code).toBe(3);
    expect(itemOf((await place.publish(manifest)).report, 'old/d/u')).toMatchObject({ live: true, rows: 1 });
  });
});

describe('a table that the importer of the portal does not take', () => {
  let place: Place;
  let gateway: Gateway;
  let reader: Reader;
  beforeAll(async () => {
    const portal = await startTestPortal({ profile: 'dkan-7.18' });
    gateway = await openGateway(portal.url);
    reader = await openReader(portal.url, 'admin', 'pass');
    place = placeAt(gateway.url);
  });

  const sound = 'a,b\n1,x\n2,y\n';
  const refused = 'a,b\n1,"say \\""hi\\"""\n2,y\n3,end\\\\\n';
  const imports = (nid: string | null): number =>
    gateway.takeWrites().filter((line) => line === `POST /api/dataset/datastore/${nid}/import`).length;
  const outcomes = (report: Report): Record<string, unknown> =>
    Object.fromEntries(
      report.items.map(({ key, live, reason }) => [key, reason?.code ?? (live ? 'live' : 'not live')]),
    );

  it('fails alone: its siblings and its dataset are live, and the portal is not paused', async () => {
    const manifest = write(place, 'bad', { good: sound, quotes: refused, other: sound });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    expect(outcomes(report)).toEqual({
      'bad/d': 'live',
      'bad/d/good': 'live',
      'bad/d/other': 'live',
      'bad/d/quotes': 'import-failed',
    });
    const item = itemOf(report, 'bad/d/quotes');
    expect(item.reason?.message).toContain('Error parsing CSV');
    expect(item.reason?.hint).toContain('line 2, column 2');
    expect(imports(item.nid)).toBe(1);
    expect((await place.run(['status'])).out).not.toContain('paused');
  });

  it('is not imported again before it or its manifest entry changes, or on request', async () => {
    const manifest = write(place, 'once', { t: refused, u: sound });
    const { nid, reason } = itemOf((await place.publish(manifest)).report, 'once/d/t');
    expect(reason?.hint).toContain('sent again once it or its manifest entry changes');
    expect((await place.run(['verify', manifest])).code).toBe(3);
    gateway.takeWrites();
    for (const more of [[], ['--refresh']]) {
      const { code, out } = await place.run(['publish', manifest, ...more]);
      expect([code, gateway.takeWrites()]).toEqual([3, []]);
      expect(out).toContain('Error parsing CSV');
    }
    expect((await place.run(['status'])).out).toContain('Error parsing CSV');
    expect((await place.run(['retry', 'once/d/t'])).code).toBe(3);
    expect(imports(nid)).toBe(1);
    const { report } = await place.publish(write(place, 'once', { t: sound, u: sound }));
    expect(outcomes(report)).toEqual({ 'once/d': 'live', 'once/d/t': 'live', 'once/d/u': 'live' });
  });

  it('gives way to the last good file', async () => {
    const first = await place.publish(write(place, 'back', { t: sound, u: sound }));
    expect(first.code).toBe(0);
    const { code, report } = await place.publish(write(place, 'back', { t: refused, u: sound }));
    expect(code).toBe(3);
    const item = itemOf(report, 'back/d/t');
    expect(item).toMatchObject({ stale: true, rows: 2, reason: { code: 'import-failed' } });
    expect((await reader.file(item.nid ?? ''))?.content).toBe(sound);
    expect(await reader.count(item.uuid)).toBe(2);
  });

  it('is imported once where a column has a name that portals use themselves', async () => {
    const manifest = write(place, 'own', { t: 'entry_id,b\n1,x\n2,y\n' });
    const { code, report } = await place.publish(manifest);
    expect(code, JSON.stringify(report.items)).toBe(0);
    expect(imports(itemOf(report, 'own/d/t').nid)).toBe(1);
    expect((await place.run(['verify', manifest])).code).toBe(0);
  });

  it('has what the importer changes told once, and not as a difference', async () => {
    const manifest = write(place, 'changed', { t: 'a,b\n1, x\n2,""\n' });
    const first = await place.publish(manifest);
    expect(first.code).toBe(0);
    const { uuid, warnings } = itemOf(first.report, 'changed/d/t');
    expect(warnings).toEqual([
      expect.stringMatching(/^line 2, column 2: .* removes spaces/),
      expect.stringMatching(/^line 3, column 2: .* NULL/),
    ]);
    expect((await reader.records(uuid)).map(({ b }) => b)).toEqual(['x', null]);
    const again = await place.publish(manifest);
    expect([again.code, itemOf(again.report, 'changed/d/t').warnings]).toEqual([0, []]);
    expect((await place.run(['verify', manifest])).code).toBe(0);
  });
});

describe('an import that does not end by itself', () => {
  /** Rows wider than the blocks of the importer, so that none is lost. */
  const wide = (rows: number): string =>
    `a,b\n${Array.from({ length: rows }, (_, index) => `${index + 1},${'x'.repeat(40)}\n`).join('')}`;

  const open = async (
    site: object,
  ): Promise<{ place: Place; gateway: Gateway; reader: Reader; portal: TestPortal }> => {
    const portal = await startTestPortal({ profile: 'dkan-7.18', races: false, site });
    const gateway = await openGateway(portal.url);
    return { portal, gateway, reader: await openReader(portal.url, 'admin', 'pass'), place: placeAt(gateway.url) };
  };
  const ordered = (gateway: Gateway): number => gateway.takeWrites().filter((line) => line.endsWith('/import')).length;

  it('goes on behind its rows where the portal limits its time, and says so', async () => {
    const { place, gateway, reader } = await open({ maxExecutionRows: 9000 });
    const { code, report } = await place.publish(write(place, 'long', { t: wide(7000) }));
    expect(code, JSON.stringify(report.items)).toBe(0);
    expect(await reader.count(itemOf(report, 'long/d/t').uuid)).toBe(7000);
    expect(ordered(gateway)).toBeGreaterThan(1);
    expect((await place.run(['log', 'long/d/t'])).out).toContain('of 7000 rows are in; going on behind them');
  });

  it('fails where it gains no more rows, with what to do, while its siblings are live', async () => {
    const { place, gateway } = await open({ maxExecutionRows: 6000 });
    const { code, report } = await place.publish(write(place, 'never', { t: wide(9000), u: wide(10) }));
    expect(code).toBe(3);
    expect(itemOf(report, 'never/d/t').reason).toMatchObject({
      code: 'import-failed',
      hint: expect.stringContaining('split the file into parts of less than 5000 rows'),
    });
    expect(itemOf(report, 'never/d/u')).toMatchObject({ live: true, rows: 10 });
    expect(ordered(gateway)).toBeLessThan(10);
  });

  it('begins from zero where rows before the cut were dropped, which would be added twice', async () => {
    const { place, portal, gateway } = await open({ maxExecutionRows: 6000 });
    const narrow = Array.from({ length: 5500 }, (_, index) => `${String(index + 1).padStart(8, '0')},xy\n`);
    const manifest = write(place, 'lossy', { t: `a,b\n${narrow.join('')}` });
    const first = await place.publish(manifest);
    const failed = itemOf(first.report, 'lossy/d/t');
    expect(failed).toMatchObject({ live: false, stale: false, reason: { code: 'import-failed' } });
    expect(failed.reason?.message).toMatch(/\d of 5500 rows were imported, which readers see/);
    // A second one from zero gets no further, so a third one would not either.
    expect(ordered(gateway)).toBe(2);
    portal.server.site.maxExecutionRows = null;
    expect((await place.run(['retry', 'lossy/d/t'])).code).toBe(0);
    const { code, report } = await place.publish(manifest);
    expect(code, JSON.stringify(report.items)).toBe(0);
    const { uuid, rows, warnings } = itemOf(report, 'lossy/d/t');
    expect(warnings).toEqual([expect.stringContaining(`${rows} of 5500 rows`)]);
    const admin = await portal.as('admin');
    const found = await admin.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&limit=9999`);
    const keys = found.json<{ result: { records: { a: string }[] } }>().result.records.map(({ a }) => a);
    expect([keys.length, new Set(keys).size]).toEqual([rows, rows]);
  });

  it('of another publisher is waited for while its table grows, and not ordered a second time', async () => {
    const { place, gateway, reader, portal } = await open({});
    const manifest = write(place, 'theirs', { t: wide(2500) });
    const { nid, uuid } = itemOf((await place.publish(manifest)).report, 'theirs/d/t');
    const admin = await portal.as('admin');
    const path = `/api/dataset/datastore/${nid}`;
    await admin.send('DELETE', path);
    portal.server.site.batchDelay = 1000;
    const theirs = admin.send('POST', `${path}/import`);
    await waitUntil('their import', async () => (await admin.send('GET', path)).json().data_import === 4);
    gateway.takeWrites();
    const { code, out } = await place.run(['publish', manifest, '--refresh']);
    expect(code, out).toBe(0);
    expect(gateway.takeWrites()).toEqual([]);
    expect((await theirs).json()).toEqual([true]);
    expect(await reader.count(uuid)).toBe(2500);
  });

  it('is left at a stop, and the next start waits for it and continues', async () => {
    const { place, reader, portal } = await open({ batchDelay: 2500 });
    const manifest = write(place, 'slow', { t: wide(6000) });
    const run = place.spawn(['publish', manifest]);
    await waitUntil('the import to begin', async () =>
      (await reader.list()).some(({ type }) => type === 'resource') ? await anyRows(reader) : undefined,
    );
    await run.end('SIGTERM');
    expect(await anyRows(reader, 6000)).toBe(false); // the import is still running
    portal.server.site.batchDelay = 500;
    const { code, report } = await place.publish(manifest);
    expect(code, JSON.stringify(report.items)).toBe(0);
    expect(await reader.count(itemOf(report, 'slow/d/t').uuid)).toBe(6000);
  });
});

it('tables that were sent are proven where the job of their live dataset fails, and others name the portal', async () => {
  const portal = await startTestPortal({ profile: 'dkan-7.18', races: false });
  const plan = (rules: FaultRule[]) => faultPlanSchema.parse({ rules });
  const switchboard = await openSwitchboard({ target: portal.url, plan: null });
  atFileEnd(() => switchboard.close());
  const config = { ...remoteConfig(switchboard.url, { username: 'creator' }), retry: { attempts: 1 } };
  const place = makePlace({ ...config, breaker: { failures: 50 } });
  writePassword(place.dir, 'pass');
  const tables = (row: string) => Object.fromEntries(['p', 'q', 'r', 's', 't'].map((id) => [id, `a\n${row}\n`]));
  expect((await place.publish(write(place, 'half', tables('1')))).code).toBe(0);
  const route = 'POST /api/dataset/node/*/attach_file';
  switchboard.setPlan(
    plan([
      { route, fault: 'pass', times: 2 },
      { route, fault: 'status', status: 503 },
    ]),
  );
  const { report } = await place.publish(write(place, 'half', tables('2')));
  const codes = ['half/d', ...Object.keys(tables('')).map((id) => `half/d/${id}`)].map((key) => {
    const { live, reason } = itemOf(report, key);
    return reason?.code ?? (live ? 'live' : 'not live');
  });
  expect(codes).toEqual(['live', 'live', 'live', ...Array.from({ length: 3 }, () => 'portal-unreachable')]);
  expect(itemOf(report, 'half/d/t').reason?.message).toMatch(/^not tried: /);
});

/** True once some table of the portal has so many rows. */
const anyRows = async (reader: Reader, least = 1): Promise<boolean> => {
  const resources = (await reader.list()).filter(({ type }) => type === 'resource');
  const counts = await Promise.all(resources.map(({ uuid }) => reader.count(uuid)));
  return counts.some((count) => (count ?? 0) >= least);
};

describe('a portal with a firewall', () => {
  const csv = (rows: number): string => `a,b\n${Array.from({ length: rows }, (_, at) => `${at},x\n`).join('')}`;
  /** A portal behind a switchboard, whose rules may change, and a place that publishes to it. */
  const openFirewall = async () => {
    const portal = await startTestPortal({ profile: 'dkan-7.18' });
    const switchboard = await openSwitchboard({ target: portal.url, plan: null });
    atFileEnd(() => switchboard.close());
    const answer = (route: string, status: number, message: string): void =>
      switchboard.setPlan(faultPlanSchema.parse({ seed: 1, rules: [{ route, fault: 'status', status, message }] }));
    const forbid = (route: string | null): void =>
      route === null ? switchboard.setPlan(null) : answer(route, 403, 'Access denied for user creator');
    return { place: placeAt(switchboard.url), forbid, answer };
  };

  it('that lets nobody count rows has no table live, nor found to be right, before they were counted', async () => {
    const { place, forbid } = await openFirewall();
    forbid('* /api/action/datastore/**');
    const manifest = write(place, 'uncounted', { t: csv(3) });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    expect(itemOf(report, 'uncounted/d/t')).toMatchObject({ live: false, reason: { code: 'portal-refused' } });
    const verified = await place.run(['verify', manifest]);
    expect([verified.code, verified.out]).toEqual([3, expect.stringContaining('uncounted/d/t: cannot be read')]);
    forbid(null);
    expect(itemOf((await place.publish(manifest)).report, 'uncounted/d/t')).toMatchObject({ live: true, rows: 3 });
  });

  it('that takes no imports has lost the former rows, and is not said to serve them', async () => {
    const { place, forbid } = await openFirewall();
    const manifest = write(place, 'lost', { t: csv(3) });
    expect((await place.publish(manifest)).code).toBe(0);
    forbid('POST /api/dataset/datastore/*/import');
    write(place, 'lost', { t: csv(5) });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    expect(itemOf(report, 'lost/d/t')).toMatchObject({ live: false, stale: false });
    forbid(null);
    expect(itemOf((await place.publish(manifest)).report, 'lost/d/t')).toMatchObject({ live: true, rows: 5 });
  });

  it('is not said to be in the file: a database that takes no tables, after which the same file goes live', async () => {
    const { place, forbid, answer } = await openFirewall();
    const manifest = write(place, 'rights', { t: csv(3) });
    expect((await place.publish(manifest)).code).toBe(0);
    const denied = "SQLSTATE[42000]: access violation: 1142 CREATE command denied to user 'dkan'@'localhost'";
    answer('POST /api/dataset/datastore/*/import', 500, denied);
    write(place, 'rights', { t: csv(5) });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    expect(itemOf(report, 'rights/d/t')).toMatchObject({ live: false, reason: { code: 'portal-unreachable' } });
    forbid(null);
    expect(itemOf((await place.publish(manifest)).report, 'rights/d/t')).toMatchObject({ live: true, rows: 5 });
  });

  it('keeps the reason of what is not live when it is verified: the fault is in the file here', async () => {
    const { place } = await openFirewall();
    const manifest = write(place, 'reason', { t: csv(3) });
    expect((await place.publish(manifest)).code).toBe(0);
    write(place, 'reason', { t: `${csv(2)}3\n` });
    const ragged = { live: false, stale: true, reason: { code: 'table-ragged' } };
    expect(itemOf((await place.publish(manifest)).report, 'reason/d/t')).toMatchObject(ragged);
    expect((await place.run(['verify', manifest])).code).toBe(3);
    expect((await place.run(['status', 'reason/d/t'])).out).toContain('table-ragged');
    expect(itemOf((await place.publish(manifest)).report, 'reason/d/t')).toMatchObject(ragged);
  });
});
