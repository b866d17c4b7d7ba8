// Large exports, and exports that are killed: the folder is the same in the end, and what it costs stays flat.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProfileName } from '../../src/embedded-portal/portal.ts';
import { startTestPortal, type TestPortal } from '../support/portal.ts';
import { reportIn } from '../support/printed.ts';
import { randomOf } from '../support/random.ts';
import { waitUntil } from '../support/wait-until.ts';
import { hashesIn } from './support/folder.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import { generatePortal } from './support/generated-portal.ts';
import { asPublished } from './support/odd-nodes.ts';
import { makePlace, type Place, withReport } from './support/place.ts';
import { type Contents, portalContents } from './support/portal-contents.ts';
import { isCatalogue } from './support/published-schemas.ts';
import { remoteConfig, writePassword } from './support/server.ts';

const placeFor = (gateway: Gateway, more: Record<string, unknown> = {}): Place => {
  const place = makePlace({ ...remoteConfig(gateway.url, { username: 'admin' }), ...more });
  writePassword(place.dir, 'pass');
  return place;
};

const contentsOf = async (portal: TestPortal) => portalContents(portal, await portal.as('admin'));

/** Of the generated portals; `SIZE=300,700` is the full one. */
const [datasets = 0, resources = 0] = (process.env.SIZE ?? '40,90').split(',').map(Number);

/**
 * What is compared: rows only between portals that both tell them. The form of the specification's portal has a format of its
 * own for texts without one.
 */
const compared = (contents: Contents[], portals: ProfileName[]): Contents[] =>
  asPublished(contents)
    .map((dataset) => {
      const [body] = (dataset.fields.body ?? []) as Record<string, unknown>[];
      const isForm = portals.includes('spec') && body !== undefined;
      const fields = isForm ? { ...dataset.fields, body: [{ format: 'html', ...body }] } : dataset.fields;
      const tellRows = portals.every((profile) => profile.startsWith('dkan-7.18'));
      const resources = (dataset.resources ?? []).map((one) => (tellRows ? one : { ...one, rows: null }));
      return { ...dataset, fields, resources };
    })
    .sort((a, b) => (JSON.stringify([a.title, a.fields.body]) < JSON.stringify([b.title, b.fields.body]) ? -1 : 1));

describe('a large export of everything that real portals have', () => {
  it.each([
    ['dkan-7.18', 'dkan-7.18'],
    ['dkan-7.18.16', 'dkan-7.18.16'],
    ['dkan-7.18', 'spec'],
    ['spec', 'spec'],
    ['dkan-7.14', 'dkan-7.18'],
  ] as const)('from %s is the same portal on %s', { timeout: 900_000 }, async (profile, other) => {
    const store = await generatePortal({ datasets, resources, isOdd: true });
    const source = await store.serve(profile);
    const target = await startTestPortal({ profile: other, races: false });
    const admin = await target.as('admin');
    for (const title of ['Parks Department', 'Water, Works & Roads']) await admin.create({ type: 'group', title });
    const [from, to] = [await openGateway(source.url), await openGateway(target.url)];
    const portals = {
      source: remoteConfig(from.url, { username: 'admin', concurrency: 4 }).portals.local,
      target: remoteConfig(to.url, { username: 'admin', concurrency: 4 }).portals.local,
    };
    // No job is taken for stalled, and done twice, on a busy machine.
    const place = makePlace({ portals, jobs: {} });
    writePassword(place.dir, 'pass');

    const first = await place.run(['export', 'source', '-o', 'out', '--json']);
    const report = reportIn(first.out);
    const { dataset = {}, resource = {} } = report.counts;
    expect([Object.keys(dataset), Object.keys(resource)]).toEqual([['done'], ['done']]);
    const [all, own] = [dataset.done ?? 0, resource.done ?? 0];
    expect([all, own].map((count, index) => count > ([datasets, resources][index] ?? 0))).toEqual([true, true]);
    const files = report.items.filter(({ file }) => file !== null).length;
    // Strays are listed and read once more, with their dataset; lost files are asked for several times.
    // A portal that searches one table at a time is asked for each.
    const alone = profile === 'spec' ? files : 0;
    const odd = own / 20 + 60 + alone;
    expect(from.requests.length).toBeLessThanOrEqual(14 + all / 20 + all + own + files + own / 18 + odd);

    const [hashes, asked] = [await hashesIn(join(place.dir, 'out')), from.requests.length];
    const second = await place.run(['export', 'source', '-o', 'out', '--json']);
    expect(reportIn(second.out).counts).toEqual({
      dataset: { unchanged: all },
      resource: { unchanged: own },
      actions: {},
    });
    expect(await hashesIn(join(place.dir, 'out'))).toEqual(hashes);
    expect(from.requests.length - asked).toBeLessThanOrEqual(1 + all / 20 + own / 19 + 30);

    const manifest = join(place.dir, 'out', 'manifest.yaml');
    const published = withReport(await place.run(['publish', manifest, '--portal', 'target', '--json']));
    expect(published.report.items.flatMap(({ key, reason }) => (reason ? [{ key, reason }] : []))).toEqual([]);
    const both: ProfileName[] = [profile, other];
    expect(compared(await contentsOf(target), both)).toEqual(compared(await contentsOf(source), both));
    const plan = await place.run(['plan', manifest, '--portal', 'target', '--refresh']);
    const items = published.report.items.length;
    expect(plan.out.replaceAll(',', '')).toContain(`${items} items: ${items} unchanged\n`);
    const verified = await place.run(['verify', manifest, '--portal', 'target', '--content']);
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('0 faults') });
    const catalogue = JSON.parse(readFileSync(join(place.dir, 'out', 'catalogue.json'), 'utf8'));
    expect({ isValid: isCatalogue(catalogue), errors: isCatalogue.errors }).toEqual({ isValid: true, errors: null });
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
      const process = place.spawn(['export', 'local', '-o', 'out']);
      let left = random.int(1, Math.ceil(range / 10));
      gateway.before = async () => {
        left -= 1;
        if (left === 0) await process.end('SIGKILL');
      };
      await waitUntil('the kill', () => process.hasEnded());
      if (kill === 10) {
        gateway.target = null;
        const inVain = place.spawn(['export', 'local', '-o', 'out']);
        await waitUntil('requests in vain', () => gateway.requests.slice(-3).every(({ status }) => status === 502));
        gateway.target = source.url;
        await inVain.end('SIGKILL');
      }
    }
    gateway.before = () => undefined;
    expect(await place.run(['export', 'local', '-o', 'out'])).toMatchObject({ code: 0 });
    expect(await hashesIn(join(place.dir, 'out'))).toEqual(await hashesIn(join(whole.dir, 'out')));
  });
});
