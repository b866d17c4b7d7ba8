// Files whose tables nobody reads, and text that may be none: what they go live as is said before, then and later.
import { beforeAll, expect, it } from 'vitest';
import { itemOf } from './support/items.ts';
import { openPortalPlace } from './support/portal-place.ts';
import type { Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

let place: RedisPlace;
let reader: Reader;
beforeAll(async () => {
  ({ place, reader } = await openPortalPlace({ retry: { attempts: 1 } }));
});

const table = 'town\tn\nUlm\t3\nBonn\t5\n';
const prose = 'This folder holds the counts of 2026.\nThey are by day, by place and by lane.\n';

it('go live as files, and plan, report and status say so and what to do; text that is a table is one', async () => {
  const files = {
    'old.xls': Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    'named.xls': table,
    'open.ods': 'PK\u0003\u0004',
    'silent.ods': 'PK\u0003\u0004',
    'towns.tab': table,
    'read.txt': prose,
  };
  for (const [name, content] of Object.entries(files)) place.write(`unread/${name}`, content);
  const resources = Object.keys(files).map((name) => ({
    id: name.split('.')[0] ?? '',
    file: `unread/${name}`,
    ...(name === 'silent.ods' && { import: 'never' }),
  }));
  const manifest = place.manifest({ name: 'unread', datasets: [{ id: 'd', title: 'Unread', resources }] });
  const warnings = {
    old: 'old.xls is published as a file, without rows, as its format is not read: save it as .xlsx or .csv, or set `import: never`',
    named: 'rename it to named.tsv, which is what it is',
    open: 'open.ods is published as a file, without rows',
    read: 'read.txt is not certainly a table',
  };

  const plan = (await place.run(['plan', manifest])).out;
  expect(plan).toMatch(/create\+attach +unread\/d\/old .*old\.xls is published as a file, without rows/);
  expect(plan).toMatch(/unread\/d\/named .*rename it to named\.tsv/);
  expect(plan).toMatch(/unread\/d\/read .*imported only if its text is certainly a table/);
  expect(plan).not.toMatch(/silent\.ods is published/);
  expect((await place.run(['check', manifest])).out).toContain(`warning: ${warnings.old}`);

  const { code, report } = await place.publish(manifest);
  expect(code).toBe(0);
  const of = (id: string) => itemOf(report, `unread/d/${id}`);
  for (const [id, warning] of Object.entries(warnings)) {
    expect(of(id)).toMatchObject({ live: true, rows: null, warnings: [expect.stringContaining(warning)] });
    expect((await place.run(['status', `unread/d/${id}`])).out).toContain(`warning: `);
  }
  expect(of('silent')).toMatchObject({ live: true, rows: null, warnings: [] });
  expect(of('towns')).toMatchObject({ live: true, rows: 2, file: { name: 'towns.csv' }, warnings: [] });
  expect(await reader.file(of('read').nid ?? '')).toMatchObject({ content: prose });
  expect((await place.publish(manifest)).report.counts.resource).toEqual({ unchanged: 6 });
});

it('take the place of no table that is live, unless `import: never` says so', async () => {
  const publish = (details: object) =>
    place.publish(place.manifest({ name: 'kept', datasets: [{ id: 'd', title: 'D', resources: [details] }] }));
  place.write('kept/towns.txt', table);
  place.write('kept/towns.xls', 'x');
  const { report: first } = await publish({ id: 'towns', file: 'kept/towns.txt' });
  expect(itemOf(first, 'kept/d/towns')).toMatchObject({ live: true, rows: 2 });
  const { nid } = itemOf(first, 'kept/d/towns');

  place.write('kept/towns.txt', `${table}Aalen\n`);
  for (const [file, message] of [
    [
      'kept/towns.txt',
      'towns.txt is not certainly a table (line 4: the row has 1 cell, the header has 2), and a table',
    ],
    ['kept/towns.xls', 'towns.xls is no table that can be read, and a table is live'],
  ] as const) {
    const item = itemOf((await publish({ id: 'towns', file })).report, 'kept/d/towns');
    expect(item).toMatchObject({
      stale: true,
      reason: { code: 'table-input', message: expect.stringContaining(message) },
    });
    expect(await reader.file(nid ?? '')).toMatchObject({ content: 'town,n\nUlm,3\nBonn,5\n' });
  }

  const { report: last } = await publish({ id: 'towns', file: 'kept/towns.xls', import: 'never' });
  expect(itemOf(last, 'kept/d/towns')).toMatchObject({ live: true, rows: null, file: { name: 'towns.xls' } });
});
