// `sluice export`: a portal becomes a folder, which the next export only brings up to date.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
import type { PlacedFinding } from '../../src/pipeline/export/summary.ts';
import { cases, isWhole } from '../support/extent.ts';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';
import { reportIn } from '../support/printed.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import { generatePortal } from './support/generated-portal.ts';
import { makePlace, type Place } from './support/place.ts';
import { isCatalogue, isDataPackage } from './support/published-schemas.ts';
import { remoteConfig, writePassword } from './support/server.ts';

interface There {
  portal: TestPortal;
  gateway: Gateway;
  place: Place;
  admin: Caller;
}

const size = cases({ datasets: 25, resources: 60 }, { datasets: 15, resources: 30 });

const open = async (): Promise<There> => {
  const portal = await (await generatePortal(size)).serve('dkan-7.18');
  const gateway = await openGateway(portal.url);
  // No job is taken for stalled, and done twice, on a busy machine.
  const place = makePlace({ ...remoteConfig(gateway.url, { username: 'admin' }), jobs: {} });
  writePassword(place.dir, 'pass');
  return { portal, gateway, place, admin: await portal.as('admin') };
};

const exported = async ({ place }: There, folder: string, ...more: string[]): Promise<Report> => {
  const { code, out, err } = await place.run(['export', 'local', '-o', folder, '--json', ...more]);
  const report = out === '' ? null : reportIn(out);
  const reasons = [report?.reason, ...(report?.items ?? []).map(({ reason }) => reason)].filter(Boolean);
  expect({ code, err, reasons }).toEqual({ code: 0, err: '', reasons: [] });
  return report as Report; // its code says that there is one
};

/** Every file below a folder with its time of change. */
const filesIn = async (folder: string): Promise<Map<string, number>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((path) => [path.slice(folder.length + 1), statSync(path, { bigint: false }).mtimeMs]));
};

const jsonIn = <T>(...path: string[]): T => JSON.parse(readFileSync(join(...path), 'utf8'));
const findingsIn = (folder: string): PlacedFinding[] => jsonIn(folder, 'findings.json');

