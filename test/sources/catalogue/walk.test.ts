// Catalogues in pages and parts: what is read of them, and what they say about being complete.
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { DatasetWish } from '../../../src/model/wish.ts';
import { sparing } from '../../../src/pipeline/plan/missing.ts';
import { webCatalogue } from '../../../src/sources/catalogue/catalogue-bytes.ts';
import { gatherCatalogue } from '../../../src/sources/catalogue/gather-catalogue.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { catalogueManifest, entry } from './support/catalogue.ts';

const server = await startSources();
const fetcher = new Fetcher(fetchPolicy);
afterAll(() => fetcher.close());

/** A document by the path and query it is served at: JSON, or a status or address to redirect to. */
type Served = Record<string, unknown> | number | string;

interface Facts {
  headers?: Record<string, string>;
}

/** Serves documents, each with an ETag of its content. */
const serve = (documents: Record<string, Served>, { headers = {} }: Facts = {}): void => {
  for (const path of new Set(Object.keys(documents).map((key) => key.replace(/\?.*$/, '')))) {
    server.on(path, (request, response) => {
      asked.push(request.url ?? '');
      const served = documents[request.url ?? ''] ?? 404;
      const header = headers[request.url ?? ''];
      if (header !== undefined) response.setHeader(header.replace(/:.*/, ''), header.replace(/^[^:]*: /, ''));
      if (typeof served === 'number') response.writeHead(served).end('no');
      else if (typeof served === 'string') response.writeHead(302, { location: served }).end();
      else {
        const text = JSON.stringify(served);
        fileAnswer(text, {
          etag: JSON.stringify(text.length + text.replace(/\W/g, '').slice(0, 99)),
          type: 'application/json',
        })(request, response);
      }
    });
  }
};
const asked: string[] = [];
beforeEach(() => {
  asked.length = 0;
});

const gather = async (path: string, { dir = tempDir(), policy = fetcher } = {}) => {
  const from = path.startsWith('/c') ? `${server.url}${path}` : path;
  const tools = {
    fetcher: policy,
    cacheDir: join(dir, 'c'),
    signal: new AbortController().signal,
    log: pino({ level: 'silent' }),
  };
  const wishes: DatasetWish[] = [];
  const gathered = await gatherCatalogue(catalogueManifest({ from }), webCatalogue(from, tools), async (wish) => {
    wishes.push(wish);
  });
  return { ...gathered, wishes, keys: wishes.map(({ key }) => key.slice(2)) };
};
const faultOf = (path: string): Promise<string> =>
  gather(path).then(
    ({ keys }) => `read ${keys}`,
    (error) => `${error.code}: ${error.message.replaceAll(server.url, '')}`,
  );

const page = (ids: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  dataset: ids === '' ? [] : ids.split(' ').map((id) => entry(id)),
  ...more,
});
/** A page in JSON-LD as CKAN and udata write it. */
const linked = (ids: string, paging: Record<string, unknown> = {}): Record<string, unknown> => ({
  '@context': {
    dcat: 'http://www.w3.org/ns/dcat#',
    dct: 'http://purl.org/dc/terms/',
    hydra: 'http://www.w3.org/ns/hydra/core#',
  },
  '@graph': [
    { '@id': 'urn:c', '@type': 'dcat:Catalog', 'dcat:dataset': ids.split(' ').map((id) => ({ '@id': `urn:${id}` })) },
    { '@id': 'urn:page', '@type': 'hydra:PartialCollectionView', ...paging },
    ...ids
      .split(' ')
      .map((id) => ({ '@id': `urn:${id}`, '@type': 'dcat:Dataset', 'dct:identifier': id, 'dct:title': id })),
  ],
});

