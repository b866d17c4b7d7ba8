// `sluice publish` of a manifest to a portal process: what arrives, and that only changes are sent.
import { rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReportItem } from '../../src/model/report.ts';
import { reportsIn } from '../support/printed.ts';
import { openGatedPortal } from './support/gated-portal.ts';
import { type Gateway, isWrite } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import { doubles, type Reader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { publisher } from './support/server.ts';

let reader: Reader;
let gateway: Gateway;
beforeAll(async () => {
  ({ reader, gateway } = await openGatedPortal());
});

const budget = (changes: Record<string, unknown> = {}, spending: Record<string, unknown> = {}) => ({
  name: 'city',
  datasets: [
    {
      id: 'budget',
      title: 'City budget 2026',
      description: 'What the city spends',
      tags: ['budget'],
      license: 'cc-by',
      ...changes,
      resources: [
        { id: 'spending', title: 'Spending', file: 'data/spending.csv', ...spending },
        { id: 'revenue', title: 'Revenue', file: 'data/revenue.csv' },
        { id: 'faulty', title: 'Faulty', file: 'data/faulty.csv' },
        { id: 'page', title: 'The page', link: 'https://city.example/budget' },
        { id: 'service', title: 'The service', api: 'https://city.example/api' },
        { id: 'gone', title: 'Gone', file: 'data/gone.csv' },
        { id: 'notes', title: 'Notes', file: 'data/notes.txt' },
      ],
    },
    { id: 'draft', title: 'A draft', published: false, resources: [] },
  ],
});

describe('publish', () => {
  it('makes nodes, files and rows, sends nothing twice, and sends one request for one change', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write('data/spending.csv', 'department,amount\nParks,1200\n"Roads, bridges",3400\n');
    place.write('data/revenue.csv', 'source;amount\nTaxes;900\nFees;120\nGrants;77\n');
    place.write('data/faulty.csv', 'a,,c\n1,2,3\n');
    place.write('data/notes.txt', 'no table at all\n');
    const manifest = place.manifest(budget());

    const first = await place.publish(manifest);
    expect(first.code).toBe(3);
    expect(first.err).toBe('');
    expect(first.report).toMatchObject({
      manifest: 'city',
      portal: 'local',
      reason: null,
      counts: { dataset: { done: 2 }, resource: { done: 5, quarantined: 1, failed: 1 } },
    });
    const of = (key: string): ReportItem => itemOf(first.report, key);
    expect(of('city/budget/faulty')).toMatchObject({
      outcome: 'quarantined',
      live: false,
      nid: null,
      reason: { code: 'table-header', line: 1, column: 2 },
    });
    expect(of('city/budget/faulty').jobId).toMatch(/\.resource\./);
    expect(of('city/budget/gone').reason?.code).toBe('source-missing');
    expect(of('city/budget/spending')).toMatchObject({
      outcome: 'done',
      live: true,
      rows: 2,
      actions: ['created', 'attached', 'imported'],
    });
    expect(of('city/budget/revenue')).toMatchObject({ live: true, rows: 3 });
    expect(of('city/budget/notes')).toMatchObject({ live: true, rows: null, actions: ['created', 'attached'] });
    expect(of('city/draft')).toMatchObject({ outcome: 'done', live: false, reason: null });

    const rows = await reader.list();
    expect(rows.map(({ title }) => title).sort()).toEqual([
      'A draft',
      'City budget 2026',
      'Notes',
      'Revenue',
      'Spending',
      'The page',
      'The service',
    ]);
    expect(rows.find(({ title }) => title === 'A draft')?.status).toBe('0');
    expect(rows.find(({ title }) => title === 'Spending')?.uuid).toBe(of('city/budget/spending').uuid);
    const spendingNid = of('city/budget/spending').nid ?? '';
    expect(await reader.file(spendingNid)).toMatchObject({
      name: 'spending.csv',
      content: 'department,amount\nParks,1200\n"Roads, bridges",3400\n',
    });
    expect(await reader.records(of('city/budget/spending').uuid)).toMatchObject([
      { department: 'Parks', amount: '1200' },
      { department: 'Roads, bridges', amount: '3400' },
    ]);
    expect(await reader.count(of('city/budget/revenue').uuid)).toBe(3);
    expect(await reader.read(of('city/budget/page').nid ?? '')).toMatchObject({
      field_link_api: { und: [{ url: 'https://city.example/budget' }] },
    });
    expect(await reader.read(of('city/budget/service').nid ?? '')).toMatchObject({
      field_link_api: { und: [{ url: 'https://city.example/api' }] },
    });
    const dataset = await reader.read(of('city/budget').nid ?? '');
    expect(dataset).toMatchObject({ body: { und: [{ value: 'What the city spends' }] } });

    // Nothing changed: no write at all, for those that failed neither.
    gateway.takeWrites();
    const second = await place.publish(manifest);
    expect(second.code).toBe(3);
    expect(gateway.takeWrites()).toEqual([]);
    expect(itemOf(second.report, 'city/budget/spending')).toMatchObject({
      outcome: 'unchanged',
      live: true,
      rows: 2,
    });

    // What failed is fixed: only that is sent.
    place.write('data/faulty.csv', 'a,b,c\n1,2,3\n');
    place.write('data/gone.csv', 'x\n1\n');
    const mended = await place.publish(manifest);
    expect(mended.code).toBe(0);
    // The last one adds both to the list of their dataset.
    expect(gateway.takeWrites()).toHaveLength(5);
    expect(mended.report.counts.actions).toEqual({ updated: 1, created: 2, attached: 2, imported: 2 });

    // One title: one update.
    place.manifest(budget({ title: 'City budget 2027' }));
    expect((await place.publish(manifest)).code).toBe(0);
    expect(gateway.takeWrites()).toEqual([`PUT /api/dataset/node/${of('city/budget').nid}`]);
    expect((await reader.read(of('city/budget').nid ?? '')).title).toBe('City budget 2027');

    // One file: one attach.
    place.write('data/spending.csv', 'department,amount\nParks,1300\n');
    const changed = await place.publish(manifest);
    expect(changed.code).toBe(0);
    expect(gateway.takeWrites()).toEqual([`POST /api/dataset/node/${spendingNid}/attach_file`]);
    expect(await reader.records(of('city/budget/spending').uuid)).toMatchObject([
      { department: 'Parks', amount: '1300' },
    ]);

    // A field that leaves the manifest is emptied.
    place.manifest(budget({ title: 'City budget 2027', description: undefined, tags: undefined }));
    expect((await place.publish(manifest)).code).toBe(0);
    expect(gateway.takeWrites()).toHaveLength(1);
    const emptied = await reader.read(of('city/budget').nid ?? '');
    expect(emptied.body).toEqual([]);
    expect(emptied.field_tags).toEqual([]);

    // A good file that becomes faulty: the old one stays, and is reported as stale.
    place.write('data/revenue.csv', 'source;amount\nTaxes;900;1\n');
    const stale = await place.publish(manifest);
    expect(stale.code).toBe(3);
    expect(gateway.takeWrites()).toEqual([]);
    expect(itemOf(stale.report, 'city/budget/revenue')).toMatchObject({
      outcome: 'quarantined',
      live: false,
      stale: true,
      reason: { code: 'table-ragged', line: 2 },
    });
    expect(await reader.count(of('city/budget/revenue').uuid)).toBe(3);
    expect(doubles(await reader.list())).toEqual([]);
  });

  it('looks for new datasets together before it creates them', async () => {
    const place = makeRemotePlace(gateway.url);
    const datasets = Array.from({ length: 12 }, (_, n) => {
      place.write(`data/${n}.csv`, 'a,b\n1,2\n');
      return { id: `d${n}`, title: `Together ${n}`, resources: [{ id: 't', title: `${n}`, file: `data/${n}.csv` }] };
    });
    const before = gateway.requests.length;
    expect((await place.publish(place.manifest({ name: 'together', datasets }))).code).toBe(0);
    const lookups = gateway.requests.slice(before).filter(({ path }) => path.includes('parameters%5Buuid%5D'));
    // Ten datasets with a resource each fit into one request; on a slow machine an answer may be too old for the last.
    expect(lookups.length).toBeLessThan(12);
    expect(doubles((await reader.list()).filter(({ title }) => title.startsWith('Together')))).toEqual([]);
  });

  it('creates again what was deleted on the portal by hand, and restores what was edited there', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write('data/a.csv', 'a\n1\n');
    const content = (title: string) => ({
      name: 'hands',
      onDrift: 'overwrite',
      datasets: [{ id: 'one', title, resources: [{ id: 'a', title: 'Table of hands', file: 'data/a.csv' }] }],
    });
    const manifest = place.manifest(content('Hands'));
    const first = await place.publish(manifest);
    expect(first.code).toBe(0);
    const before = itemOf(first.report, 'hands/one/a').nid ?? '';
    await reader.remove(before);

    place.write('data/a.csv', 'a\n1\n2\n');
    const again = await place.publish(manifest);
    expect(again.code).toBe(0);
    expect(itemOf(again.report, 'hands/one/a')).toMatchObject({ live: true, rows: 2 });
    expect(itemOf(again.report, 'hands/one/a').actions).toContain('recreated');
    const now = itemOf(again.report, 'hands/one/a');
    expect(now.nid).not.toBe(before);
    expect(await reader.count(now.uuid)).toBe(2);

    // Edited by hand while the file changes: the wish of the manifest counts.
    await reader.change(now.nid ?? '', { title: 'Edited by hand' });
    place.write('data/a.csv', 'a\n1\n2\n3\n');
    const restored = await place.publish(manifest);
    expect(restored.report.items.map(({ reason }) => reason)).toEqual([null, null]);
    expect(restored.code).toBe(0);
    expect((await reader.read(now.nid ?? '')).title).toBe('Table of hands');

    // The dataset too.
    await reader.remove(itemOf(first.report, 'hands/one').nid ?? '');
    place.manifest(content('More hands'));
    const both = await place.publish(manifest);
    expect(both.code).toBe(0);
    const dataset = itemOf(both.report, 'hands/one').nid;
    expect(await reader.read(itemOf(both.report, 'hands/one/a').nid ?? '')).toMatchObject({
      field_dataset_ref: { und: [{ target_id: dataset }] },
    });
    expect(doubles(await reader.list())).toEqual([]);
  });

  it('links a new resource although the deletion beside it fails, and then loses its reply', async () => {
    const place = makeRemotePlace(gateway.url);
    const resource = (id: string) => {
      const file = place.write(`data/${id}.csv`, `id\n${id}\n`);
      return { id, title: `Reply of ${id}`, file };
    };
    const manifestOf = (ids: string[]): string =>
      place.manifest({
        name: 'replies',
        onMissing: 'delete',
        datasets: [{ id: 'all', title: 'All replies', resources: ids.map(resource) }],
      });
    const first = await place.publish(manifestOf(['stays', 'goes']));
    expect(first.code, first.err).toBe(0);
    let deletions = 0;
    const breakIf = (isBroken: boolean): void => {
      if (isBroken) throw new Error('the connection breaks');
    };
    gateway.before = ({ method }) => {
      if (method === 'DELETE') deletions += 1;
      breakIf(method === 'DELETE' && deletions === 1);
    };
    gateway.after = ({ method }) => breakIf(method === 'DELETE' && deletions === 2);
    const second = await place.publish(manifestOf(['stays', 'comes']));
    gateway.after = gateway.before = () => undefined;
    expect(deletions).toBe(2);
    expect(second.code, second.err).toBe(0);
    const rows = (await reader.list()).filter(({ title }) => title.startsWith('Reply of'));
    expect(rows.map(({ title }) => title).sort()).toEqual(['Reply of comes', 'Reply of stays']);
    const { nid } = itemOf(second.report, 'replies/all');
    const { field_resources } = await reader.read(nid ?? '');
    const nidOf = (title: string) => rows.find((row) => row.title === title)?.nid;
    expect(field_resources).toEqual({
      und: [{ target_id: nidOf('Reply of stays') }, { target_id: nidOf('Reply of comes') }],
    });
    expect((await place.publish(manifestOf(['stays', 'comes']))).report.counts.actions).toEqual({});
  });

  it('adopts what is already on the portal when the ledger was lost, without a double and without a second write', async () => {
    const place = makeRemotePlace(gateway.url, {}, 'embedded');
    place.write('data/a.csv', 'a\n1\n');
    const manifest = place.manifest({
      name: 'lost',
      datasets: [{ id: 'one', title: 'Lost', resources: [{ id: 'a', title: 'Lost table', file: 'data/a.csv' }] }],
    });
    expect((await place.publish(manifest)).code).toBe(0);
    const before = await reader.list();
    rmSync(join(place.stateDir, 'redis', 'data'), { recursive: true });
    gateway.takeWrites();
    const adopted = await place.publish(manifest);
    expect(adopted.code).toBe(0);
    expect(itemOf(adopted.report, 'lost/one')).toMatchObject({ live: true, actions: ['adopted'] });
    expect(itemOf(adopted.report, 'lost/one/a')).toMatchObject({ live: true, rows: 1 });
    expect(await reader.list()).toEqual(before);
    gateway.takeWrites();
    expect((await place.publish(manifest)).code).toBe(0);
    expect(gateway.takeWrites()).toEqual([]);
  });

  it('takes what a watcher that was just killed had in its hands', async () => {
    const place = makeRemotePlace(gateway.url);
    const claim = 'inbox/.sluice/spool/1795700000000-0123abcd';
    place.write(`${claim}/file/bikes.csv`, 'id,name\n1,a\n2,b\n');
    utimesSync(join(place.dir, claim), new Date(), new Date(Date.now() - 7000));
    const manifest = place.manifest({ name: 'dropped', drop: { folder: 'inbox', files: '*.csv' } });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    expect(itemOf(report, 'dropped/bikes/bikes')).toMatchObject({ live: true, rows: 2 });
  });

  it('reports the files of a run that was interrupted, which the next one no longer finds', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write('inbox/good/good.csv', 'id,name\n1,a\n');
    place.write('inbox/bad/bad.csv', 'id,name\n1\n');
    const manifest = place.manifest({ name: 'halted', drop: { folder: 'inbox', settle: '100ms' } });
    const first = place.start(['publish', manifest]);
    const begun = Promise.withResolvers<void>();
    gateway.before = (passed) => void (isWrite(passed) && begun.resolve());
    await begun.promise;
    expect(await first.end('SIGINT')).toBe(130);
    gateway.before = () => undefined;
    const { code, out } = await place.run(['publish', manifest, '--json']);
    expect(code).toBe(3);
    const items = reportsIn(out).flatMap((report) => report.items);
    expect(itemOf({ items }, 'halted/good/good')).toMatchObject({ live: true });
    expect(itemOf({ items }, 'halted/bad/bad')).toMatchObject({ outcome: 'quarantined' });
    expect(reportsIn((await place.run(['publish', manifest, '--json'])).out)).toHaveLength(1);
  });

  it('says that drafts are not seen, and how to publish them', async () => {
    const place = makeRemotePlace(gateway.url);
    const resources = [{ id: 'a', title: 'A', file: place.write('data/a.csv', 'a\n1\n') }];
    const publish = async (published: boolean) => {
      const datasets = [
        { id: 'd', title: 'Held back', published, resources: resources.map((of) => ({ ...of, published })) },
      ];
      return (await place.run(['publish', place.manifest({ name: 'hidden', datasets })])).out;
    };
    const told =
      'drafts: visitors do not see 2 items; remove `published: false` from the manifest, and publish again\n';
    expect(await publish(false)).toContain(told);
    expect(await publish(true)).not.toContain('drafts:');
  });

  it('prints people the reason, the remedy and the faulty line; logs hold no row, and nothing the password', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write('data/secret.csv', 'name,code\nx,cell-value-4711\ny,cell-value-4712,z\n');
    const manifest = place.manifest({
      name: 'told',
      datasets: [{ id: 'one', title: 'Told', resources: [{ id: 'a', title: 'Told table', file: 'data/secret.csv' }] }],
    });
    const { code, out, err } = await place.run(['publish', manifest, '--verbose']);
    expect(code).toBe(3);
    expect(out).toContain('table-ragged: line 3');
    expect(out).toContain('-> ');
    expect(err).toContain('step done');
    expect(out).toContain('| y,cell-value-4712,z\n');
    expect(out).not.toContain('4711');
    expect(err).not.toContain('cell-value');
    expect(out + err).not.toContain(publisher.password);
  });

  it('ends with 2 for a faulty manifest or a missing one, sending nothing', async () => {
    const place = makeRemotePlace(gateway.url);
    const manifest = place.manifest({ name: 'bad', datasets: [{ id: 'NOT AN ID', title: 'x' }], colour: 'red' });
    gateway.takeWrites();
    const { code, out, err } = await place.run(['publish', manifest, '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(out).error.code).toBe('manifest');
    expect(err).toContain('colour');
    expect(err).toContain('datasets.0.id');
    expect((await place.run(['publish', 'nowhere.yaml'])).code).toBe(2);
    expect(gateway.takeWrites()).toEqual([]);
  });
});
