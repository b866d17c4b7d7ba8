// What real portals have that they should not: each is exported as what it is, said so, and nothing leaves the folder.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ReportItem } from '../../src/model/report.ts';
import { readRecord } from '../../src/pipeline/export/folder.ts';
import type { PlacedFinding } from '../../src/pipeline/export/summary.ts';
import { cases } from '../support/extent.ts';
import { type FakeNode, type FakePortal, startFakePortal, withFile } from './support/fake-portal.ts';
import { makePlace, type Place } from './support/place.ts';
import { isDataPackage } from './support/published-schemas.ts';
import { remoteConfig, writePassword } from './support/server.ts';

const placeFor = (portal: FakePortal, attempts = 2): Place => {
  const place = makePlace({
    ...remoteConfig(portal.url),
    retry: { backoff: '50ms', maxBackoff: '100ms', attempts },
    http: { readRetries: 0 },
  });
  writePassword(place.dir);
  return place;
};

const dataset = (nid: string, title: string, ...resources: string[]): FakeNode => ({
  nid,
  type: 'dataset',
  title,
  field_resources: { und: resources.map((target_id) => ({ target_id })) },
});

const sends =
  (text: string, headers: Record<string, string> = { 'content-type': 'text/csv' }) =>
  (_request: unknown, response: ServerResponse): void => {
    response.writeHead(200, headers);
    response.end(text);
  };

const all = (place: Place, folder = 'out'): string[] =>
  readdirSync(join(place.dir, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(place.dir, folder).length + 1))
    .sort();

const codesIn = (place: Place): Record<string, string[]> => {
  const findings = JSON.parse(readFileSync(join(place.dir, 'out', 'findings.json'), 'utf8')) as PlacedFinding[];
  return Object.fromEntries(
    [...Map.groupBy(findings, ({ code }) => code)].map(([code, some]) => [
      code,
      some.map(({ nid }) => nid ?? '').sort(),
    ]),
  );
};

const exported = async (place: Place): Promise<void> => {
  const { code, out, err } = await place.run(['export', 'local', '-o', 'out']);
  expect(code, `${out}\n${err}`).toBe(0);
};