describe('a catalogue in pages', () => {
  it.each([
    ['Link', {}, { headers: { '/c.json': 'link: </x>; rel="up, first"; title="a,b", <c2.json>; rel="next"' } }],
    ['`next`', { next: 'c2.json' }, {}],
    ['`hydra:nextPage`', { 'hydra:nextPage': '/c2.json' }, {}],
    ['a view', { 'hydra:view': { '@type': 'hydra:PartialCollectionView', 'hydra:next': { '@id': '/c2.json' } } }, {}],
    ['JSON:API', { links: { self: '/c.json', next: { href: '/c2.json' } } }, {}],
    [
      'OGC API',
      {
        links: [
          { rel: 'self', href: '/c.json' },
          { rel: 'next', href: '/c2.json#x' },
        ],
      },
      {},
    ],
    ['OData', { '@odata.nextLink': '/c2.json', '@odata.count': 3 }, {}],
    ['a paging object', { paging: { page: 1, next_page_url: '/c2.json', total_pages: 2 } }, {}],
    ['another spelling', { nextPageUri: '/c2.json' }, {}],
  ])('is read whole: %s', async (_what, more, facts: Facts) => {
    serve({ '/c.json': page('a b', more), '/c2.json': page('c', { next: null }) }, facts);
    const first = await gather('/c.json');
    expect([first.keys, first.complete, first.skipped]).toEqual([['a', 'b', 'c'], true, []]);
  });

  it('is read whole in JSON-LD, each page by one conditional request from then on', async () => {
    serve({
      '/c.jsonld': linked('a b', { 'hydra:totalItems': 5, 'hydra:next': { '@id': 'c.jsonld?page=2' } }),
      '/c.jsonld?page=2': linked('c d', { 'hydra:totalItems': 5, 'hydra:nextPage': '/c.jsonld?page=3' }),
      '/c.jsonld?page=3': linked('e', { 'hydra:totalItems': 5 }),
    });
    const dir = tempDir();
    expect(await gather('/c.jsonld', { dir })).toMatchObject({ keys: ['a', 'b', 'c', 'd', 'e'], complete: true });
    server.asked.length = 0;
    expect(await gather('/c.jsonld', { dir })).toMatchObject({ keys: ['a', 'b', 'c', 'd', 'e'], complete: true });
    expect(server.asked.map(({ headers }) => typeof headers['if-none-match'])).toEqual(['string', 'string', 'string']);
  });

  it('is read whole where its pages are only counted, up to the last one', async () => {
    const slices = { '/c.json': '/c.json?page=0', '/c.json?page=0': page('a b'), '/c.json?page=1': page('c d') };
    for (const [end, last] of [
      ['a redirect to the last page', '/c.json?page=1'],
      ['an empty page', page('')],
      ['the same page again', page('c d')],
    ] as const) {
      serve({ ...slices, '/c.json?page=2': last });
      expect(await gather('/c.json'), end).toMatchObject({ keys: ['a', 'b', 'c', 'd'], complete: true, skipped: [] });
    }
    serve({ '/c.json': '/c.json?page=0', '/c.json?page=0': page('a b'), '/c.json?page=1': page('a b') });
    expect(await gather('/c.json')).toMatchObject({ keys: ['a', 'b'], complete: true, skipped: [] });
    serve({ ...slices, '/c.json?page=1': page('a b') }, { headers: { '/c.json?page=0': 'X-Total-Count: 3' } });
    expect(await faultOf('/c.json')).toContain('its list has 3 entries, 2 were read');
    serve(slices);
    const { keys, complete } = await gather('/c.json');
    expect([keys, complete]).toEqual([['a', 'b', 'c', 'd'], expect.stringMatching(/^whether there is a page 3 of/)]);
    serve({
      '/c.json': '/c.json?page=0',
      '/c.json?page=0': page('a'),
      '/c.json?page=1': page('a'),
      '/c.json?page=2': page('b'),
      '/c.json?page=3': page(''),
    });
    expect(await gather('/c.json'), 'counted from 1').toMatchObject({ keys: ['a', 'b'], complete: true });
    serve({ ...slices, '/c.json?page=1': page(''), '/c.json?page=2': page('c d') });
    const { keys: behind, complete: gap } = await gather('/c.json');
    expect([behind, gap]).toEqual([
      ['a', 'b', 'c', 'd'],
      expect.stringMatching(/^a page before page 3 of .* is empty; whether/),
    ]);
    serve({ ...slices, '/c.json?page=2': 503 });
    expect(await faultOf('/c.json')).toMatch(
      /^catalogue-fault: page 3 of \/c\.json:1:1: it cannot be had: .* answered 503/,
    );
  });

  it.each([
    [
      'a page that is gone',
      { next: '/c2.json' },
      404,
      'page 2 of /c.json:1:1: it cannot be had: /c2.json answered 404',
    ],
    ['a page that is no catalogue', { next: '/c2.json' }, {}, 'page 2 of /c.json:1:2: it has no list `dataset`'],
    ['a loop', { next: '/c2.json' }, page('c', { next: '/c.json' }), 'page 2 of /c.json:1:1: it continues at /c.json'],
    ['a loop by redirect', { next: '/c2.json' }, '/c.json', 'page 2 of /c.json:1:1: it leads back to a page'],
    [
      'pages without end',
      { next: '/c2.json' },
      page('a b', { next: '/c3.json' }),
      'page 2 of /c.json:1:1: it only repeats',
    ],
    ['no address', { next: 'urn:next' }, 404, '/c.json:1:1: it continues at "urn:next", which is no address'],
    [
      'a private address',
      { next: 'http://169.254.169.254/x' },
      404,
      'page 2 of /c.json:1:1: it cannot be had: http://169.',
    ],
    ['a count', { 'hydra:totalItems': 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries, 2 were read'],
    [
      'a count as text',
      { meta: { total: '30', count: 2 } },
      404,
      '/c.json:1:1: it is incomplete: its list has 30 entries',
    ],
    [
      'a last page',
      { firstPage: '/c.json?p=1', lastPage: '/c.json?p=2' },
      404,
      '/c.json:1:1: it is incomplete: its list has more',
    ],
    [
      'more',
      { pageInfo: { hasNextPage: true, endCursor: 'x' } },
      404,
      '/c.json:1:1: it says that there is more, but not where',
    ],
    ['a token', { nextPageToken: 'abc' }, 404, '/c.json:1:1: it says that there is more, but not where'],
    ['a place to go on', { nextOffset: 2 }, 404, '/c.json:1:1: it says that there is more, but not where'],
    ['Solr', { numFound: 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries'],
    ['Elasticsearch', { hits: { total: { value: 3 } } }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries'],
    ['a number of records', { numberOfRecords: 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries'],
    ['a count of datasets', { total_dataset_count: '3' }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries'],
    ['datasets in total', { datasets_total: 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries'],
    ['the size of a result', { resultSetSize: 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries'],
    ['rows', { total_rows: 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries, 2 were read'],
    ['hits', { nbHits: 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries, 2 were read'],
    ['thousands', { total: '1,204' }, 404, '/c.json:1:1: it is incomplete: its list has 1,204 entries, 2 were read'],
    [
      'totals that differ',
      { next: '/c2.json', total: 4 },
      page('c', { total: 3 }),
      'page 2 of /c.json:1:1: it is incomplete: its list has 4 entries, 3 were read',
    ],
    ['ArcGIS', { exceededTransferLimit: true }, 404, '/c.json:1:1: it says that there is more, but not where'],
    ['more pages', { hasMorePages: true }, 404, '/c.json:1:1: it says that there is more, but not where'],
    ['a number of results', { num_results: 3 }, 404, '/c.json:1:1: it is incomplete: its list has 3 entries'],
    ['a status in words', { status: 'error' }, 404, '/c.json:1:1: it says that there is more, but not where, or that'],
    ['a partial result', { status: 'Partial' }, 404, '/c.json:1:1: it says that there is more, but not where, or that'],
    ['the status of a request', { statusCode: 503 }, 404, '/c.json:1:1: it says that there is more, but not where, or'],
    ['an error', { error: { message: 'timeout' } }, 404, '/c.json:1:1: it says that there is more, but not where, or'],
    ['errors', { errors: ['timeout'] }, 404, '/c.json:1:1: it says that there is more, but not where, or that its'],
    ['no success', { success: false }, 404, '/c.json:1:1: it says that there is more, but not where, or that its'],
    ['out of time', { timed_out: true }, 404, '/c.json:1:1: it says that there is more, but not where, or that its'],
  ] as [string, Record<string, unknown>, Served, string][])(
    'that cannot be read whole is a fault: %s',
    async (_what, more, second, fault) => {
      serve({ '/c.json': page('a b', more), '/c2.json': second });
      expect(await faultOf('/c.json')).toContain(`catalogue-fault: ${fault}`);
    },
  );

  it('is counted by its headers, too', async () => {
    for (const header of ['X-Total-Count: 3', 'Content-Range: items 0-1/3']) {
      serve({ '/c.json': page('a b') }, { headers: { '/c.json': header } });
      expect(await faultOf('/c.json')).toContain('its list has 3 entries, 2 were read');
    }
  });

  it('grows and shrinks by the headers of an unchanged page', async () => {
    const dir = tempDir();
    const next = { '/c.json': 'link: </c2.json>; rel=next' };
    const pages = { '/c.json': page('a b'), '/c2.json': page('c') };
    serve(pages);
    expect((await gather('/c.json', { dir })).keys).toEqual(['a', 'b']);
    serve(pages, { headers: next });
    expect((await gather('/c.json', { dir })).keys).toEqual(['a', 'b', 'c']);
    expect((await gather('/c.json', { dir })).keys).toEqual(['a', 'b', 'c']);
    serve({ '/c.json': page('a b'), '/c2.json': 404 });
    await gather('/c.json', { dir }).catch(() => undefined);
    expect((await gather('/c.json', { dir })).keys).toEqual(['a', 'b']);
  });

  it('has one limit of bytes for all pages', async () => {
    const pages = Object.fromEntries(
      Array.from({ length: 5 }, (_, at) => [
        `/c.json${at === 0 ? '' : `?p=${at}`}`,
        page(`a${at}`, { next: `/c.json?p=${at + 1}`, x: 'x'.repeat(300) }),
      ]),
    );
    serve({ ...pages, '/c.json?p=5': page('end') });
    const policy = new Fetcher({ ...fetchPolicy, maxBytes: 1500 });
    await expect(gather('/c.json', { policy })).rejects.toThrow(/page 4 of .*limit/);
    await policy.close();
    expect((await gather('/c.json')).keys).toHaveLength(6);
  });

  it('may be incomplete where pages overlap, come before it, or its address limits it', async () => {
    serve({ '/c.json': page('a b', { next: '/c2.json' }), '/c2.json': page('b c') });
    const moved = await gather('/c.json');
    expect([moved.keys, moved.skipped]).toEqual([['a', 'b', 'c'], []]);
    expect(moved.complete).toMatch(/^entries of .* moved between its pages while they were read$/);
    serve({
      '/c.json?limit=2': page('a b'),
      '/c.json?limit=3': page('a b'),
      '/c.json': page('a b', { prev: '/c0.json' }),
    });
    expect((await gather('/c.json?limit=2')).complete).toMatch(/has as many entries as a page of it may have \(2\)$/);
    expect((await gather('/c.json?limit=3')).complete).toBe(true);
    expect((await gather('/c.json')).complete).toMatch(/is not the first page of its list$/);
  });

  it.each([
    ['a limit of any name', '?size=12', 12, /has as many entries as a page of it may have \(12\)$/],
    ['less than a limit', '?size=12', 11, true],
    ['a usual page beside a limit', '?size=9999', 25, /has as many entries as a page of it may have \(25\)$/],
    ['a round number without a limit', '', 100, /has as many entries as a page of it may have \(100\)$/],
    ['a smaller one', '', 50, true],
    ['a small number', '?version=2', 2, true],
    ['the most that a server gives', '?rows=5000', 100, /has as many entries as a page of it may have \(100\)$/],
    ['a begin', '?start=0', 10, /is a page by its address, and nothing says whether there are others$/],
    ['a begin and a limit', '?start=0&rows=1000', 99, true],
    [
      'the number of a page',
      '?pageNumber=1',
      10,
      /is a page by its address, and nothing says whether there are others$/,
    ],
  ] as [string, string, number, RegExp | true][])(
    'may be incomplete by its address: %s',
    async (_what, query, count, complete) => {
      const ids = Array.from({ length: count }, (_, at) => `e${at}`);
      serve({ [`/c.json${query}`]: page(ids.join(' ')) });
      const gathered = await gather(`/c.json${query}`);
      expect(gathered.complete).toEqual(complete === true ? true : expect.stringMatching(complete));
    },
  );

  it.each([
    ['an exact value', { total: { value: '2', relation: 'eq' } }, 2],
    ['a bound that it exceeds', { total: { value: 1, relation: 'gte' } }, 2],
    ['a number of things', { total: '2 datasets' }, 2],
    ['a range', { total: '1-2 of 2' }, 2],
    ['no number', { total: 'many' }, 2],
    ['a lower bound', { total: { value: 2, relation: 'gte' } }, 3],
    ['hits', { hits: { total: { value: 2, relation: 'GREATER_THAN_OR_EQUAL_TO' } } }, 3],
    ['a text with a sign', { total: '2+' }, 3],
    ['words with a number', { totalItems: 'more than 2' }, 3],
    ...['1,204', '1.204', '1 204', '1\u202f204', '1_204', ' 1204 ', '1,204 datasets', '1-2 of 1,204'].map(
      (total) => [total, { total }, 1204] as const,
    ),
  ] as [string, Record<string, unknown>, number][])(
    'is compared with its total in any spelling: %s',
    async (_what, more, total) => {
      serve({ '/c.json': page('a b', more) });
      const said = `its list has ${total.toLocaleString('en')} entries, 2 were read`;
      expect(await faultOf('/c.json')).toContain(total === 2 ? 'read a,b' : said);
      if (total === 2) expect((await gather('/c.json')).complete).toBe(true);
    },
  );

  it.each([
    ['/c/page/1', false],
    ['/c/page-09.json', false],
    ['/c/pages/0/?x=1', false],
    ['/c/1.json', false],
    ['/c/catalog-1', false],
    ['/c/v1/data.json', true],
    ['/c/1/data.json', true],
    ['/c/2024.json', true],
    ['/c/v1', true],
  ])('may be one page of several by the number in its path: %s', async (path, complete) => {
    serve({ [path]: page('a b') });
    const numbered = expect.stringMatching(/is a page by its address, and nothing says whether there are others$/);
    expect((await gather(path)).complete).toEqual(complete || numbered);
    serve({ [path]: page('a b', { total: 2 }) });
    expect((await gather(path)).complete).toBe(true);
  });

  it('may count only its own entries', async () => {
    serve({ '/c.json?limit=2': page('a b', { count: 2 }) });
    expect((await gather('/c.json?limit=2')).complete).toMatch(/has as many entries as a page of it may have \(2\)$/);
    serve({
      '/c.json?page=0': page('a b', { count: 2 }),
      '/c.json?page=1': page('c', { count: 1 }),
      '/c.json?page=2': page('', { count: 0 }),
    });
    expect(await gather('/c.json?page=0')).toMatchObject({ keys: ['a', 'b', 'c'], complete: true });
  });

  it('may be incomplete where a link ends at an empty document elsewhere', async () => {
    serve({ '/c.json': page('a', { next: '/c2.json' }), '/c2.json': '/c3.json', '/c3.json': page('') });
    const { keys, complete } = await gather('/c.json');
    expect([keys, complete]).toEqual([
      ['a'],
      expect.stringMatching(/^page 2 of .* leads to .*\/c3\.json, where there/),
    ]);
  });

  it('is read by the relations of TREE', async () => {
    const first = linked('a');
    (first['@graph'] as unknown[]).push({
      '@id': 'urn:r',
      'https://w3id.org/tree#node': { '@id': `${server.url}/c2.jsonld` },
    });
    serve({ '/c.jsonld': first, '/c2.jsonld': linked('b') });
    expect(await gather('/c.jsonld')).toMatchObject({ keys: ['a', 'b'], complete: true, skipped: [] });
    serve({ '/c.jsonld': first, '/c2.jsonld': 404 });
    expect((await gather('/c.jsonld')).skipped).toMatchObject([{ isKnown: false }]);
  });

  it('says that all went well without being incomplete', async () => {
    serve({
      '/c.json': page('a', {
        success: true,
        ok: 'yes',
        error: null,
        errors: [],
        timed_out: false,
        hits: 1,
        status: 'ok',
        state: 'Maine',
      }),
    });
    expect((await gather('/c.json')).complete).toBe(true);
    serve({
      '/c.json': page('a', { error: false, errors: 0, statusCode: 200, distributionCount: 9, datasetSize: 900 }),
    });
    expect((await gather('/c.json')).complete).toBe(true);
  });

  it('does not go on for ever with empty pages; some are read', async () => {
    const chain = (pages: number) =>
      Object.fromEntries(
        Array.from({ length: pages }, (_, at) => [
          `/c.json${at === 0 ? '' : `?part=${at}`}`,
          page(at === 0 ? 'a' : '', at === pages - 1 ? {} : { next: `/c.json?part=${at + 1}` }),
        ]),
      );
    serve(chain(50));
    expect(await gather('/c.json')).toMatchObject({ keys: ['a'], complete: true });
    serve(chain(200));
    expect(await faultOf('/c.json')).toMatch(
      /^catalogue-fault: page 102 of .*it only repeats .* or has none, and links/,
    );
  });

  it('is read again before an absence is believed: it may have moved', async () => {
    serve({ '/c.json': page('a b', { next: '/c2.json' }), '/c2.json': page('d') });
    const { complete, confirm } = await gather('/c.json');
    expect([complete, await confirm?.()]).toEqual([true, true]);
    serve({ '/c.json': page('b c', { next: '/c2.json' }), '/c2.json': page('d') });
    expect(await confirm?.()).toBe('the catalogue changed while it was read');
    serve({ '/c.json': page('a') });
    const alone = await gather('/c.json');
    serve({ '/c.json': page('a b') });
    expect(await alone.confirm?.()).toBe('the catalogue changed while it was read');
  });
});

describe('a part of a catalogue', () => {
  it.each([
    ['text', { catalog: ['/part.json'] }],
    ['an object', { catalog: [{ '@id': '/part.json', '@type': 'dcat:Catalog', title: 'Part' }] }],
    ['one alone', { hasPart: { '@id': '/part.json' } }],
    ['a page of it', { catalog: [{ dataset: [], 'hydra:next': '/part.json' }] }],
  ])('is fetched where it is elsewhere: %s', async (_what, more) => {
    serve({
      '/c.json': page('a', more),
      '/part.json': page('b', { next: '/part2.json', hasPart: ['/c.json'] }),
      '/part2.json': page('c'),
    });
    expect(await gather('/c.json')).toMatchObject({ keys: ['a', 'b', 'c'], complete: true, skipped: [] });
  });

  it('is fetched in JSON-LD', async () => {
    const graph = linked('a');
    const catalogue = (graph['@graph'] as Record<string, unknown>[])[0] ?? {};
    catalogue['dcat:catalog'] = [{ '@id': `${server.url}/part.jsonld` }];
    serve({ '/c.jsonld': graph, '/part.jsonld': linked('b') });
    expect(await gather('/c.jsonld')).toMatchObject({ keys: ['a', 'b'], complete: true, skipped: [] });
  });

  it('that cannot be read is reported, and nothing counts as missing', async () => {
    serve({ '/c.json': page('a', { catalog: ['/part.json'] }), '/part.json': 404 });
    const gathered = await gather('/c.json');
    expect(gathered.keys).toEqual(['a']);
    expect(gathered.skipped).toMatchObject([{ key: 'm/part#1', isKnown: false, reason: { code: 'source-missing' } }]);
    expect(sparing(gathered, () => true)('m/b')).toBe('possible');
    for (const part of ['urn:part', { title: 'Part' }, { '@id': 'file:///etc/passwd' }]) {
      serve({ '/c.json': page('a', { catalog: [part] }) });
      expect(typeof (await gather('/c.json')).complete, JSON.stringify(part)).toBe('string');
    }
    serve({ '/c.json': page('a', { catalog: [{ dataset: [entry('b')], total: 2 }] }) });
    expect((await gather('/c.json')).complete).toBe('a catalogue in it is empty or incomplete');
  });

  it('that is empty may be so for a while only', async () => {
    for (const inside of [{ dataset: [] }, null]) {
      serve({ '/c.json': page('a', { catalog: [inside] }) });
      expect((await gather('/c.json')).complete).toBe('a catalogue in it is empty or incomplete');
    }
    serve({ '/c.json': page('a', { catalog: [{ dataset: [], catalog: ['/part.json'] }] }), '/part.json': page('b') });
    expect(await gather('/c.json')).toMatchObject({ keys: ['a', 'b'], complete: true });
    serve({ '/c.json': page('a', { catalog: ['/part.json'] }), '/part.json': page('') });
    expect((await gather('/c.json')).complete).toMatch(/^its part .*\/part\.json is empty$/);
  });
});

describe('a dataset that is named, but not described', () => {
  const named = [entry('g1'), 'g2', { '@id': 'g3', '@type': 'dcat:Dataset' }, entry('g4')];

  it('is faulty with its identity, which counts where it is published', async () => {
    serve({ '/c.json': { dataset: named } });
    const gathered = await gather('/c.json');
    expect(gathered.keys).toEqual(['g1', 'g4']);
    expect(gathered.skipped.map(({ key, reason }) => [key, reason.code])).toEqual([
      ['m/g2', 'entry-fault'],
      ['m/g3', 'entry-fault'],
    ]);
    const known = sparing(gathered, () => true);
    expect(['m/g2', 'm/g3/r', 'm/g9'].map((key) => known(key))).toEqual(['certain', 'certain', 'none']);
    expect(sparing(gathered, (key) => key === 'm/g2')('m/g9')).toBe('possible');
  });

  it('is found on another page, or in another part', async () => {
    serve({ '/c.json': { dataset: named, next: '/c2.json' }, '/c2.json': page('g2', { catalog: [page('g3')] }) });
    expect(await gather('/c.json')).toMatchObject({ keys: ['g1', 'g4', 'g2', 'g3'], skipped: [], complete: true });
  });

  it('is faulty in JSON-LD, whatever names it; one that is described needs no type', async () => {
    const graph = linked('g1');
    const nodes = graph['@graph'] as Record<string, unknown>[];
    (nodes[0] ?? {})['dcat:dataset'] = [{ '@id': 'urn:g1' }, { '@id': 'urn:g2' }, 'urn:g3', { '@id': 'urn:g4' }];
    nodes.push({ '@id': 'urn:g4', 'dct:title': 'Untyped' }, { '@id': 'urn:g5', '@type': 'dcat:Dataset' });
    serve({ '/c.jsonld': graph });
    const { keys, skipped } = await gather('/c.jsonld');
    expect(keys).toHaveLength(2);
    expect(skipped.map(({ title }) => title).sort()).toEqual(['urn:g2', 'urn:g3', 'urn:g5']);
  });

  it('is spared as a distribution, too', async () => {
    serve({ '/c.json': { dataset: [entry('x', { distribution: ['r1', { '@id': 'r2' }] })] } });
    const gathered = await gather('/c.json');
    expect(gathered.skipped.map(({ key }) => key)).toEqual(['m/x/r1', 'm/x/r2']);
    const known = sparing(gathered, () => true);
    expect(['m/x/r1', 'm/x/r2', 'm/x/r3', 'm/y/r1'].map((key) => known(key))).toEqual([
      'certain',
      'certain',
      'none',
      'none',
    ]);
    expect(sparing(gathered, () => false)('m/x/r3')).toBe('possible');
  });
});

describe('a fetched document', () => {
  it('in JSON-LD has its relative addresses resolved against its own one', async () => {
    const document = {
      '@context': { dcat: 'http://www.w3.org/ns/dcat#', dct: 'http://purl.org/dc/terms/' },
      '@id': '',
      '@type': 'dcat:Catalog',
      'dcat:dataset': { '@id': '#d' },
      '@included': {
        '@id': '#d',
        '@type': 'dcat:Dataset',
        'dct:title': 'D',
        'dcat:landingPage': { '@id': '../about' },
        'dcat:distribution': { '@type': 'dcat:Distribution', 'dcat:downloadURL': { '@id': 'files/a.csv' } },
      },
    };
    serve({ '/c/start': '/c/sub/cat.jsonld', '/c/sub/cat.jsonld': document });
    const { wishes, complete } = await gather('/c/start');
    expect(complete).toBe(true);
    expect(wishes[0]?.resources[0]?.source).toEqual({ kind: 'link', url: `${server.url}/c/sub/files/a.csv` });
    expect(wishes[0]?.fields.field_landing_page).toEqual({ und: [{ url: `${server.url}/c/about` }] });
    expect(wishes[0]?.identifier).toBe(`${server.url}/c/sub/cat.jsonld#d`);
  });

  it.each([
    ['UTF-16LE with its mark', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['UTF-16BE with its mark', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
    ['UTF-16LE', (text: string) => Buffer.from(text, 'utf16le')],
    ['UTF-16BE', (text: string) => Buffer.from(text, 'utf16le').swap16()],
    ['UTF-8 with its mark', (text: string) => Buffer.from(`\ufeff${text}`)],
  ])('in %s is read', async (_, encoded) => {
    const document = { dataset: [entry('a', { title: 'Bäume 🌳' })] };
    server.on('/c/wide', fileAnswer(encoded(JSON.stringify(document)), { type: 'application/json' }));
    expect((await gather('/c/wide')).wishes.map(({ title }) => title)).toEqual(['Bäume 🌳']);
  });
});
