// Names looked up by what the portal suggests in its forms: terms with their vocabulary, vocabularies, nodes.
import { describe, expect, it, onTestFinished } from 'vitest';
import { calm, openForTest } from './support/open.ts';
import { refusal, type Seen, unknownRoute } from './support/scripted-server.ts';
import { startSmallPortal } from './support/small-portal.ts';

interface Term {
  tid: number;
  name: string;
  bundle?: string;
}

const suggested = ({ tid, name, bundle = 'tags' }: Term) => [
  `${name} [id: ${tid}]`,
  `<span class="autocomplete_title">${name}</span> <span class="autocomplete_bundle">(${bundle})</span>`,
];

/** Answers as deployed portals: at most ten, sorted, whatever the case; a name ends at a slash. */
const suggest = (terms: Term[], path: string): unknown => {
  const [, text = ''] = /^\/ctools\/autocomplete\/\w+\/([^/]*)$/.exec(path) ?? [];
  const wanted = decodeURIComponent(text);
  const [, tid] = /^id: (\d+)$/.exec(wanted) ?? [];
  if (tid !== undefined) {
    const term = terms.find((one) => one.tid === Number(tid));
    return term ? Object.fromEntries([suggested(term)]) : { [`${tid} [id: ${tid}]`]: `<span>${tid}</span>` };
  }
  const found = terms
    .filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  return found.length === 0 ? [] : Object.fromEntries(found.slice(0, 10).map(suggested));
};

type Pages = Record<string, { status?: number; body: unknown }>;

const start = async (terms: Term[], pages: Pages = {}) => {
  const server = await startSmallPortal({
    intercept: ({ path }: Seen) => {
      if (path.startsWith('/ctools/')) return { body: suggest(terms, path) };
      const [page] = Object.entries(pages).find(([start]) => path.startsWith(start)) ?? [];
      return page === undefined ? undefined : pages[page];
    },
  });
  onTestFinished(() => server.close());
  const portal = openForTest(server.url);
  const asked = () => server.seen.map(({ path }) => path).filter((path) => !path.includes('/user/'));
  const tids = (name: string) => portal.suggestions.termsNamed('tags', name, calm);
  return { server, portal, asked, tids };
};

const many = (count: number, name: (at: number) => string): Term[] =>
  Array.from({ length: count }, (_, at) => ({ tid: at + 1, name: name(at) }));

describe('a term by its name', () => {
  it('is one request in the session, and told from longer names, other vocabularies and other cases', async () => {
    const { server, tids, asked } = await start([
      { tid: 12, name: 'economy' },
      { tid: 19, name: 'socioeconomy' },
      { tid: 5, name: 'economy', bundle: 'format' },
      { tid: 3, name: 'Economy' },
    ]);
    expect(await tids('economy')).toEqual(['12']);
    expect(asked()).toEqual(['/ctools/autocomplete/taxonomy_term/economy']);
    expect(server.seen.at(-1)?.headers.cookie).toContain('SESSabc=');
  });

  it('has all ids of that name, the oldest first; where none is written so, those of another case; else none', async () => {
    const { tids } = await start([
      { tid: 78, name: 'economy' },
      { tid: 12, name: 'economy' },
      { tid: 7, name: 'Parks' },
    ]);
    expect([await tids('economy'), await tids('parks'), await tids('harbour')]).toEqual([['12', '78'], ['7'], []]);
  });

  it('may hold slashes, quotes and what else an address cannot', async () => {
    const names = ['roads/railways', `o'neil "the" <b>`, 'a?b#c%d', 'back\\slash', 'id: 4', 'ä ö+ü & co'];
    const { tids } = await start(names.map((name, at) => ({ tid: at + 40, name })));
    for (const [at, name] of names.entries()) expect(await tids(name), name).toEqual([String(at + 40)]);
  });

  it.each([
    unknownRoute('no page'),
    { status: 404, body: '<!DOCTYPE html><html><title>Page not found</title></html>' },
  ])('is unknown where the portal has no such address, which is remembered: %o', async (missing) => {
    const { portal, tids } = await start([]);
    const none = await startSmallPortal({
      intercept: ({ path }) => (path.startsWith('/ctools') ? missing : undefined),
    });
    onTestFinished(() => none.close());
    const other = openForTest(none.url);
    expect(await other.suggestions.termsNamed('tags', 'a', calm)).toBeNull();
    expect(await other.suggestions.termsNamed('tags', 'b', calm)).toBeNull();
    expect(none.requests('GET', '/ctools')).toHaveLength(1);
    expect([await tids('b'), portal.traits.get('suggestions')]).toEqual([[], true]);
  });

  it('is no answer of a portal that fails', async () => {
    const failing = await startSmallPortal({
      intercept: ({ path }) => (path.startsWith('/ctools') ? refusal(500, 'down') : undefined),
    });
    onTestFinished(() => failing.close());
    const portal = openForTest(failing.url, { readRetries: 0 });
    await expect(portal.suggestions.termsNamed('tags', 'a', calm)).rejects.toMatchObject({
      code: 'portal-unreachable',
    });
    expect(portal.traits.get('suggestions')).toBeUndefined();
  });
});