describe('export', () => {
  let there: There;
  let whole: Report;
  /** Where `whole` was exported to. */
  let folder: string;
  beforeAll(async () => {
    there = await open();
    whole = await exported(there, 'whole');
    folder = join(there.place.dir, 'whole');
  });

  it('takes every dataset, resource and file, and a second time nothing', async () => {
    const { gateway, place } = there;
    gateway.requests.length = 0;
    const report = await exported(there, 'first');
    const asked = gateway.requests.length;
    expect(report.counts).toMatchObject({ dataset: { done: size.datasets }, resource: { done: size.resources } });
    // Login and lists; each node and each file once; tables, 20 at a time; names of terms.
    const files = report.items.filter(({ file }) => file !== null).length;
    expect(asked).toBeLessThanOrEqual(
      20 + size.datasets / 20 + size.datasets + size.resources / 19 + size.resources + files + size.resources / 18,
    );
    const folder = join(place.dir, 'first');
    const before = await filesIn(folder);
    const again = await exported(there, 'first');
    expect(again.counts).toMatchObject({
      dataset: { unchanged: size.datasets },
      resource: { unchanged: size.resources },
    });
    expect(await filesIn(folder)).toEqual(before);
    expect(gateway.requests.length - asked).toBeLessThanOrEqual(1 + size.datasets / 20 + size.resources / 19 + 15);
  });

  it('keeps what the portal says of a node beside what it means, and nothing of people', async () => {
    for (const name of await readdir(join(folder, 'datasets'))) {
      const text = readFileSync(join(folder, 'datasets', name, 'datapackage.json'), 'utf8');
      const { sluice, resources } = JSON.parse(text);
      expect(sluice.node).toMatchObject({ type: 'dataset', name: 'admin', field_contact_name: expect.anything() });
      expect(resources.length).toBeGreaterThan(0);
      expect(text).not.toMatch(/"(?:pass|mail|sessid|token|picture|data)": "/);
    }
  });

  it('writes data packages and a catalogue that are valid', async () => {
    for (const name of await readdir(join(folder, 'datasets'))) {
      const isValid = isDataPackage(jsonIn(folder, 'datasets', name, 'datapackage.json'));
      expect({ name, isValid, errors: isDataPackage.errors }).toEqual({ name, isValid: true, errors: null });
    }
    const catalogue = jsonIn<{ dataset: { title: string }[] }>(folder, 'catalogue.json');
    const isValid = isCatalogue(catalogue);
    expect({ isValid, errors: isCatalogue.errors }).toEqual({ isValid: true, errors: null });
    const drafts = findingsIn(folder).filter(({ code, resource }) => code === 'draft' && resource === null).length;
    expect(catalogue.dataset).toHaveLength(size.datasets - drafts);
  });

  it('takes only what changed, and marks what is gone', async () => {
    const { admin, place } = there;
    const first = await exported(there, 'changes');
    const folder = join(place.dir, 'changes');
    const [one, other] = first.items.filter(({ kind, file }) => kind === 'resource' && file?.name.endsWith('.csv'));
    const dataset = first.items.find(
      ({ kind, key }) => kind === 'dataset' && !other?.key.startsWith(key) && !one?.key.startsWith(key),
    );
    await admin.attach(one?.nid ?? '', { name: one?.file?.name ?? '', content: 'id,what\n1,new\n' });
    await admin.send('DELETE', `/api/dataset/node/${other?.nid}`, { headers: { 'content-type': 'application/json' } });
    await admin.send('DELETE', `/api/dataset/node/${dataset?.nid}`, {
      headers: { 'content-type': 'application/json' },
    });
    const before = await filesIn(folder);
    const report = await exported(there, 'changes');
    const done = report.items.filter(({ outcome }) => outcome === 'done');
    expect(done.find(({ key }) => key === one?.key)?.file?.bytes).toBe(14);
    expect(done.find(({ key }) => key === dataset?.key)?.actions).toEqual(['marked as removed']);
    const after = await filesIn(folder);
    expect([...before.keys()].filter((path) => !after.has(path))).toEqual([]);
    const manifest = readFileSync(join(folder, 'manifest.yaml'), 'utf8');
    const slug = dataset?.key.split('/')[1] ?? '';
    expect(manifest).not.toContain(`id: ${slug}\n`);
    expect(
      jsonIn<{ sluice: { removed: string } }>(folder, 'datasets', slug, 'datapackage.json').sluice.removed,
    ).toMatch(/^\d{4}-/);
    expect((await exported(there, 'changes')).counts.dataset).toEqual({ unchanged: expect.any(Number) });
  });

  it.runIf(isWhole)('finds what changed among many', async () => {
    const portal = await (await generatePortal({ datasets: 6, resources: 130 })).serve('dkan-7.18');
    const gateway = await openGateway(portal.url);
    // No job is taken for stalled, and done twice, on a busy machine.
    const place = makePlace({ ...remoteConfig(gateway.url, { username: 'admin' }), jobs: {} });
    writePassword(place.dir, 'pass');
    const many = { portal, gateway, place, admin: await portal.as('admin') };
    const first = await exported(many, 'many');
    const [one, two, three] = first.items.filter(({ kind }) => kind === 'resource');
    const done = async (): Promise<string[]> =>
      (await exported(many, 'many')).items.filter(({ outcome }) => outcome === 'done').map(({ key }) => key);
    await many.admin.send('PUT', `/api/dataset/node/${one?.nid}`, { body: { title: 'Another title' } });
    expect(await done()).toContain(one?.key);
    expect(await done()).toEqual([]);
    await many.admin.send('PUT', `/api/dataset/node/${two?.nid}`, { body: { status: 0 } });
    expect(await done()).toContain(two?.key);
    await many.admin.send('DELETE', `/api/dataset/node/${three?.nid}`, {
      headers: { 'content-type': 'application/json' },
    });
    expect((await done()).length).toBeGreaterThan(0);
    const parent = first.items.find(({ kind }) => kind === 'dataset')?.nid;
    const body = { type: 'resource', title: 'Fresh', uid: '1', field_dataset_ref: { und: [{ target_id: parent }] } };
    await many.admin.create(body);
    expect((await done()).some((key) => key.endsWith('/fresh'))).toBe(true);
  });

  it('reports a resource that joined a dataset whose node tells nothing of it', async () => {
    const dataDir = tempDir();
    const portal = await startTestPortal({ dataDir });
    const admin = await portal.as('admin');
    const nid = await admin.create({ type: 'dataset', title: 'Parks' });
    const place = makePlace(remoteConfig(portal.url, { username: 'admin' }));
    writePassword(place.dir, 'pass');
    const quiet = { portal, place, admin, gateway: await openGateway(portal.url) };
    await exported(quiet, 'joined');
    // Saved twice in one second, the dataset shows the same time; a rewrite of its links makes no revision everywhere.
    const database = new DatabaseSync(join(dataDir, 'portal.db'));
    const row = database.prepare('SELECT vid, changed FROM node WHERE nid = ?').get(nid);
    await admin.create({ type: 'resource', title: 'Fresh', field_dataset_ref: { und: [{ target_id: nid }] } });
    database.prepare('UPDATE node SET vid = ?, changed = ? WHERE nid = ?').run(row?.vid ?? 0, row?.changed ?? 0, nid);
    database.close();
    const { items } = await exported(quiet, 'joined');
    expect(items.map(({ key, outcome }) => [key.slice(key.indexOf('/')), outcome])).toEqual([
      ['/parks', 'done'],
      ['/parks/fresh', 'done'],
    ]);
  });

  it('takes without a login what the public may read', async () => {
    const { place } = there;
    const report = await exported(there, 'public', '--public');
    const text = readFileSync(join(place.dir, 'public', 'manifest.yaml'), 'utf8');
    expect(text).not.toContain('published: false');
    expect(report.items.every(({ live, kind }) => live || kind === 'dataset')).toBe(true);
    expect(findingsIn(join(place.dir, 'public')).filter(({ code }) => code === 'draft')).toEqual([]);
    const open = { portals: { local: { kind: 'remote', url: there.gateway.url, requestsPerSecond: 0 } }, jobs: {} };
    const other = { place: makePlace(open) };
    const named = await exported({ ...there, ...other }, 'named');
    expect(named.counts).toEqual(report.counts);
    other.place.write('jobs/x.yaml', 'name: x\nportal: local\ndatasets: [{ id: a, title: A }]\n');
    const refused = await other.place.run(['publish', 'jobs/x.yaml', '--json']);
    expect([refused.code, refused.out + refused.err]).toEqual([
      3,
      expect.stringContaining('has no login, so it can only be'),
    ]);
    expect(whole.items.length).toBeGreaterThan(report.items.length);
    expect(findingsIn(folder).filter(({ code }) => code === 'draft').length).toBeGreaterThan(0);
  });

  it('takes single datasets, and no files where none are wanted', async () => {
    const { place } = there;
    const report = await exported(there, 'some', '--only', 'Dataset 1*', '--files', 'none');
    expect(report.items.filter(({ kind }) => kind === 'dataset').length).toBeGreaterThan(1);
    expect(report.items.every(({ file }) => file === null)).toBe(true);
    expect((await filesIn(join(place.dir, 'some'))).keys().some((path) => path.includes('/data/'))).toBe(false);
    expect(readFileSync(join(place.dir, 'some', 'manifest.yaml'), 'utf8')).toContain('/sites/default/files/');
    const none = await place.run(['export', 'local', '-o', 'none', '--only', 'Datset 1*', '--json']);
    expect([none.code, none.out]).toEqual([2, expect.stringContaining('no dataset of the portal matches')]);
  });

  it('does not touch a folder that holds something else, or the export of another portal', async () => {
    const { place } = there;
    place.write('strange/notes.txt', 'mine');
    const strange = await place.run(['export', 'local', '-o', 'strange', '--json']);
    expect(strange.out + strange.err).toContain('is neither empty nor an export');
    place.write('other/export.json', JSON.stringify({ sluiceExport: 1, portal: 'http://127.0.0.1:1' }));
    const other = await place.run(['export', 'local', '-o', 'other', '--json']);
    expect(other.out + other.err).toContain('holds an export of http://127.0.0.1:1');
    expect(existsSync(join(place.dir, 'strange', 'manifest.yaml'))).toBe(false);
  });
});
