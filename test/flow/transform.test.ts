// Tables made of other files and by steps, through a real worker to a portal process.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReportItem } from '../../src/model/report.ts';
import { isWhole } from '../support/extent.ts';
import { reportIn } from '../support/printed.ts';
import { fileAnswer, startSources } from '../support/source-server.ts';
import { workbookOf } from '../tables/transform/support/workbook.ts';
import { zipOf } from '../tables/transform/support/zip.ts';
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

const writesFrom = (from: number): string[] =>
  gateway.requests
    .slice(from)
    .filter(isWrite)
    .map(({ method, path }) => `${method} ${path.replaceAll(/\d+/g, 'N')}`);

const spending =
  'Spending 2026;;\nAbteilung;Betrag;Tag\nParks;"1.200,50";31.01.2026\nRoads;7;01.02.2026\nTest;0;01.02.2026\n';
const steps = [
  { header: { row: 2, rename: { Abteilung: 'department', Betrag: 'amount', Tag: 'day' } } },
  { cast: { amount: { to: 'number', decimal: ',', group: '.' }, day: { to: 'date', from: 'DD.MM.YYYY' } } },
  { filter: 'department != "Test"' },
];

const manifestOf = (table: unknown[]): { name: string } & Record<string, unknown> => ({
  name: 'made',
  datasets: [
    {
      id: 'budget',
      title: 'Budget',
      resources: [
        { id: 'spending', file: 'data/spending.csv', table },
        { id: 'zipped', file: 'data/zipped.csv.gz' },
        { id: 'archived', file: 'data/archived.zip' },
        { id: 'sheet', file: 'data/sheet.xlsx' },
        { id: 'lines', file: 'data/lines.ndjson' },
        { id: 'shapes', file: 'data/shapes.zip' },
        { id: 'raw', file: 'data/sheet.xlsx', import: 'never' },
      ],
    },
  ],
});

