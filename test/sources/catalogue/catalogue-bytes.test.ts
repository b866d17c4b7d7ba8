// What fetching a catalogue leaves in its folder.
import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, expect, it } from 'vitest';
import { webCatalogue } from '../../../src/sources/catalogue/catalogue-bytes.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const server = await startSources();
const fetcher = new Fetcher({ ...fetchPolicy, allowPrivate: ['127.0.0.0/8'] });
afterAll(() => fetcher.close());

const read = async (path: string, cacheDir: string): Promise<string> => {
  const tools = { fetcher, cacheDir, signal: new AbortController().signal, log: pino({ level: 'silent' }) };
  const address = `${server.url}${path}`;
  const source = webCatalogue(address, tools);
  const document = await source.open(address, 0);
  const text = document && (await buffer(document.bytes)).toString();
  await source.done();
  return text ?? '';
};

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

it('removes what a killed process left, also while the catalogue stays the same', async () => {
  server.on('/same.json', fileAnswer('{"dataset":[]}', { etag: '"1"', type: 'application/json' }));
  const dir = tempDir();
  await read('/same.json', dir);
  const [known = ''] = filesIn(dir);
  const old = join(dirname(known), 'incoming-1.part');
  const young = join(dirname(known), 'incoming-2.part');
  for (const path of [old, young]) writeFileSync(path, 'half');
  const before = new Date(Date.now() - 2 * 86_400_000);
  for (const path of filesIn(dir)) if (path !== young) utimesSync(path, before, before);
  expect(await read('/same.json', dir)).toBe('{"dataset":[]}');
  expect(existsSync(old)).toBe(false);
  expect(filesIn(dir)).toHaveLength(3); // the catalogue, its note, and what another process may be at work on
});