describe('a name that more than ten terms contain', () => {
  const art = [...many(30, (at) => `apart ${at}`), { tid: 31, name: 'art & "craft"' }, { tid: 70, name: 'art' }];

  it('is none where the list of all names lacks it', async () => {
    const { tids, asked } = await start(art, {
      '/autocomplete_deluxe/taxonomy/field_tags/%20/0': {
        body: { other: 'other', '"art ""x"""': 'art &quot;x&quot;' },
      },
    });
    expect(await tids('art')).toEqual([]);
    expect(asked()).toHaveLength(2);
  });

  it('is found by the search of the portal', async () => {
    const link = '<a href="/search/field_tags/art-70?query=art" class="facetapi-inactive" rel="nofollow">art (2)<span';
    const { tids, asked } = await start(art, {
      '/autocomplete_deluxe/': { body: { art: 'art' } },
      '/search?query=art': {
        body: `<html><ul><li>${link} class="element-invisible"> Apply art filter</span></a></ul>`,
      },
    });
    expect(await tids('art')).toEqual(['70']);
    expect(asked()).toHaveLength(4);
  });

  it('is found among all terms where the search does not tell, which are read once', async () => {
    const { tids, asked } = await start(art, { '/search': { status: 500, body: '<html>Error</html>' } });
    expect(await tids('art')).toEqual(['70']);
    const before = asked().length;
    expect(await tids('apart 7')).toEqual(['8']);
    expect(await tids('a')).toEqual([]);
    expect(
      asked()
        .slice(before)
        .filter((path) => path.includes('id%3A')),
    ).toEqual([]);
  });
});

it('a vocabulary is found by its label', async () => {
  const { portal } = await start([
    { tid: 4, name: 'Tags', bundle: '' },
    { tid: 9, name: 'Tags of maps', bundle: '' },
    { tid: 6, name: 'Topics', bundle: '' },
  ]);
  const ids = (['tags', 'dkan_topics', 'format'] as const).map((name) => portal.suggestions.vocabularyId(name, calm));
  expect(await Promise.all(ids)).toEqual(['4', '6', null]);
});

it('nodes are found by type and whole title; unknown where more than ten contain it', async () => {
  const { portal } = await start([
    { tid: 4, name: 'Plan', bundle: 'dataset' },
    { tid: 5, name: 'Plan', bundle: 'resource' },
    { tid: 6, name: 'Plan B', bundle: 'dataset' },
    ...many(10, (at) => `Map ${at}`).map((map) => ({ ...map, tid: map.tid + 50 })),
  ]);
  expect(await portal.suggestions.nodesTitled('dataset', 'Plan', calm)).toEqual(['4']);
  expect(await portal.suggestions.nodesTitled('dataset', 'None', calm)).toEqual([]);
  expect(await portal.suggestions.nodesTitled('dataset', 'Map', calm)).toBeNull();
});
