// Where the name of a file and its bytes disagree, the bytes decide: in every kind of source, with every run alike.
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Ledger } from '../../src/state/ledger.ts';
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

const kinds: [kind: string, files: typeof files, keys: (name: string) => Record<string, unknown>][] = [
  ['files', files, (name) => ({ datasets: datasets('file', name) })],
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
  [
    'index',
    files,
    (name) => {
      const rows = files.map(([file]) => `d,${idOf(file)},${file}`);
      place.write(`${name}/list.csv`, `${['dataset,resource,file', ...rows].join('\n')}\n`);
      return { index: `${name}/list.csv` };
    },
  ],
  [
    'package',
    files,
    (name) => {
      const paths = files.map(([file]) => ({ name: idOf(file), path: file }));
      place.write(`${name}/datapackage.json`, JSON.stringify({ name: 'd', resources: paths }));
      return { datapackage: `${name}/datapackage.json` };
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

  it('is live from a folder', async () => {
    write('inbox');
    const service = await place.serve([place.manifest({ name: 'drops', drop: { folder: 'inbox', files: '**/*' } })]);
    const ledger = new Ledger(place.redis(), place.keys);
    for (const [name] of files) {
      const stem = name.replace(/\..*/, '');
      const entry = await waitUntil(`${name} to be live`, async () => {
        const found = await ledger.entry('local', `drops/${stem}/${stem}`);
        return found?.live ? found : null;
      });
      expect(entry).toMatchObject({ rows: 2, file: { name: expect.stringMatching(/\.csv$/) } });
    }
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
