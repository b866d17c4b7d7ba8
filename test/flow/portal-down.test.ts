// A portal goes down in mid-run and comes back: the run ends right, everything else continues, and everybody can see it.
import { beforeAll, describe, expect, it } from 'vitest';
import { openHook } from '../notify/support/hook.ts';
import { cases } from '../support/extent.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Gateway, isWrite, openGateway } from './support/gateway.ts';
import { makePlace, type Place, reportOf } from './support/place.ts';
import { doubles, type Reader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { type RunningPortal, remoteConfig, startPortal, writePassword } from './support/server.ts';

let portal: RunningPortal;
let reader: Reader;
beforeAll(async () => {
  portal = await startPortal();
  reader = await portal.reader();
});

const count = cases(20, 8);
const manifestOf = (place: Place, name: string, to = 'local'): string =>
  place.manifest({
    name,
    portal: to,
    datasets: Array.from({ length: count }, (_, index) => {
      const file = place.write(`data/${name}-${index}.csv`, `id\n${index}\n`);
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

/** Takes the portal away behind the gateway when this many writes have been answered. */
const downAfter = (gateway: Gateway, writes: number): void => {
  let left = writes;
  gateway.after = (passed) => {
    if (!isWrite(passed)) return;
    left -= 1;
    if (left === 0) gateway.target = null;
  };
};

const isPaused = async (place: Place): Promise<boolean> =>
  (await place.run(['status'])).out.includes('the portal has been paused since');

describe('a portal that goes down in mid-run', () => {
  it('is waited for over a kill of the service, holds up nobody else, and gets each node once', async () => {
    const [gateway, other, hook] = [await openGateway(portal.url), await openGateway(portal.url), await openHook()];
    const place = makePlace({
      portals: { ...remoteConfig(gateway.url).portals, other: remoteConfig(other.url).portals.local },
      notify: { webhook: { url: hook.url } },
    });
    writePassword(place.dir);
    const [manifest, elsewhere] = [manifestOf(place, 'down'), manifestOf(place, 'elsewhere', 'other')];
    const service = await place.spawnService();
    downAfter(gateway, 15);
    const asked = place.spawn(['publish', manifest]);
    await service.said('"action":"pause"');
    await asked.end('SIGKILL');
    expect(await isPaused(place)).toBe(true);
    expect((await place.publish(elsewhere)).code).toBe(0);
    await expectAll('elsewhere');

    await service.end('SIGKILL');
    const next = await place.serve();
    await next.said('"action":"probe"');
    const status = await place.run(['status']);
    expect(status.code).toBe(3);
    expect(status.out).toMatch(
      /the portal has been paused since 20.*\n +portal-unreachable: portal local failed 5 times in a row/,
    );
    expect(status.out).toMatch(/\d+ probes? failed, the next is at 20/);

    gateway.target = portal.url;
    await next.said('"action":"resume"');
    const redis = place.redis();
    const report = await reportOf(place, redis, 'down');
    redis.disconnect();
    expect(report.items.filter(({ live }) => live)).toHaveLength(2 * count);
    await expectAll('down');
    const after = await place.run(['status']);
    expect(after.code).toBe(0);
    expect(after.out).toMatch(/the portal was paused from 20.* to 20.* \(portal-unreachable\) and works again/);
    await waitUntil('both notices', () => hook.events().length >= 2);
    expect(hook.events()).toEqual(['portal-paused', 'portal-resumed']);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  it('and stays down longer than --wait ends publish with 3; the run stays queued and the next publish ends it', async () => {
    const gateway = await openGateway(portal.url);
    const place = makeRemotePlace(gateway.url);
    const manifest = manifestOf(place, 'patience');
    downAfter(gateway, 15);
    const gaveUp = await place.run(['publish', manifest, '--wait', '1s', '--json']);
    expect(gaveUp.code).toBe(3);
    expect(JSON.parse(gaveUp.out)).toMatchObject({ error: { code: 'unfinished' } });
    expect(gaveUp.err).toMatch(
      /portal local has been paused since 20\S+: failed 5 times in a row, the last time with: [A-Z]+ /,
    );
    expect(gaveUp.err).toContain('the run stays queued');
    gateway.target = portal.url;
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    expect(report.items.filter(({ live }) => live)).toHaveLength(2 * count);
    await expectAll('patience');
  });
});
