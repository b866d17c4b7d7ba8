// Where the name that a server gives and the bytes disagree, the bytes decide, with every run alike. A name that people gave is
// believed: a file that is something else is refused, and one without an ending is what its bytes are.
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ledgerIn } from '../../src/state/ledger.ts';
import { fileAnswer, startSources } from '../support/source-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { workbookOf } from '../tables/transform/support/workbook.ts';
import { zipOf } from '../tables/transform/support/zip.ts';
import { openPortalPlace } from './support/portal-place.ts';
import type { Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

const csv = 'id,name\n1,one\n2,two\n';
const book = await workbookOf([
  ['id', 'name'],
  ['1', 'one'],
  ['2', 'two'],
]);
const octets = 'application/octet-stream';
/** Name, declared type and bytes of files that hold the same table. */
const files: [name: string, type: string, bytes: string | Buffer][] = [
  ['book.csv', 'text/csv', book],
  ['archive.csv', 'text/csv', await zipOf({ 'inside.csv': csv })],
  ['list.json', 'application/json', csv],
  ['sheet.xlsx', octets, csv],
  ['old.xls', 'application/vnd.ms-excel', book],
  ['packed.zip', 'application/zip', csv],
  ['plain', octets, csv],
];
const withEnding = files.filter(([name]) => name.includes('.'));
const idOf = (name: string): string => name.replace('.', '-');

const server = await startSources();
for (const [name, type, bytes] of files) server.on(`/${name}`, fileAnswer(bytes, { type, etag: `"${name}"` }));

let place: RedisPlace;
let reader: Reader;
beforeAll(async () => {
  ({ place, reader } = await openPortalPlace({
    sources: { allow: ['127.0.0.1'], requestsPerSecond: 0 },
    retry: { attempts: 1 },
  }));
});

const write = (folder: string): void => {
  for (const [name, , bytes] of files) place.write(join(folder, name), bytes);
};
const resources = (key: 'file' | 'url', at: string) =>
  files.map(([name]) => ({ id: idOf(name), title: name, [key]: `${at}/${name}` }));
const datasets = (key: 'file' | 'url', at: string) => [{ id: 'd', title: 'D', resources: resources(key, at) }];

/** Those whose names promise a table; others go up as the files that they are. */
const refused = ['book.csv', 'archive.csv', 'sheet.xlsx', 'packed.zip'];

type Keys = (name: string) => Record<string, unknown>;

const local: [kind: string, keys: Keys][] = [
  ['files', (name) => ({ datasets: datasets('file', name) })],
  [
    'index',
    (name) => {
      const rows = files.map(([file]) => `d,${idOf(file)},${file}`);
      place.write(`${name}/list.csv`, `${['dataset,resource,file', ...rows].join('\n')}\n`);
      return { index: `${name}/list.csv` };
    },
  ],
  [
    'package',
    (name) => {
      const paths = files.map(([file]) => ({ name: idOf(file), path: file }));
      place.write(`${name}/datapackage.json`, JSON.stringify({ name: 'd', resources: paths }));
      return { datapackage: `${name}/datapackage.json` };
    },
  ],
];

const kinds: [kind: string, files: typeof files, keys: Keys][] = [
  ['addresses', files, () => ({ datasets: datasets('url', server.url) })],
  [
    'named addresses',
    withEnding,
    () => ({
      datasets: [
        {
          id: 'd',
          title: 'D',
          resources: withEnding.map(([name]) => ({ id: idOf(name), title: name, url: `${server.url}/${name}`, name })),
        },
      ],
    }),
  ],
  [
    'catalogue',
    withEnding,
    (name) => {
      const distribution = withEnding.map(([file]) => ({
        identifier: idOf(file),
        title: file,
        downloadURL: `${server.url}/${file}`,
      }));
      place.write(`${name}/c.json`, JSON.stringify({ dataset: [{ identifier: 'd', title: 'D', distribution }] }));
      return { catalogue: { from: `${name}/c.json`, files: 'fetch' } };
    },
  ],
];

describe('a table whose name or type does not fit its bytes', () => {
  it.each(kinds)('is live from %s, and unchanged at the next run', async (kind, given, keys) => {
    const name = kind.replaceAll(' ', '-');
    write(name);
    const manifest = place.manifest({ name, ...keys(name) });
    const { report } = await place.publish(manifest);
    const items = report.items.filter((item) => item.kind === 'resource');
    expect(items.map(({ rows, live, reason }) => ({ rows, live, reason }))).toEqual(
      given.map(() => ({ rows: 2, live: true, reason: null })),
    );
    for (const item of items) {
      const file = await reader.file(item.nid ?? '');
      expect(file).toMatchObject({ content: csv, name: expect.stringMatching(/\.csv$/) });
    }
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
    const verified = await place.run(['verify', manifest]);
    expect(verified.code, verified.out).toBe(0);
    const checked = await place.run(['check', manifest]);
    expect(checked.code, checked.out).toBe(0);
  });

  it.each(local)('is refused in %s with the name to give it; without an ending it is live', async (kind, keys) => {
    write(kind);
    const { report } = await place.publish(place.manifest({ name: kind, ...keys(kind) }));
    const items = report.items.filter((item) => item.kind === 'resource');
    for (const { key, live } of items)
      expect([key, live]).toEqual([key, !refused.some((name) => key.endsWith(idOf(name)))]);
    expect(items.find(({ key }) => key.endsWith('/plain'))?.rows).toBe(2);
    const why = (name: string) => items.find(({ key }) => key.endsWith(idOf(name)))?.reason;
    expect(why('sheet.xlsx')).toMatchObject({
      message: 'sheet.xlsx is a table of text, not a ZIP archive or a workbook',
      hint: expect.stringContaining('rename it to sheet.csv'),
    });
    expect(why('book.csv')?.message).toContain('is a ZIP archive or an Excel workbook (.xlsx), not a table of text');
  });

  it('is refused in a folder, and one without an ending is live', async () => {
    write('inbox');
    const service = await place.serve([place.manifest({ name: 'drops', drop: { folder: 'inbox', files: '**/*' } })]);
    const redis = place.redis();
    const ledger = ledgerIn(redis, place.keys);
    for (const [name] of files) {
      const stem = name.replace(/\..*/, '');
      const entry = await waitUntil(`an end of ${name}`, async () => {
        const found = await ledger.entry('local', `drops/${stem}/${stem}`);
        return found?.live || found?.reason ? found : null;
      });
      expect([name, entry.live]).toEqual([name, !refused.includes(name)]);
    }
    redis.disconnect();
    await service.end('SIGTERM');
  });

  it('is refused where it is an old workbook by another name', async () => {
    place.write('old/data.xlsx', Buffer.from('d0cf11e0a1b11ae1', 'hex'));
    const manifest = place.manifest({
      name: 'old',
      datasets: [{ id: 'd', title: 'D', resources: [{ id: 'r', title: 'R', file: 'old/data.xlsx' }] }],
    });
    const { report } = await place.publish(manifest);
    expect(report.items.find(({ key }) => key === 'old/d/r')?.reason).toMatchObject({
      message: expect.stringContaining('data.xlsx is an old Excel workbook (.xls), or one with a password'),
    });
  });
});