describe('tables made of other files', () => {
  it('arrive as rows, send nothing twice, and are recreated when their steps change', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write('data/spending.csv', spending);
    place.write('data/zipped.csv.gz', gzipSync('id;name\n1;Bäume\n2;Wege\n'));
    place.write('data/archived.zip', await zipOf({ 'readme.pdf': 'x', 'data/table.csv': 'id,name\n1,a\n' }));
    place.write(
      'data/sheet.xlsx',
      await workbookOf([
        ['id', 'when'],
        [1, new Date('2026-03-01')],
        [2, 'later'],
      ]),
    );
    place.write('data/lines.ndjson', '{"id":1,"name":"a"}\n{"id":2,"size":1.50}\n');
    place.write('data/shapes.zip', await zipOf({ 'roads.shp': 'binary' }));
    const manifest = place.manifest(manifestOf(steps));

    const first = await place.publish(manifest);
    expect(first.code, first.out + first.err).toBe(0);
    const of = (key: string): ReportItem => itemOf(first.report, `made/budget/${key}`);
    expect(of('spending')).toMatchObject({ live: true, rows: 2, file: { name: 'spending.csv' }, rejected: null });
    expect(await reader.file(of('spending').nid ?? '')).toMatchObject({
      content: 'department,amount,day\nParks,1200.50,2026-01-31\nRoads,7,2026-02-01\n',
    });
    expect(await reader.file(of('zipped').nid ?? '')).toMatchObject({
      name: 'zipped.csv',
      content: 'id,name\n1,Bäume\n2,Wege\n',
    });
    expect(await reader.file(of('archived').nid ?? '')).toMatchObject({ content: 'id,name\n1,a\n' });
    expect(await reader.file(of('sheet').nid ?? '')).toMatchObject({ content: 'id,when\n1,2026-03-01\n2,later\n' });
    expect(await reader.file(of('lines').nid ?? '')).toMatchObject({ content: 'id,name,size\n1,a,\n2,,1.50\n' });
    expect(of('lines')).toMatchObject({ live: true, rows: 2 });
    expect(of('shapes')).toMatchObject({ live: true, rows: null, file: { name: 'shapes.zip' } });
    expect(of('raw')).toMatchObject({ live: true, rows: null, file: { name: 'sheet.xlsx' } });
    expect(readdirSync(join(place.stateDir, 'prepared'))).toEqual([]);
    expect((await place.run(['log', 'made/budget/spending'])).out).toMatch(
      /prepare spending\.csv: 3 rows in, 2 rows of 3 columns out.*\n.*separated by ";"[\s\S]*cast: 4 cells changed[\s\S]*1 row dropped/,
    );
    expect((await place.run(['log', 'made/budget/shapes'])).out).toMatch(
      /shapes\.zip holds no table .*: left unchanged/,
    );

    const from = gateway.requests.length;
    const second = await place.publish(manifest);
    expect(second.report.counts.resource).toEqual({ unchanged: 7 });
    expect(writesFrom(from)).toEqual([]);
    expect((await place.run(['verify', manifest, '--content'])).code).toBe(0);

    const changed = place.manifest(manifestOf([...steps, { select: ['department'] }]));
    expect((await place.run(['plan', changed])).out).toContain('its transform steps changed');
    const third = await place.publish(changed);
    expect(itemOf(third.report, 'made/budget/spending')).toMatchObject({
      actions: ['attached', 'imported'],
      rows: 2,
    });
    expect(third.report.counts.actions).toEqual({ attached: 1, imported: 1 });

    // Steps that give the same bytes send nothing, once looked at.
    const same = place.manifest(
      manifestOf([...steps, { select: ['department'] }, { replace: { cell: 'Nowhere', with: '' } }]),
    );
    expect((await place.run(['plan', same])).out).toContain('its transform steps changed');
    const next = gateway.requests.length;
    expect((await place.publish(same)).report.counts.resource).toEqual({ unchanged: 7 });
    expect(writesFrom(next)).toEqual([]);
    expect((await place.run(['plan', same])).out).not.toContain('its transform steps changed');
  });

  it('leave bad rows out as far as they may, and publish nothing beyond', async () => {
    const place = makeRemotePlace(gateway.url);
    const rows = Array.from({ length: 8 }, (_, index) => `${index},${index * 2}\n`).join('');
    place.write('data/table.csv', `id,amount\n${rows}8,abc\n9\n`);
    const manifestWith = (more: Record<string, unknown>): string =>
      place.manifest({
        name: 'bad',
        datasets: [
          {
            id: 'd',
            title: 'D',
            resources: [{ id: 'r', file: 'data/table.csv', table: [{ cast: { amount: 'integer' } }], ...more }],
          },
        ],
      });
    const refused = await place.publish(manifestWith({ badRows: 'quarantine', maxBadRows: '10%' }));
    expect(refused.code).toBe(3);
    const rejects = join(place.stateDir, 'rejects/bad/d/r/table.rejects.csv');
    expect(itemOf(refused.report, 'bad/d/r')).toMatchObject({
      outcome: 'quarantined',
      nid: null,
      reason: { code: 'table-rows', line: 10 },
    });
    expect(itemOf(refused.report, 'bad/d/r').reason?.message).toContain('2 bad rows of 10');
    expect(itemOf(refused.report, 'bad/d/r').reason?.hint).toContain(rejects);

    const taken = await place.publish(manifestWith({ badRows: 'quarantine', maxBadRows: 2 }));
    expect(taken.code, taken.out).toBe(0);
    expect(itemOf(taken.report, 'bad/d/r')).toMatchObject({
      live: true,
      rows: 8,
      rejected: { rows: 2, path: rejects },
    });
    expect(readFileSync(rejects, 'utf8')).toBe(
      'line,reason,id,amount\n10,amount: is not a valid whole number,8,abc\n11,"the row has 1 cell, the header has 2",9\n',
    );
    expect((await place.run(['status', 'bad/d/r'])).out).toContain(`2 bad rows set aside in ${rejects}`);
    expect((await place.run(['log', 'bad/d/r'])).out).toContain(
      'line 10, column 2 ("amount"): is not a valid whole number',
    );

    const told = (await place.run(['log', 'bad/d/r'])).out + (await place.run(['status', '--json'])).out;
    expect(told).not.toContain('abc'); // the content of tables is for the file of rejects alone

    place.write('data/table.csv', `id,amount\n${rows}`);
    const mended = await place.publish(manifestWith({ badRows: 'quarantine', maxBadRows: 2 }));
    expect(itemOf(mended.report, 'bad/d/r')).toMatchObject({ live: true, rejected: null });
    expect(existsSync(rejects)).toBe(false);
  });
});

const oneTable = (name: string, resource: Record<string, unknown>): { name: string } & Record<string, unknown> => ({
  name,
  datasets: [{ id: 'd', title: `${name} dataset`, resources: [{ id: 'r', title: `${name} table`, ...resource }] }],
});

