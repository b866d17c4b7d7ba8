// A fixed file uploaded on the page of its item: it lies in the inbox as if it was dropped, or nothing happens.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newEntry } from '../../src/model/ledger-entry.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openWebPlace, type WebPlace } from './support/web-place.ts';

const dir = tempDir();
const inbox = join(dir, 'inbox');
const claim = '1764502424123-0123abcd';
const faulty = join(inbox, '_faulty/bikes/june-20261130T113344.123Z.csv');
const reason = { code: 'table-ragged', message: 'line 2: 3 cells', hint: null, line: 2 };

let place: WebPlace;
beforeAll(async () => {
  place = await openWebPlace();
  const manifest = join(dir, 'drops.yaml');
  writeFileSync(manifest, 'name: drops\ndrop: { folder: inbox, files: ["**/*.csv", "**/*.xlsx"] }\n');
  await place.runtime.ledger.remember({ manifest: 'drops', portal: 'local' }, manifest);
  const entryOf = (key: string, dropped: string | null, file?: string) => ({
    ...newEntry({ key, kind: 'resource' as const, uuid: 'u', title: key }),
    reason: { ...reason, ...(file === undefined ? {} : { file }) },
    sourcePath: dropped && join(inbox, '.sluice/spool', claim, 'file', dropped),
  });
  await place.runtime.ledger.put('local', entryOf('drops/bikes/june', 'bikes/june.csv', faulty));
  await place.runtime.ledger.put('local', entryOf('drops/cars/may', 'cars/may.csv', faulty));
  await place.runtime.ledger.put('local', entryOf('drops/plain/x', null));
});
afterAll(() => place.close());

const tokenOf = (page: string): string => /name="token" value="([^"]+)"/.exec(page)?.[1] ?? '';

const upload = async (
  key: string,
  { token, name = 'fixed.csv', headers = {} }: { token?: string; name?: string; headers?: Record<string, string> } = {},
  content = 'a,b\n1,2\n',
) => {
  const part = (head: string, text: string): string =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const given = token ?? tokenOf((await place.get('/item/drops/bikes/june')).body);
  return place.send({
    method: 'POST',
    url: `/drop/${key}`,
    headers: { 'content-type': 'multipart/form-data; boundary=b', origin: 'http://127.0.0.1:4283', ...headers },
    payload: `${part('name="token"', given)}${part(`name="file"; filename="${name}"`, content)}--b--\r\n`,
  });
};

const inInbox = (): string[] =>
  existsSync(inbox)
    ? readdirSync(inbox, { recursive: true, withFileTypes: true }).flatMap((entry) =>
        entry.isFile() ? [entry.name] : [],
      )
    : [];

it('the page of an item shows its fault and where the file is, and offers to upload another instead of a retry', async () => {
  mkdirSync(dirname(faulty), { recursive: true });
  writeFileSync(faulty, 'a,b\n1,<2>,3\n');
  const { body } = await place.get('/item/drops/bikes/june');
  rmSync(join(inbox, '_faulty'), { recursive: true });
  expect(body).toContain('1,&lt;2&gt;,3');
  expect(body).toContain(`the file is in ${faulty}: fix it, and drop it again as bikes/june.csv`);
  expect(body).toContain('action="/drop/drops/bikes/june"');
  expect(body).toContain('type="file"');
  expect(body).not.toContain('/act/retry');
  const other = (await place.get('/item/drops/plain/x')).body;
  expect(other).toContain('/act/retry');
  expect(other).not.toContain('type="file"');
});

it.each([
  ['without the token', { token: '' }, 409, 'outdated'],
  ['from another origin', { headers: { origin: 'https://attacker.example' } }, 409, 'outdated'],
  ['of a kind that the inbox does not take', { name: 'x.pdf' }, 409, 'does not match'],
])('a file %s is refused, and nothing is written', async (_, how, status, text) => {
  const reply = await upload('drops/bikes/june', how);
  expect(reply).toMatchObject({ statusCode: status, body: expect.stringContaining(text) });
  expect(inInbox()).toEqual([]);
});

