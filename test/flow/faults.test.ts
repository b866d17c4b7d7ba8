// Redis or the portal die in mid-run, the service is stopped in mid-run, the login is refused: the run ends right.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { cases, isWhole } from '../support/extent.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Gateway, isWrite, openGateway, type Passed } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import { isIdle, type Place, reportsOf } from './support/place.ts';
import { doubles, type Reader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { type PortalProcess, publisher, startPortalProcess, writePassword } from './support/server.ts';

let portal: PortalProcess;
let reader: Reader;
let gateway: Gateway;
beforeAll(async () => {
  portal = await startPortalProcess();
  [reader, gateway] = [await portal.reader(), await openGateway(portal.url)];
});

const count = cases(12, 7);
const manifestOf = (place: Place, name: string): string =>
  place.manifest({
    name,
    datasets: Array.from({ length: count }, (_, index) => {
      const file = place.write(`data/${index}.csv`, `id\n${index}\n`);
      const title = `${name} ${String(index).padStart(2, '0')}`;
      return { id: `d${index}`, title, resources: [{ id: 'table', title: `${title} table`, file }] };
    }),
  });

/** Every dataset and table of the manifest is on the portal, once, with its row. */
const expectAll = async (name: string): Promise<void> => {
  const rows = await reader.list();
  expect(doubles(rows)).toEqual([]);
  const own = rows.filter(({ title }) => title.startsWith(`${name} `));
  expect(own).toHaveLength(2 * count);
  for (const { type, uuid } of own) if (type === 'resource') expect(await reader.count(uuid)).toBe(1);
};

/** Calls `act` once, when this many writes have been answered from now on. */
const afterWrites = (writes: number, act: () => void | Promise<void>): void => {
  let left = writes;
  gateway.after = async (passed) => {
    if (!isWrite(passed)) return;
    left -= 1;
    if (left === 0) await act();
  };
};

describe('in mid-run', () => {
  it('a killed Redis server is started again and the run ends with each node once', async () => {
    const place = makeRemotePlace(gateway.url, {}, 'kept');
    const manifest = manifestOf(place, 'redis');
    let killed = 0;
    afterWrites(20, () => {
      killed = place.redisPid();
      process.kill(killed, 'SIGKILL');
    });
    const { code, report } = await place.publish(manifest);
    expect(killed).toBeGreaterThan(0);
    expect(code).toBe(0);
    expect(report.items.filter(({ live }) => live)).toHaveLength(2 * count);
    await expectAll('redis');
  });

  it('a killed portal that comes back on its port gets each node once', async () => {
    const place = makeRemotePlace(gateway.url, { retry: { backoff: '300ms', maxBackoff: '2s', attempts: 20 } });
    const manifest = manifestOf(place, 'portal');
    let isKilled = false;
    let restarted: Promise<void> | null = null;
    afterWrites(20, () => {
      isKilled = true;
      restarted = portal.command.end('SIGKILL').then(() => portal.restart());
    });
    const { code, report } = await place.publish(manifest);
    expect(isKilled).toBe(true);
    await restarted;
    expect(code, JSON.stringify(report.items.filter(({ reason }) => reason))).toBe(0);
    await expectAll('portal');
  });

  it('a file that a killed publish attached is not taken for the next version, whose attach met a fault', async () => {
    const place = makeRemotePlace(gateway.url);
    const file = place.write('data/table.csv', 'id\n1\n');
    const manifest = place.manifest({
      name: 'versions',
      datasets: [{ id: 'd', title: 'Versions', resources: [{ id: 'table', title: 'Table', file }] }],
    });
    const isAttach = ({ path }: Passed): boolean => path.endsWith('/attach_file');
    const killed = place.spawn(['publish', manifest]);
    gateway.after = (passed) => void (isAttach(passed) && killed.child.kill('SIGKILL'));
    await killed.ended;
    gateway.after = () => undefined;
    place.write('data/table.csv', 'id\n2\n');
    gateway.before = (passed) => {
      if (!isAttach(passed)) return;
      gateway.before = () => undefined;
      throw new Error('not passed on');
    };
    const { code, report } = await place.publish(manifest);
    expect(code, JSON.stringify(report.items)).toBe(0);
    const { nid, uuid } = itemOf(report, 'versions/d/table');
    expect(await reader.records(uuid)).toMatchObject([{ id: '2' }]);
    expect((await reader.file(nid ?? ''))?.content).toBe('id\n2\n');
  });

  it('a publish whose run Redis has forgotten ends with what to do, and the next one finds what is there', async () => {
    const place = makeRemotePlace(gateway.url);
    const manifest = manifestOf(place, 'emptied');
    afterWrites(20, async () => {
      const redis = place.redis();
      await redis.flushdb();
      redis.disconnect();
    });
    const { code, out, err } = await place.run(['publish', manifest]);
    expect(code, out).toBe(3);
    expect(err).toMatch(/emptied@local: Redis no longer has a record of run \S+\n-> .*sluice rebuild/);
    expect((await place.publish(manifest)).code).toBe(0);
    await expectAll('emptied');
  });

  it('a stopped service ends with 0 soon and the next one finishes the run', async () => {
    const place = makeRemotePlace(gateway.url);
    const manifest = manifestOf(place, 'stopped');
    const service = await place.spawnService();
    const asked = place.spawn(['publish', manifest]);
    let ended: number | string | null = null;
    afterWrites(20, () => {
      asked.child.kill('SIGKILL');
      service.child.kill('SIGTERM');
    });
    ended = await service.ended;
    expect(ended, service.err()).toBe(0);
    expect(service.out()).toContain('"stopped"');
    await asked.ended;
    const writes = gateway.requests.length;
    const next = await place.serve();
    const redis = place.redis();
    await waitUntil('the run to close', () => isIdle(place, redis, 'stopped'));
    expect((await reportsOf(place, redis, 'stopped')).at(0)).toMatchObject({
      counts: { dataset: { done: count }, resource: { done: count } },
    });
    redis.disconnect();
    expect(gateway.requests.length).toBeGreaterThan(writes);
    await expectAll('stopped');
    expect(await next.end('SIGINT')).toBe(0);
  });

  it.runIf(isWhole)('a second signal ends the service at once, and the next one finishes the run', async () => {
    const place = makeRemotePlace(gateway.url);
    const manifest = manifestOf(place, 'forced');
    const service = await place.spawnService();
    const asked = place.spawn(['publish', manifest]);
    // One attach is never answered: a single signal would wait for it.
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isHeld = false;
    gateway.before = async ({ path }) => {
      if (!path.endsWith('/attach_file') || isHeld) return;
      isHeld = true;
      await held;
    };
    await waitUntil('an upload that hangs', () => isHeld);
    asked.child.kill('SIGKILL');
    service.child.kill('SIGTERM');
    await service.said('stopping');
    expect(service.hasEnded()).toBe(false);
    expect(await service.end('SIGTERM')).toBe(130);
    expect(service.out()).toContain('"second signal: exiting now; the next start resumes unfinished work"');
    release();
    gateway.before = () => undefined;
    const next = await place.serve();
    const redis = place.redis();
    await waitUntil('the run to close', () => isIdle(place, redis, 'forced'));
    redis.disconnect();
    await expectAll('forced');
    expect(await next.end('SIGTERM')).toBe(0);
  });
});

describe('a dropped file', () => {
  it('stays taken while the portal fails, and is published when the portal works again', async () => {
    const place = makeRemotePlace(gateway.url, { retry: { attempts: 2, backoff: '50ms', maxBackoff: '100ms' } });
    gateway.before = ({ method }) => {
      if (method === 'POST') throw new Error('out of order');
    };
    gateway.after = () => undefined;
    const manifest = place.manifest({ name: 'waiting', drop: { folder: 'inbox', files: '**/*.csv' } });
    place.write('inbox/patient.csv', 'id\n1\n');
    const service = await place.serve([manifest]);
    const redis = place.redis();
    const [failed] = await waitUntil('a run that failed', async () => {
      const reports = await reportsOf(place, redis, 'waiting');
      return reports.length > 0 ? reports : null;
    });
    expect(failed?.items.map(({ reason }) => reason?.code)).toEqual(['portal-unreachable', 'dataset-failed']);
    expect(existsSync(join(place.dir, 'inbox/_faulty'))).toBe(false);
    gateway.before = () => undefined;
    await waitUntil('the row', async () => {
      const row = (await reader.list()).find(({ type, title }) => type === 'resource' && /patient/i.test(title));
      return row && (await reader.count(row.uuid)) === 1;
    });
    const archive = join(place.dir, 'inbox/.sluice/archive/patient/patient');
    await waitUntil('the archive', () => existsSync(archive) && readdirSync(archive).length === 1);
    redis.disconnect();
    expect(await service.end('SIGTERM')).toBe(0);
  });
});

describe('a refused login', () => {
  it('is tried once, pauses the portal, is reported at once, and ends when the password is fixed', async () => {
    const place = makeRemotePlace(gateway.url);
    writePassword(place.dir, 'a-wrong-password');
    const manifest = manifestOf(place, 'login');
    const before = gateway.logins();
    const refused = await place.run(['publish', manifest, '--json']);
    expect(refused.code).toBe(3);
    expect(JSON.parse(refused.out).error.code).toBe('unfinished');
    expect(refused.err).toContain('paused');
    expect(refused.err).toContain('password');
    expect(gateway.logins() - before).toBe(1);

    // Asked again with the same password: one try for that, and still paused.
    expect((await place.run(['publish', manifest])).code).toBe(3);
    expect(gateway.logins() - before).toBe(2);
    const status = await place.run(['status']);
    expect(status.code).toBe(3);
    expect(status.out).toContain('the portal has been paused');
    expect(gateway.logins() - before).toBe(2);

    writePassword(place.dir);
    const mended = await place.publish(manifest);
    expect(mended.code, mended.err).toBe(0);
    await expectAll('login');
    expect((await place.run(['status'])).code).toBe(0);
    const everything = [refused, status, mended].map(({ out, err }) => out + err).join('');
    expect(everything).not.toContain('a-wrong-password');
    expect(everything).not.toContain(publisher.password);
  });
});
