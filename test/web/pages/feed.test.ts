// The feed of the versions of an item: what a feed reader makes of it, and who may read it.
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newEntry } from '../../../src/model/ledger-entry.ts';
import { feedXml } from '../../../src/web/pages/feed.ts';
import { type Filled, fill, writeItems } from '../support/filled.ts';
import { openWebPlace, type WebPlace } from '../support/web-place.ts';

const web = { port: 0, username: 'ann', password: { file: 'password' }, publicUrl: 'https://sluice.example.org/' };

let open: WebPlace;
let closed: WebPlace;
let known: Filled;
beforeAll(async () => {
  open = await openWebPlace({ web: { ...web, public: true } }, { password: 'correct horse' });
  closed = await openWebPlace({ web }, { password: 'correct horse' });
  known = await fill(open.runtime);
});
afterAll(() => Promise.all([open.close(), closed.close()]));

interface Feed {
  title: string;
  id: string;
  updated: string;
  entry: { title: string; id: string; updated: string; summary: string }[];
}

const feedOf = async (key: string): Promise<Feed> => {
  const { statusCode, headers, body } = await open.get(`/changes/${key}`);
  expect([statusCode, headers['content-type']]).toEqual([200, 'application/atom+xml; charset=utf-8']);
  expect(XMLValidator.validate(body)).toBe(true);
  const { feed } = new XMLParser({
    isArray: (name) => name === 'entry',
    parseTagValue: false,
    htmlEntities: true,
  }).parse(body);
  return { ...feed, entry: feed.entry ?? [] };
};

it('has each version of a table, newest first, with what changed where that is known', async () => {
  const feed = await feedOf(known.live);
  expect(feed.entry).toHaveLength(19);
  expect(feed.id).toBe(`https://sluice.example.org/item/${known.live}`);
  expect(feed.updated).toBe(feed.entry[0]?.updated);
  expect(feed.entry[0]?.summary).toContain('1,310 rows, 4 columns');
  expect(feed.entry.at(-1)?.title).toMatch(/: first version$/);
  expect(new Set(feed.entry.map(({ id }) => id)).size).toBe(19);
  const times = feed.entry.map(({ updated }) => updated);
  expect(times).toEqual(times.toSorted().reverse());
  expect((await open.get(`/item/${known.live}`)).body).toContain(`href="/changes/${known.live}"`);
});

it('of a dataset has those of all its tables; of what has no versions it is empty, of what nobody knows there is none', async () => {
  expect((await feedOf(known.live.replace(/\/[^/]+$/, ''))).entry).toHaveLength(19);
  expect((await feedOf('city-open-data/parking')).entry).toEqual([]);
  expect((await open.get('/changes/of/nobody')).statusCode).toBe(404);
});

it('of a dataset leaves out none of its tables, however many others have keys that begin like its own', async () => {
  const { runtime } = open;
  const target = { manifest: 'near', portal: 'local' };
  await runtime.ledger.remember(target, '/srv/manifests/near.yaml');
  const version = { at: 1, sum: '', rows: 1, bytes: 2, isGuarded: false, columns: [], sparse: {} };
  const entryOf = (key: string) => ({
    ...newEntry({ key, kind: 'resource', uuid: '', title: key }),
    version: key.endsWith('/d') ? null : version,
  });
  const own = Array.from({ length: 20 }, (_, at) => `near/d/${at}`);
  const others = Array.from({ length: 300 }, (_, at) => `near/d-${at}/table`);
  await runtime.ledger.putAll('local', ['near/d', ...others, ...own].map(entryOf));
  expect((await feedOf('near/d')).entry.map(({ title }) => title).sort()).toEqual(
    own.map((key) => `${key}: first version`).sort(),
  );
});

it('calls the oldest version the first one only while none was forgotten', () => {
  const tableOf = (count: number) => ({
    entry: { key: 'm/d/t', title: 'T' },
    versions: Array.from({ length: count }, (_, at) => ({ at, rows: 1, bytes: 2, isGuarded: false, columns: [] })),
  });
  const hasFirst = (count: number): boolean =>
    feedXml('m/d/t', 'T', [tableOf(count)], 'https://sluice.example.org').includes('T: first version');
  expect([99, 100].map(hasFirst)).toEqual([true, false]);
});

it('of a dataset does not say what its change log lists', async () => {
  const dataset = known.live.replace(/\/[^/]+$/, '');
  const table = await open.runtime.ledger.entry('local', known.live);
  expect(table?.version).toBeTruthy();
  if (table) await open.runtime.ledger.put('local', { ...table, key: `${dataset}/_change-log` });
  expect((await feedOf(dataset)).entry).toHaveLength(19);
  expect((await feedOf(`${dataset}/_change-log`)).entry).not.toHaveLength(0);
});

it('is well-formed whatever the titles are', async () => {
  const title = '<b>&"\' \u0000\u0007\ufffe ]]> Zürich';
  const [entry] = await writeItems(open.runtime, { manifest: 'odd', titles: [title] });
  expect((await feedOf(`${entry?.key}`)).title).toBe(`Versions of <b>&"'  ]]> Zürich`);
});

it('is for people who are logged in, unless the pages are public', async () => {
  expect((await closed.get(`/changes/${known.live}`)).headers.location).toMatch(/^\/login/);
});
