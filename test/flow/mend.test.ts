// Tables that are mended on the way (`mend: safe`), through a real worker to a portal process.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { encoderOf } from '../../src/tables/scan/encodings.ts';
import { openGatedPortal } from './support/gated-portal.ts';
import { type Gateway, isWrite } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import type { Reader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';

let reader: Reader;
let gateway: Gateway;
beforeAll(async () => {
  ({ reader, gateway } = await openGatedPortal());
});

const sent = 'nr;město\n1;Plzeň\n2;České Budějovice\n3;Ústí nad Labem\n4;Hradec Králové\n5;Žďár nad Sázavou\n';
const export1250 = encoderOf('windows-1250')(`Seznam měst\n\n${sent}`);
const ragged = '\ufeffa,b\n1,2\n3\n';

const writesFrom = (from: number): string[] =>
  gateway.requests
    .slice(from)
    .filter(isWrite)
    .map(({ path }) => path);

it('are sent fixed, stay unchanged, and are reported in plan, log, report and verify; others are quarantined', async () => {
  const place = makeRemotePlace(gateway.url);
  const files = { export: export1250, sound: 'a,b\r\n1,2\r\n', ragged, plain: 'a\tb\n1\t2\n' };
  for (const [id, content] of Object.entries(files))
    place.write(`data/${id}.${id === 'plain' ? 'tsv' : 'csv'}`, content);
  const resources = Object.keys(files).map((id) => ({ id, file: `data/${id}.${id === 'plain' ? 'tsv' : 'csv'}` }));
  const manifest = place.manifest({
    name: 'mended',
    defaults: { resource: { mend: 'safe' } },
    datasets: [{ id: 'd', title: 'Mended', resources }],
  });
  expect((await place.run(['plan', manifest])).out).toMatch(
    /mended\/d\/sound .*fixed while publishing if faulty \(mend: safe\)/,
  );
  const checked = (await place.run(['check', manifest])).out;
  expect(checked).toMatch(/export\.csv: fixed while publishing: sound, 5 rows/);
  expect(checked).toMatch(/sound\.csv: sound, 1 row/);

  const { code, report } = await place.publish(manifest);
  expect(code).toBe(3);
  const of = (id: string) => itemOf(report, `mended/d/${id}`);
  expect(of('export')).toMatchObject({ live: true, rows: 5, file: { name: 'export.csv' } });
  expect(of('export').fixes).toEqual([
    'the lines above the header are left out',
    expect.stringContaining('read as Windows-1250 and written as UTF-8'),
  ]);
  expect(await reader.file(of('export').nid ?? '')).toMatchObject({ content: sent });
  expect(of('sound')).toMatchObject({ live: true, rows: 1, fixes: [] });
  expect(await reader.file(of('sound').nid ?? '')).toMatchObject({ content: files.sound });
  expect(of('plain')).toMatchObject({ live: true, rows: 1, file: { name: 'plain.tsv' } });
  expect(of('ragged')).toMatchObject({ outcome: 'quarantined', nid: null, reason: { code: 'table-ragged', line: 3 } });
  const log = (await place.run(['log', 'mended/d/export'])).out;
  expect(log).toMatch(/prepare export\.csv: fixed, 5 rows of 2 columns.*\n.*fixed: the lines above/);
  expect(log).not.toContain('Plze');
  expect((await place.run(['status', 'mended/d/export'])).out).toContain('fixed: the file is read as Windows-1250');
  expect(readdirSync(join(place.stateDir, 'prepared'))).toEqual([]);

  const from = gateway.requests.length;
  const second = await place.publish(manifest);
  expect(second.report.counts.resource).toEqual({ unchanged: 3, quarantined: 1 });
  expect(writesFrom(from)).toEqual([]);
  expect((await place.run(['verify', manifest, '--content'])).out).not.toContain('export');
});

it('are archived as they were dropped, with a note of the mends', async () => {
  const place = makeRemotePlace(gateway.url);
  place.write('inbox/cities/list.csv', export1250);
  place.write('inbox/cities/list.yaml', 'title: Cities\nmend: safe\n');
  place.write('inbox/cities/other.csv', export1250);
  const manifest = place.manifest({ name: 'inbox', drop: { folder: 'inbox', files: '**/*.csv' } });
  const { report } = await place.publish(manifest);
  expect(itemOf(report, 'inbox/cities/list')).toMatchObject({ live: true, rows: 5 });
  expect(itemOf(report, 'inbox/cities/other')).toMatchObject({ live: false, outcome: 'quarantined' });
  const folder = join(place.dir, 'inbox/.sluice/archive/cities/list');
  const [file = '', note = ''] = readdirSync(folder).sort();
  expect(readFileSync(join(folder, file))).toEqual(export1250);
  expect(note).toBe(`${file}.fixes.yaml`);
  expect(readFileSync(join(folder, note), 'utf8')).toMatch(/fixes:\n {2}- the lines above the header are left out\n/);
  place.write('inbox/cities/list.csv', export1250);
  expect(itemOf((await place.publish(manifest)).report, 'inbox/cities/list').outcome).toBe('unchanged');
  const archived = readdirSync(folder).filter((name) => name.endsWith('.csv'));
  expect(archived).toHaveLength(2);
  for (const name of archived)
    expect(readFileSync(join(folder, `${name}.fixes.yaml`), 'utf8')).toContain('above the header');
});
