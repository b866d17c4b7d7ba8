import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { isPagingHeader } from '../../../src/sources/catalogue/paging.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import {
  acceptFor,
  type FetchedFile,
  type FetchedFiles,
  fetchedFiles,
  type Wanted,
} from '../../../src/sources/fetch/fetched-files.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const server = await startSources();
const fetcher = new Fetcher(fetchPolicy);
afterAll(() => fetcher.close());

let dir = '';
let files: FetchedFiles;
beforeEach(() => {
  dir = join(tempDir(), 'fetched');
  files = fetchedFiles(dir, fetcher);
  server.asked.length = 0;
});

const { signal } = new AbortController();
const wanted = (changes: Partial<Wanted> = {}): Wanted => ({
  portal: 'local',
  uuid: 'u1',
  url: `${server.url}/a.csv`,
  name: 'a.csv',
  by: 'run 1',
  published: null,
  ...changes,
});
const get = async (changes: Partial<Wanted> = {}, from = files): Promise<FetchedFile> => {
  const got = await from.get(wanted(changes), { signal });
  if (got === 'unchanged') throw new Error('unchanged');
  return got;
};

describe('fetched files', () => {
  it('lie in a folder for each portal and resource until they are removed', async () => {
    server.on('/a.csv', fileAnswer('id\n1\n', { etag: '"1"' }));
    const got = await get();
    expect(got).toMatchObject({ bytes: 5, fileName: 'a.csv', validators: { etag: '"1"' } });
    expect(got.path.startsWith(join(dir, 'local', 'u1'))).toBe(true);
    expect(readFileSync(got.path, 'utf8')).toBe('id\n1\n');
    // It may have come from behind a login.
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    const beside = await get({ portal: 'other' });
    await files.remove({ portal: 'local', uuid: 'u1' });
    expect([existsSync(got.path), existsSync(beside.path)]).toEqual([false, true]);
    await files.remove({ portal: 'local', uuid: 'u1' });
  });

  it('are taken again by the job that fetched them, without a question, also by another process', async () => {
    server.on('/a.csv', fileAnswer('id\n1\n', { etag: '"1"' }));
    const first = await get();
    server.on('/a.csv', fileAnswer('id\n2\n', { etag: '"2"' }));
    expect(await get({}, fetchedFiles(dir, fetcher))).toEqual(first);
    expect(server.asked).toHaveLength(1);
  });

  it('are taken by another job when their server says that they are current, and fetched again when not', async () => {
    server.on('/a.csv', fileAnswer('id\n1\n', { etag: '"1"' }));
    const first = await get();
    expect(await get({ by: 'run 2' })).toEqual({ ...first, by: 'run 2', confirmed: expect.any(Object) });
    expect(server.asked.at(-1)?.headers['if-none-match']).toBe('"1"');
    server.on('/a.csv', fileAnswer('id\n2\n3\n', { etag: '"2"' }));
    expect(await get({ by: 'run 3' })).toMatchObject({ bytes: 7, validators: { etag: '"2"' } });
    expect((await get({ by: 'run 4', url: `${server.url}/a.csv?x` })).url).toBe(`${server.url}/a.csv?x`);
    expect(server.asked.at(-1)?.headers['if-none-match']).toBeUndefined();
  });

  it('keep only the headers that are asked for, as others may repeat a login', async () => {
    server.on('/a.csv', (request, response) => {
      response.setHeader('x-echo', 'Basic Z2VoZWlt').setHeader('set-cookie', 'geheim').setHeader('x-total-count', '3');
      response.setHeader('content-range', 'items 0-1/3').setHeader('link', '</b>; rel=next');
      fileAnswer('id\n1\n', { etag: '"1"' })(request, response);
    });
    const paged = fetchedFiles(dir, fetcher, isPagingHeader);
    const headers = { 'content-range': 'items 0-1/3', link: '</b>; rel=next', 'x-total-count': '3' };
    const { path } = await get({}, paged);
    expect(JSON.parse(readFileSync(join(path, '../fetched.json'), 'utf8')).headers).toEqual(headers);
    expect((await get({ by: 'run 2' }, paged)).headers).toEqual(headers);
    expect((await get({ uuid: 'u2' })).headers).toEqual({});
  });

  it('are not needed where the published version is the present one', async () => {
    server.on('/a.csv', fileAnswer('id\n1\n', { etag: '"1"' }));
    const published = { etag: '"1"', lastModified: null };
    expect(await files.get(wanted({ published }), { signal })).toBe('unchanged');
    expect(existsSync(join(dir, 'local', 'u1', 'content'))).toBe(false);
  });

  it('are not believed when they changed since, are cut off, or their note is not ours', async () => {
    server.on('/a.csv', fileAnswer('id\n1\n', {}));
    const { path } = await get();
    const later = new Date(Date.now() + 60_000);
    const spoil = [
      () => writeFileSync(path, 'id\n'),
      () => utimesSync(path, later, later),
      () => writeFileSync(join(path, '../fetched.json'), '{"url":'),
      () => writeFileSync(join(path, '../fetched.json'), '{}'),
    ];
    for (const [index, change] of spoil.entries()) {
      change();
      expect(readFileSync((await get()).path, 'utf8')).toBe('id\n1\n');
      expect(server.asked).toHaveLength(index + 2);
    }
  });

  it('are not believed by another job for their size and time alone', async () => {
    server.on('/a.csv', fileAnswer('id\n1\n', { etag: '"1"' }));
    const { path } = await get();
    const { atime, mtime } = statSync(path);
    writeFileSync(path, 'id\n7\n');
    utimesSync(path, atime, mtime);
    expect(readFileSync((await get({ by: 'run 2' })).path, 'utf8')).toBe('id\n1\n');
    expect(server.asked.at(-1)?.headers['if-none-match']).toBeUndefined();
  });

  it('that nobody asked for in a week are removed by the next process', async () => {
    const [old, fresh] = ['old', 'fresh'].map((uuid) => join(dir, 'local', uuid));
    for (const folder of [old, fresh]) {
      mkdirSync(folder ?? '', { recursive: true });
      writeFileSync(join(folder ?? '', 'content.part'), 'x');
    }
    const longAgo = new Date(Date.now() - 8 * 86_400_000);
    utimesSync(old ?? '', longAgo, longAgo);
    server.on('/a.csv', fileAnswer('id\n1\n', {}));
    await get();
    expect([existsSync(old ?? ''), existsSync(fresh ?? '')]).toEqual([false, true]);
  });

  it('are requested by the type that their name promises', () => {
    expect(acceptFor('a.csv')).toBe('text/csv, */*;q=0.5');
    expect(acceptFor('a.bin')).toBe('*/*');
  });
});