it('a file for an item that was not dropped, or does not exist, is refused', async () => {
  for (const key of ['drops/plain/x', 'drops/no/thing'])
    expect(await upload(key)).toMatchObject({ statusCode: 404, body: expect.stringContaining('no dropped file') });
  expect(inInbox()).toEqual([]);
});

it('a file through a link is refused', async () => {
  mkdirSync(inbox, { recursive: true });
  const elsewhere = tempDir();
  symlinkSync(elsewhere, join(inbox, 'cars'));
  expect(await upload('drops/cars/may')).toMatchObject({
    statusCode: 409,
    body: expect.stringContaining('symbolic link'),
  });
  expect(readdirSync(elsewhere)).toEqual([]);
});

it('lies in the inbox under the name that was dropped, with its own ending', async () => {
  const reply = await upload('drops/bikes/june');
  expect(reply.statusCode, reply.body).toBe(303);
  expect(reply.headers.location).toBe('/item/drops/bikes/june');
  expect(readFileSync(join(inbox, 'bikes/june.csv'), 'utf8')).toBe('a,b\n1,2\n');
  expect((await upload('drops/bikes/june', { name: '../../evil.xlsx' }, 'book')).statusCode).toBe(303);
  expect(readFileSync(join(inbox, 'bikes/june.xlsx'), 'utf8')).toBe('book');
  expect(inInbox().sort()).toEqual(['june.csv', 'june.xlsx']);
});

it('is announced on the page of the item beside the old fault until it is taken', async () => {
  const { runtime } = place;
  const pageNow = async (): Promise<string> => (await place.get('/item/drops/bikes/june')).body;
  const view = { manifest: 'drops', folder: inbox, settling: [], left: [], spooled: 0, settleMs: 2000, at: Date.now() };
  const show = (changes: object) =>
    runtime.redis.hset(runtime.keys.inboxes, 'drops', JSON.stringify({ ...view, ...changes }));
  const newer = 'A newer version: not live yet: waiting until the file is complete: unchanged for 2s';
  const unwatched = 'A newer version: not live yet: waits in the inbox of drops, which nobody watches';
  expect(await pageNow()).toContain(unwatched);
  await show({ at: Date.now() - 60_000 }); // by a service that was killed
  expect(await pageNow()).toContain(unwatched);
  await show({});
  expect(await pageNow()).toContain(newer);
  expect(await pageNow()).toContain('line 2: 3 cells');
  await show({ left: [{ path: 'bikes/june.csv', reason: 'gives the same id as bikes/june.xlsx' }] });
  expect(await pageNow()).toContain('A newer version: not live: ignored in the inbox: gives the same id');
  rmSync(join(inbox, 'bikes/june.csv'));
  await show({});
  expect(await pageNow()).not.toContain('A newer version');
  const settling = { key: 'drops/bikes/june', path: 'bikes/june.xlsx', bytes: 4, since: Date.now() };
  await show({ settling: [settling] });
  expect(await pageNow()).toContain(newer);
  await show({});
  symlinkSync('june.csv', join(inbox, 'bikes/june.csv')); // a link to itself
  expect(await pageNow()).toContain('line 2: 3 cells');
  rmSync(join(inbox, 'bikes/june.csv'));
  writeFileSync(join(inbox, 'bikes/june.csv'), 'a,b\n1,2\n');
  await runtime.redis.del(runtime.keys.inboxes);
});

it('leaves nothing of a file beyond the limit', async () => {
  const { sources } = place.runtime.config;
  const limit = sources.maxBytes;
  Object.assign(sources, { maxBytes: 10 });
  const reply = await upload('drops/bikes/june', {}, 'x'.repeat(11));
  Object.assign(sources, { maxBytes: limit });
  expect(reply).toMatchObject({ statusCode: 409, body: expect.stringContaining('is larger than') });
  expect(inInbox().sort()).toEqual(['june.csv', 'june.xlsx']);
});