describe('export of an odd portal', () => {
  it('keeps every name in the folder, short, and apart from others', async () => {
    const evil = '../../../etc/passwd';
    const portal = await startFakePortal([
      dataset('1', '../../etc', '11', '12', '13', '14', '15'),
      dataset('2', 'CON'),
      dataset('3', 'x'.repeat(300)),
      dataset('4', 'Same'),
      dataset('5', 'same'),
      dataset('6', '///'),
      withFile('11', '1', evil, 'public://evil'),
      withFile('15', '1', 'up.csv', 'public://../../up.csv'),
      withFile('12', '1', 'DATA.csv', 'public://a/DATA.csv'),
      withFile('13', '1', 'data.csv', 'public://b/data.csv'),
      withFile('14', '1', `${'ü'.repeat(300)}.csv`, 'public://long.csv'),
    ]);
    for (const name of ['evil', 'a/DATA.csv', 'b/data.csv', 'long.csv']) portal.files.set(name, sends('a\n1'));
    const place = placeFor(portal);
    await exported(place);
    expect(all(place).filter((path) => !path.endsWith('datapackage.json'))).toEqual([
      'catalogue.json',
      'ckan-batch.jsonl',
      'datasets/etc/data/2/data.csv',
      'datasets/etc/data/DATA.csv',
      'datasets/etc/data/_._._etc_passwd',
      expect.stringMatching(/^datasets\/etc\/data\/ü{120,125}\.csv$/),
      'dcat-ap.jsonld',
      'dcat-us-3.json',
      'export.json',
      'findings.json',
      'manifest.yaml',
    ]);
    expect(readdirSync(join(place.dir, 'out', 'datasets'))).toEqual([
      'dataset-6',
      'etc',
      'same',
      'same-2',
      'x-con',
      'x'.repeat(56),
    ]);
    expect(codesIn(place)).toEqual({
      'file-gone': ['15'],
      'file-name': ['11', '14'],
      'manifest-lacks': ['15'],
      'title-changed': ['3'],
    });
    for (const name of readdirSync(join(place.dir, 'out', 'datasets'))) {
      const text = readFileSync(join(place.dir, 'out', 'datasets', name, 'datapackage.json'), 'utf8');
      expect({ valid: isDataPackage(JSON.parse(text)), errors: isDataPackage.errors }).toEqual({
        valid: true,
        errors: null,
      });
    }
    const beside = readdirSync(place.dir).filter((name) => !name.startsWith('.'));
    expect(beside.sort()).toEqual(['config', 'out']);
    expect(await place.run(['plan', join(place.dir, 'out', 'manifest.yaml')])).toMatchObject({ code: 0 });
  });

  it('says what is odd, and takes rows where a file is gone', async () => {
    const uuid = '11111111-1111-4111-8111-111111111111';
    const remote: FakeNode = {
      nid: '16',
      type: 'resource',
      title: 'Remote',
      field_dataset_ref: { und: [{ target_id: '1' }] },
      field_link_remote_file: { und: [{ uri: 'https://example.org/far.csv' }] },
    };
    const both: FakeNode = {
      ...withFile('17', '1', 'both.csv'),
      field_link_api: { und: [{ url: 'https://example.org/api' }] },
    };
    const portal = await startFakePortal([
      {
        ...dataset('1', 'One', '11', '12', '13', '14', '16', '17', '99'),
        field_tags: { und: [{ tid: '7' }] },
        og_group_ref: { und: [{ target_id: '77' }] },
      },
      { ...dataset('2', '', '11'), status: '0', uuid },
      {
        ...withFile('11', '1', 'gone.csv'),
        uuid,
        field_dataset_ref: { und: [{ target_id: '1' }, { target_id: '2' }] },
      },
      { ...withFile('12', '1', 'lost.csv') },
      withFile('13', '1', 'page.csv'),
      { nid: '14', type: 'resource', title: 'Empty', field_dataset_ref: { und: [{ target_id: '1' }] } },
      withFile('15', '1', 'unlisted.csv'),
      remote,
      both,
      withFile('18', '', 'alone.csv'),
    ]);
    portal.rows.set(
      uuid,
      Array.from({ length: 2500 }, (_, index) => ({ id: String(index), what: 'a "quoted", value' })),
    );
    portal.files.set(
      'page.csv',
      sends('<!DOCTYPE html><h1>Sorry</h1>', { 'content-type': 'text/html; charset=utf-8' }),
    );
    for (const name of ['unlisted.csv', 'both.csv', 'alone.csv']) portal.files.set(name, sends('a,b\n1,2\n'));
    const place = placeFor(portal);
    await exported(place);
    expect(codesIn(place)).toEqual({
      draft: ['2'],
      'duplicate-uuid': ['11', '2'],
      'empty-resource': ['14'],
      'file-gone': ['11', '11', '12'],
      'file-is-page': ['13'],
      'file-size': ['15', '17', '18'],
      'group-unknown': ['1'],
      'in-several-datasets': ['11', '11'],
      'manifest-lacks': ['12', '13', '14'],
      'no-dataset': ['18'],
      'no-title': ['2'],
      'not-in-list': ['15'],
      'remote-file': ['16'],
      'resource-unreadable': ['1'],
      'rows-instead-of-file': ['11', '11'],
      'several-contents': ['17'],
      'term-unknown': ['1'],
    });
    const rows = readFileSync(join(place.dir, 'out', 'datasets', 'one', 'data', 'gone.csv'), 'utf8').split('\n');
    expect(rows).toHaveLength(2502);
    expect(rows.slice(0, 2)).toEqual(['id,what', '0,"a ""quoted"", value"']);
    expect(readdirSync(join(place.dir, 'out', 'datasets'))).toContain('no-dataset-18');
    const before = portal.requests.length;
    await exported(place);
    expect(portal.requests.slice(before).filter((line) => line.includes('/files/') || /node\/\d/.test(line))).toEqual(
      [],
    );
  });

  it('fails a dataset that is listed and may not be read, and neither calls it exported nor removed', async () => {
    const portal = await startFakePortal([
      dataset('1', 'One'),
      dataset('2', 'Two'),
      { nid: '11', type: 'resource', title: 'Stray' },
    ]);
    const place = placeFor(portal);
    await exported(place);
    for (const nid of ['2', '11', '3', '12']) portal.hidden.add(nid);
    portal.nodes.push(dataset('3', 'Three'), { nid: '12', type: 'resource', title: 'New stray' });
    for (const node of portal.nodes) node.vid = `${node.nid}0`;
    const { code, out } = await place.run(['export', 'local', '-o', 'out', '--json']);
    expect(code).toBe(3);
    const [report] = JSON.parse(out).reports;
    const failed = report.items.filter(({ outcome }: ReportItem) => outcome === 'failed');
    expect(failed.map(({ key, reason }: ReportItem) => [key.split('/')[1], reason?.code])).toEqual([
      ['three', 'portal-refused'],
      ['two', 'portal-refused'],
    ]);
    expect(report.counts.actions).toEqual({ exported: 3 });
    expect(codesIn(place)).toMatchObject({ 'empty-resource': ['11'], 'resource-unreadable': ['', '12'] });
    const [two, alone] = await Promise.all(
      ['two', 'no-dataset-11'].map((name) => readRecord(join(place.dir, 'out/datasets', name))),
    );
    expect(two).toMatchObject({ removed: null, node: { title: 'Two' } });
    expect(alone).toMatchObject({ removed: null, resources: [{ node: { title: 'Stray' } }] });
  });

  it('says which files the portal refuses or fails to serve, and takes the others', async () => {
    const portal = await startFakePortal([
      dataset('1', 'One', '11', '12', '13'),
      withFile('11', '1', 'secret.csv'),
      withFile('12', '1', 'broken.csv'),
      withFile('13', '1', 'sound.csv'),
    ]);
    const fails =
      (status: number) =>
      (_request: unknown, response: ServerResponse): void => {
        response.writeHead(status);
        response.end();
      };
    portal.files.set('secret.csv', fails(403));
    portal.files.set('broken.csv', fails(500));
    portal.files.set('sound.csv', sends('a\n1'));
    const place = placeFor(portal, 4);
    await exported(place);
    expect(codesIn(place)).toMatchObject({ 'file-refused': ['11'], 'file-unreachable': ['12'] });
    expect(all(place)).toContain('datasets/one/data/sound.csv');
    expect(portal.requests.filter((line) => line.endsWith('/sound.csv'))).toHaveLength(1);
  });

  it('takes files that are sent compressed as what they are, and none beyond the limit', async () => {
    const portal = await startFakePortal([
      dataset('1', 'One', '11', '12', '13', '14'),
      withFile('11', '1', 'sent.csv'),
      withFile('12', '1', 'large.csv'),
      withFile('13', '1', 'bomb.csv'),
      withFile('14', '1', `bad\n${'x'.repeat(5000)}.csv`, 'public://bad.csv'),
    ]);
    const gzip = { 'content-type': 'text/csv', 'content-encoding': 'gzip' };
    const packed =
      (bytes: Buffer) =>
      (_request: unknown, response: ServerResponse): void => {
        response.writeHead(200, gzip);
        response.end(gzipSync(bytes));
      };
    portal.files.set('sent.csv', packed(Buffer.from('a\n1\n')));
    portal.files.set('large.csv', sends('a'.repeat(20_000)));
    portal.files.set('bomb.csv', packed(Buffer.alloc(1_000_000, 'a')));
    portal.files.set('bad.csv', sends('a,b\n1\n'));
    const place = placeFor(portal);
    const config = JSON.parse(readFileSync(join(place.dir, 'config', 'sluice.yaml'), 'utf8'));
    place.write('config/sluice.yaml', JSON.stringify({ ...config, sources: { maxSize: '10 KB' } }));
    await exported(place);
    expect(readFileSync(join(place.dir, 'out', 'datasets', 'one', 'data', 'sent.csv'), 'utf8')).toBe('a\n1\n');
    expect(codesIn(place)).toMatchObject({
      'file-unreachable': ['12', '13'],
      'file-faulty': ['14'],
      'file-name': ['14'],
    });
    const findings = JSON.parse(readFileSync(join(place.dir, 'out', 'findings.json'), 'utf8')) as PlacedFinding[];
    for (const { message } of findings) expect(message).toMatch(/^\P{C}{1,500}$/u);
    expect(readFileSync(join(place.dir, 'out', 'manifest.yaml'), 'utf8')).toContain('import: unchecked');
  });

  it('takes nothing of people and sessions along', async () => {
    const user = {
      name: 'ann',
      mail: 'ann@example.org',
      pass: 'hash-of-ann',
      init: 'ann@example.org',
      data: 'blob',
      sessid: 's',
      token: 't',
    };
    const portal = await startFakePortal([
      {
        ...dataset('1', 'One'),
        data: 'b:0;',
        picture: 'p',
        author: user,
        field_contact_email: { und: [{ value: 'office@example.org' }] },
      },
    ]);
    const place = placeFor(portal);
    await exported(place);
    const text = all(place)
      .map((path) => readFileSync(join(place.dir, 'out', path), 'utf8'))
      .join('\n');
    expect(text).toContain('office@example.org');
    for (const secret of ['ann@example.org', 'hash-of-ann', 'secret-session', 'secret-token', 'correct-horse'])
      expect(text).not.toContain(secret);
  });

  it('ends where the list of a portal does not', async () => {
    const portal = await startFakePortal([]);
    portal.list = (type) =>
      type === 'dataset'
        ? Array.from({ length: 20 }, (_, index) => dataset(String(index + 1), `Dataset ${index}`))
        : [];
    const { code, out } = await placeFor(portal).run(['export', 'local', '-o', 'out']);
    expect(code).toBe(3);
    expect(out).toContain('its list of nodes does not end: page 3 shows nothing new');
  });

  it('follows no file to where sources may not come from, and not with the session', async () => {
    const portal = await startFakePortal([
      dataset('1', 'One', '11', '12'),
      withFile('11', '1', 'inside.csv'),
      withFile('12', '1', 'moved.csv'),
    ]);
    const redirect =
      (location: string) =>
      (_request: unknown, response: ServerResponse): void => {
        response.writeHead(302, { location });
        response.end();
      };
    portal.files.set('inside.csv', redirect('http://169.254.169.254/latest/meta-data'));
    portal.files.set('moved.csv', redirect('/sites/default/files/new/moved.csv'));
    portal.files.set('new/moved.csv', sends('a\n1'));
    const place = placeFor(portal);
    await exported(place);
    expect(codesIn(place)).toMatchObject({ 'file-unreachable': ['11'] });
    expect(all(place)).toContain('datasets/one/data/moved.csv');
  });

  it('writes through no link that is in the folder', async () => {
    const portal = await startFakePortal([dataset('1', 'One', '11'), withFile('11', '1', 'a.csv')]);
    portal.files.set('a.csv', sends('a\n1'));
    const place = placeFor(portal);
    mkdirSync(join(place.dir, 'elsewhere'));
    mkdirSync(join(place.dir, 'out'));
    symlinkSync(join(place.dir, 'elsewhere'), join(place.dir, 'out', 'datasets'));
    place.write('out/export.json', JSON.stringify({ sluiceExport: 1, portal: portal.url }));
    const { code, out } = await place.run(['export', 'local', '-o', 'out']);
    expect(code).toBe(3);
    expect(out).toContain('is a link or a file where the export needs a folder');
    expect(readdirSync(join(place.dir, 'elsewhere'))).toEqual([]);
  });

  it('streams a large file, and fetches one again that broke off', async () => {
    const bytes = cases(48, 8) * 1024 * 1024;
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const portal = await startFakePortal([dataset('1', 'One', '11'), withFile('11', '1', 'large.csv')]);
    let tries = 0;
    portal.files.set('large.csv', (_request, response) => {
      tries += 1;
      response.writeHead(200, { 'content-type': 'text/csv', 'content-length': String(bytes) });
      let sent = 0;
      const more = (): void => {
        if (tries === 1 && sent > bytes / 2) return void response.destroy();
        if (sent === bytes) return void response.end();
        sent += chunk.length;
        if (response.write(chunk)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    });
    const place = placeFor(portal);
    await exported(place);
    expect(tries).toBe(2);
    const path = join(place.dir, 'out', 'datasets', 'one', 'data', 'large.csv');
    expect(statSync(path).size).toBe(bytes);
    const { sluice } = JSON.parse(readFileSync(join(place.dir, 'out', 'datasets', 'one', 'datapackage.json'), 'utf8'));
    expect(sluice.resources[0].file.sha256).toBe(createHash('sha256').update(readFileSync(path)).digest('hex'));
    expect(all(place).filter((name) => name.includes('.part'))).toEqual([]);
    expect(existsSync(join(place.dir, 'out', '.listing.json'))).toBe(false);
  });
});
