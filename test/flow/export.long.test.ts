// Large exports, and exports that are killed: the folder is the same in the end, and what it costs stays flat.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportSchema } from '../../src/model/report.ts';
import { startTestPortal, type TestPortal } from '../support/portal.ts';
import { randomOf } from '../support/random.ts';
import { waitUntil } from '../support/wait-until.ts';
import { hashesIn } from './support/folder.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import { generatePortal } from './support/generated-portal.ts';
import { makePlace, type Place, withReport } from './support/place.ts';
import { portalContents } from './support/portal-contents.ts';
import { remoteConfig, writePassword } from './support/server.ts';

const placeFor = (gateway: Gateway, more: Record<string, unknown> = {}): Place => {
  const place = makePlace({ ...remoteConfig(gateway.url, { username: 'admin' }), ...more });
  writePassword(place.dir, 'pass');
  return place;
};

const contentsOf = async (portal: TestPortal) => portalContents(portal, await portal.as('admin'));

describe('a large export', () => {
  it('of 300 datasets and 700 resources is published as the same portal', { timeout: 900_000 }, async () => {
    const source = await (await generatePortal({ datasets: 300, resources: 700 })).serve('dkan-7.18');
    const target = await startTestPortal({ profile: 'dkan-7.18', races: false });
    const admin = await target.as('admin');
    for (const title of ['Parks Department', 'Water, Works & Roads']) await admin.create({ type: 'group', title });
    const [from, to] = [await openGateway(source.url), await openGateway(target.url)];
    const portals = {
      source: remoteConfig(from.url, { username: 'admin', concurrency: 4 }).portals.local,
      target: remoteConfig(to.url, { username: 'admin', concurrency: 4 }).portals.local,
    };
    const place = makePlace({ portals });
    writePassword(place.dir, 'pass');

    const first = await place.run(['export', 'source', '-o', 'out', '--json']);
    const { counts, items } = reportSchema.parse(JSON.parse(first.out));
    expect(counts).toMatchObject({ dataset: { done: 300 }, resource: { done: 700 } });
    const files = items.filter(({ file }) => file !== null).length;
    expect(from.requests.length).toBeLessThanOrEqual(14 + 300 / 20 + 300 + 700 + files + 700 / 18);

    const [hashes, asked] = [await hashesIn(join(place.dir, 'out')), from.requests.length];
    const second = await place.run(['export', 'source', '-o', 'out', '--json']);
    expect(reportSchema.parse(JSON.parse(second.out)).counts).toEqual({
      dataset: { unchanged: 300 },
      resource: { unchanged: 700 },
      actions: {},
    });
    expect(await hashesIn(join(place.dir, 'out'))).toEqual(hashes);
    expect(from.requests.length - asked).toBeLessThanOrEqual(1 + 300 / 20 + 20);

    const manifest = join(place.dir, 'out', 'manifest.yaml');
    const { code } = withReport(await place.run(['publish', manifest, '--portal', 'target', '--json']));
    expect(code).toBe(0);
    expect(await contentsOf(target)).toEqual(await contentsOf(source));
    const plan = await place.run(['plan', manifest, '--portal', 'target', '--refresh']);
    expect(plan.out).toContain('1,000 items: 1,000 unchanged; 0 bytes to send');
    const verified = await place.run(['verify', manifest, '--portal', 'target', '--content']);
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('0 faults') });
  });
});

describe('an export that is killed', () => {
  it('20 times, with the portal down in the middle, leaves the same folder', { timeout: 600_000 }, async () => {
    const source = await (await generatePortal({ datasets: 60, resources: 140 })).serve('dkan-7.18');
    const gateway = await openGateway(source.url);
    const whole = placeFor(gateway);
    expect(await whole.run(['export', 'local', '-o', 'out'])).toMatchObject({ code: 0 });
    const range = gateway.requests.length;

    const place = placeFor(gateway);
    const seed = Number(process.env.FLOW_SEED ?? 1);
    process.stdout.write(`FLOW_SEED=${seed}\n`);
    const random = randomOf(seed);
    for (let kill = 0; kill < 20; kill++) {
      const process = place.start(['export', 'local', '-o', 'out']);
      let left = random.int(1, Math.ceil(range / 10));
      gateway.before = async () => {
        left -= 1;
        if (left === 0) await process.end('SIGKILL');
      };
      await waitUntil('the kill', () => process.hasEnded(), 60_000);
      if (kill === 10) {
        gateway.target = null;
        const inVain = place.start(['export', 'local', '-o', 'out']);
        await waitUntil(
          'requests in vain',
          () => gateway.requests.slice(-3).every(({ status }) => status === 502),
          30_000,
        );
        gateway.target = source.url;
        await inVain.end('SIGKILL');
      }
    }
    gateway.before = () => undefined;
    expect(await place.run(['export', 'local', '-o', 'out'])).toMatchObject({ code: 0 });
    expect(await hashesIn(join(place.dir, 'out'))).toEqual(await hashesIn(join(whole.dir, 'out')));
  });
});