describe('a table that was made', () => {
  it.runIf(isWhole)('comes back when the portal cannot import its successor', async () => {
    const place = makeRemotePlace(gateway.url);
    const manifest = place.manifest(oneTable('back', { file: 'data/t.csv.gz' }));
    place.write('data/t.csv.gz', gzipSync('id;word\n1;old\n2;old\n'));
    const first = itemOf((await place.publish(manifest)).report, 'back/d/r');
    // Sound as a table, but more columns than the portal's database has.
    const columns = Array.from({ length: 2500 }, (_, index) => `c${index}`).join(';');
    place.write('data/t.csv.gz', gzipSync(`${columns}\n${columns}\n`));
    const failed = itemOf((await place.publish(manifest)).report, 'back/d/r');
    expect(failed).toMatchObject({ live: false, stale: true, reason: { code: 'portal-refused' } });
    expect(failed.reason?.message).toContain('the previous good file t.csv (2 rows) was restored');
    expect(await reader.file(first.nid ?? '')).toMatchObject({ content: 'id,word\n1,old\n2,old\n' });
    expect(await reader.count(first.uuid)).toBe(2);
    const from = gateway.requests.length;
    await place.publish(manifest);
    expect(writesFrom(from).filter((write) => write.endsWith('attach_file'))).toEqual([]);
    place.write('data/t.csv.gz', gzipSync('id;word\n1;new\n'));
    expect(itemOf((await place.publish(manifest)).report, 'back/d/r')).toMatchObject({ live: true, rows: 1 });
    expect(readdirSync(join(place.stateDir, 'prepared'))).toEqual([]);
  });

  it('is recognised on the portal when the ledger is lost, and found different when somebody replaced it', async () => {
    const content = { file: 'data/t.ndjson', table: [{ computed: { twice: 'n * 2' } }] };
    const place = makeRemotePlace(gateway.url);
    place.write('data/t.ndjson', '{"n":1}\n{"n":2}\n');
    const first = itemOf((await place.publish(place.manifest(oneTable('lost', content)))).report, 'lost/d/r');

    const other = makeRemotePlace(gateway.url);
    other.write('data/t.ndjson', '{"n":1}\n{"n":2}\n');
    const manifest = other.manifest(oneTable('lost', content));
    expect((await other.run(['rebuild', manifest])).out).toContain('2 items: 2 restored and verified');
    const from = gateway.requests.length;
    expect((await other.publish(manifest)).report.counts.resource).toEqual({ unchanged: 1 });
    expect(writesFrom(from)).toEqual([]);

    expect((await other.run(['verify', manifest, '--content'])).code).toBe(0);
    await reader.attach(first.nid ?? '', 't.csv', 'n,twice\n1,2\n2,5\n');
    const verified = await other.run(['verify', manifest, '--content']);
    expect(verified).toMatchObject({ code: 3, out: expect.stringContaining('differs from the local file') });
  });
});

describe('a file of a kind that the portal refuses', () => {
  it('is warned of by check, leaves no node behind, and is sent again only when asked or changed', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write('data/t.parquet', 'PAR1');
    const manifest = place.manifest(oneTable('kind', { file: 'data/t.parquet' }));
    expect((await place.run(['check', manifest])).out).toContain('portals refuse files of the kind .parquet');
    const refused = { nid: null, live: false, outcome: 'failed', reason: { code: 'portal-refused' } };
    const publish = async (actions: string[]) => {
      const { code, report } = await place.publish(manifest);
      expect(code).toBe(3);
      expect(itemOf(report, 'kind/d/r')).toMatchObject({ ...refused, actions });
      expect((await reader.list()).filter(({ title }) => title === 'kind table')).toEqual([]);
    };
    await publish(['created', 'deleted']);
    const from = gateway.requests.length;
    await publish([]);
    expect(writesFrom(from)).toEqual([]);
    expect((await place.run(['status'])).out).toMatch(/: 1 not live\n/); // no empty dataset either
    const retried = reportIn((await place.run(['retry', 'kind/d/r', '--json'])).out);
    expect(itemOf(retried, 'kind/d/r')).toMatchObject({ ...refused, actions: ['created', 'deleted'] });
    await publish([]);
    place.write('data/t.parquet', 'PAR1 and more');
    await publish(['created', 'deleted']);
    place.write('data/t.csv', 'a\n1\n');
    const { report } = await place.publish(place.manifest(oneTable('kind', { file: 'data/t.csv' })));
    expect(itemOf(report, 'kind/d/r')).toMatchObject({ live: true, rows: 1 });
  });
});

