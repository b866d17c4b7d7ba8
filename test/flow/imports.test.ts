// Imports that an account may not order, that the portal's importer refuses, and columns that portals treat as their own.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
import { startTestPortal, withoutDatastores } from '../support/portal.ts';
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
});