describe('files of the web', () => {
  it('are made into tables, asked for once, and recreated when their steps change', async () => {
    const server = await startSources();
    const sources = { allow: ['127.0.0.1'], requestsPerSecond: 0 };
    const place = makeRemotePlace(gateway.url, { sources });
    const book = await workbookOf([
      ['id', 'n'],
      [1, 2],
      [3, 4],
    ]);
    server.on('/book.xlsx', fileAnswer(book, { etag: '"b1"' }));
    const manifestWith = (table: unknown[]): string =>
      place.manifest(oneTable('web', { url: `${server.url}/book.xlsx`, table }));
    const manifest = manifestWith([{ select: ['n'] }]);
    const first = itemOf((await place.publish(manifest)).report, 'web/d/r');
    expect(first).toMatchObject({ live: true, rows: 2, file: { name: 'book.csv' } });
    expect(await reader.file(first.nid ?? '')).toMatchObject({ content: 'n\n2\n4\n' });
    const from = gateway.requests.length;
    expect((await place.publish(manifest)).report.counts.resource).toEqual({ unchanged: 1 });
    expect(writesFrom(from)).toEqual([]);
    expect(itemOf((await place.publish(manifestWith([{ select: ['id'] }]))).report, 'web/d/r')).toMatchObject({
      actions: ['attached', 'imported'],
    });
    expect(await reader.file(first.nid ?? '')).toMatchObject({ content: 'id\n1\n3\n' });
  });
});

describe('a workbook with formulas that hold no result', () => {
  it('is live with a warning in report and status, where only rows without any value are left out', async () => {
    const place = makeRemotePlace(gateway.url);
    const rows = '<row><c t="str"><v>id</v></c></row><row><c><v>1</v></c></row><row><c r="A3"><f>A2+1</f></c></row>';
    const sheet = `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
    place.write('data/t.xlsx', await workbookOf([['id']], { parts: { 'xl/worksheets/sheet1.xml': sheet } }));
    const resources = [{ id: 'r', file: 'data/t.xlsx' }];
    const manifest = place.manifest({ name: 'formulas', datasets: [{ id: 'd', title: 'D', resources }] });
    const { report } = await place.publish(manifest);
    const warning = expect.stringContaining('1 formula has no result in the file, the first of them A3');
    expect(itemOf(report, 'formulas/d/r')).toMatchObject({ live: true, rows: 1, warnings: [warning] });
    expect((await place.run(['status', 'formulas/d/r'])).out).toContain('warning: 1 formula has no result');
  });
});

describe('a workbook with several tables', () => {
  it('is live as a file with a warning that says what to do, unless `import: never` asks for that', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write('data/t.xlsx', await workbookOf([['id'], [1]], { name: 'May', more: { June: [['id'], [2]] } }));
    const file = 'data/t.xlsx';
    const resources = [
      { id: 'r', file },
      { id: 'raw', file, import: 'never' },
      { id: 'one', file, sheet: 'June' },
    ];
    const manifest = place.manifest({ name: 'sheets', datasets: [{ id: 'd', title: 'D', resources }] });
    const { report } = await place.publish(manifest);
    const warning = expect.stringMatching(
      /several sheets with values: "May", "June".*without rows: save each as a file of its own, or name one: `sheet: "May"`/,
    );
    expect(itemOf(report, 'sheets/d/r')).toMatchObject({ live: true, rows: null, warnings: [warning] });
    expect(itemOf(report, 'sheets/d/raw')).toMatchObject({ live: true, rows: null, warnings: [] });
    expect(itemOf(report, 'sheets/d/one')).toMatchObject({ live: true, rows: 1, warnings: [] });
    expect((await place.run(['status', 'sheets/d/r'])).out).toContain('warning: t.xlsx has several sheets');
    expect((await place.publish(manifest)).report.counts.resource).toEqual({ unchanged: 3 });
  });
});

describe('a table with semicolons between cells and commas in them', () => {
  it('is counted although the portal could not import it as it was attached, and so is the next one', async () => {
    const own = await openGatedPortal();
    const place = makeRemotePlace(own.gateway.url);
    place.write('data/t.csv', 'id;name\n1;a,b\n2;c\n');
    const resources = [{ id: 'r', file: 'data/t.csv' }];
    const manifest = place.manifest({ name: 'commas', datasets: [{ id: 'd', title: 'D', resources }] });
    const { report } = await place.publish(manifest);
    expect(itemOf(report, 'commas/d/r')).toMatchObject({ live: true, rows: 2, warnings: [] });
  });
});

describe('dropped files', () => {
  it('become tables by their kind and by the steps beside them; those with too many bad rows are set aside', async () => {
    const place = makeRemotePlace(gateway.url);
    place.write(
      'inbox/city/trees.xlsx',
      await workbookOf([
        ['id', 'kind'],
        [1, 'oak'],
      ]),
    );
    place.write('inbox/city/bikes.csv.gz', gzipSync('Counted 2026\nday;n\n01.02.2026;5\n'));
    place.write(
      'inbox/city/bikes.yaml',
      'title: Bikes\ntable:\n  - skipRows: 1\n  - cast: { day: { to: date, from: DD.MM.YYYY } }\n',
    );
    place.write('inbox/city/faulty.ndjson', '{"n":1}\n{"n":"x"}\n');
    place.write('inbox/city/faulty.yaml', 'schema: { fields: [{ name: n, type: integer }] }\n');
    const files = ['**/*.xlsx', '**/*.csv.gz', '**/*.ndjson'];
    const manifest = place.manifest({ name: 'dropped', drop: { folder: 'inbox', files } });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    expect(report.items.map(({ key, live, rows }) => [key, live, rows])).toEqual([
      ['dropped/city', true, null],
      ['dropped/city/bikes', true, 1],
      ['dropped/city/faulty', false, null],
      ['dropped/city/trees', true, 1],
    ]);
    const bikes = itemOf(report, 'dropped/city/bikes');
    expect(await reader.file(bikes.nid ?? '')).toMatchObject({ name: 'bikes.csv', content: 'day,n\n2026-02-01,5\n' });
    const aside = readdirSync(join(place.dir, 'inbox/_faulty/city'));
    expect(aside).toContainEqual(expect.stringContaining('faulty'));
    expect(existsSync(join(place.dir, 'inbox/.sluice/archive/city/trees'))).toBe(true);
  });
});

describe('hostile files', () => {
  it('are quarantined with a reason each; nothing of them reaches the portal, and the others are published', async () => {
    const place = makeRemotePlace(gateway.url);
    const mb = 1024 * 1024;
    const evil = (await zipOf({ 'aa/evil.csv': 'a\n1\n' })).toString('latin1').replaceAll('aa/evil', '../evil');
    const files: Record<string, string | Buffer> = {
      'bomb.csv.gz': gzipSync(Buffer.alloc(100 * mb, `${'0'.repeat(127)}\n`), { level: 9 }),
      'evil.zip': Buffer.from(evil, 'latin1'),
      'wide.csv.gz': gzipSync(`${Array.from({ length: 100_000 }, (_, index) => `c${index}`).join(',')}\n`),
      'huge.ndjson': `{"a":"${'x'.repeat(50 * mb)}"}\n`,
      'cut.csv.gz': gzipSync('a,b\n1,2\n'.repeat(1000)).subarray(0, 40),
      'fine.csv.gz': gzipSync('a,b\n1,2\n'),
    };
    for (const [name, content] of Object.entries(files)) place.write(`data/${name}`, content);
    const resources = Object.keys(files).map((file) => ({ id: file.split('.')[0], file: `data/${file}` }));
    const manifest = place.manifest({ name: 'hostile', datasets: [{ id: 'd', title: 'Hostile', resources }] });
    const from = gateway.requests.length;
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(3);
    const reasons = report.items.map(({ key, outcome, nid, reason }) => [
      key.split('/').at(-1),
      outcome,
      nid === null ? null : 'node',
      reason?.code,
    ]);
    expect(reasons).toEqual([
      ['d', 'done', 'node', undefined],
      ['bomb', 'quarantined', null, 'table-input'],
      ['cut', 'quarantined', null, 'table-input'],
      ['evil', 'quarantined', null, 'table-input'],
      ['fine', 'done', 'node', undefined],
      ['huge', 'quarantined', null, 'table-oversize'],
      ['wide', 'quarantined', null, 'table-input'],
    ]);
    expect(writesFrom(from).filter((write) => write.endsWith('attach_file'))).toHaveLength(1);
    expect(readdirSync(join(place.stateDir, 'prepared'))).toEqual([]);
  });
});
