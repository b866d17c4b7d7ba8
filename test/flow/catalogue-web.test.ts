// A catalogue on the web: asked for once and conditionally from then on, kept with its hash, and never trusted when it fails.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { cases, sampled } from '../support/extent.ts';
import { fileAnswer, type SourceServer, startSources } from '../support/source-server.ts';
import { type Gateway, openGateway } from './support/gateway.ts';
import { withReport } from './support/place.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortal } from './support/server.ts';

const portal = await startPortal();
const gateway: Gateway = await openGateway(portal.url);
const server: SourceServer = await startSources();

const place = makeRemotePlace(gateway.url, {
  sources: { allow: ['127.0.0.1'], connect: '2s', headers: '2s', body: '2s', requestsPerSecond: 0 },
  retry: { attempts: 2, backoff: '50ms', maxBackoff: '100ms' },
});

const textOf = (count: number): string =>
  JSON.stringify({
    dataset: Array.from({ length: count }, (_, index) => ({ identifier: `id-${index}`, title: `Dataset ${index}` })),
  });
/** A page with one dataset, and the address of the next one. */
type Write = (title: string, next: string | null | undefined) => string;
const ns = {
  dcat: 'http://www.w3.org/ns/dcat#',
  dct: 'http://purl.org/dc/terms/',
  hydra: 'http://www.w3.org/ns/hydra/core#',
};
const triples: Write = (title, next) => `<urn:c> <${ns.dcat}dataset> <urn:${title}> .
<urn:${title}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <${ns.dcat}Dataset> .
<urn:${title}> <${ns.dct}title> "${title}"@de .
<urn:${title}> <${ns.dcat}distribution> _:f .
_:f <${ns.dcat}accessURL> <https://example.org/${title}.csv> .
${next ? `<urn:p> <${ns.hydra}nextPage> "${next}" .` : ''}
`;
const turtle: Write = (title, next) => `@prefix dcat: <${ns.dcat}> .
@prefix dct: <${ns.dct}> .
<urn:c> dcat:dataset <urn:${title}> .
<urn:${title}> a dcat:Dataset ; dct:title "${title}"@de ;
  dcat:distribution [ dcat:accessURL <https://example.org/${title}.csv> ] .
${next ? `<urn:p> <${ns.hydra}nextPage> "${next}" .` : ''}
`;
const rdfXml: Write = (title, next) => `<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="${ns.dcat}" xmlns:dct="${ns.dct}" xmlns:hydra="${ns.hydra}">
<dcat:Catalog rdf:about="urn:c"><dcat:dataset><dcat:Dataset rdf:about="urn:${title}">
<dct:title xml:lang="de">${title}</dct:title>
<dcat:distribution><dcat:Distribution><dcat:accessURL rdf:resource="https://example.org/${title}.csv"/></dcat:Distribution></dcat:distribution>
</dcat:Dataset></dcat:dataset></dcat:Catalog>
${next ? `<hydra:PagedCollection rdf:about="urn:p"><hydra:nextPage>${next}</hydra:nextPage></hydra:PagedCollection>` : ''}
</rdf:RDF>`;
const serve = (path: string, text: string, etag: string): void =>
  server.on(path, fileAnswer(text, { etag, type: 'application/json' }));
const harvest = (name: string, path = `/${name}.json`, more: Record<string, unknown> = {}): string =>
  place.manifest({ name, catalogue: `${server.url}${path}`, onMissing: 'delete', ...more });
const askedFor = (path: string) => server.asked.filter((asked) => asked.path === path);

beforeEach(() => {
  server.asked.length = 0;
  gateway.takeWrites();
});

describe('a catalogue on the web', () => {
  it('is one request, and one conditional request that sends nothing from then on', async () => {
    serve('/etag.json', textOf(20), '"v1"');
    const manifest = harvest('etag');
    const first = await place.publish(manifest);
    expect([first.code, first.report.counts.dataset]).toEqual([0, { done: 20 }]);
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]?.headers['if-none-match']).toBeUndefined();
    expect(gateway.takeWrites()).toHaveLength(20);

    const second = await place.publish(manifest);
    expect([second.code, second.report.counts.dataset]).toEqual([0, { unchanged: 20 }]);
    expect(server.asked).toHaveLength(2);
    expect(server.asked[1]).toMatchObject({ path: '/etag.json', headers: { 'if-none-match': '"v1"' } });
    expect(gateway.takeWrites()).toEqual([]);

    serve('/etag.json', textOf(21), '"v2"');
    const third = await place.publish(manifest);
    expect([third.code, third.report.counts.dataset]).toEqual([0, { unchanged: 20, done: 1 }]);
  });

  const syntaxes: [string, string, string, Write][] = [
    ['Turtle', 'ttl', 'text/turtle', turtle],
    ['N-Triples', 'nt', 'application/n-triples', triples],
    ['RDF/XML', 'rdf', 'application/rdf+xml', rdfXml],
  ];

  it.each(sampled(syntaxes, 3))(
    'may be %s, with its pages; unchanged, each costs one conditional request',
    async (_syntax, ending, type, write) => {
      const pages = [`/p.${ending}`, `/p2.${ending}`] as const;
      const [one, two] = pages.map((page) => server.url + page);
      server.on(pages[0], fileAnswer(write('Bäume', two), { etag: '"1"', type }));
      server.on(pages[1], fileAnswer(write('Seen', null), { etag: '"2"', type }));
      const manifest = harvest(ending, pages[0]);
      const first = await place.publish(manifest);
      expect([first.code, first.report.counts]).toMatchObject([0, { dataset: { done: 2 }, resource: { done: 2 } }]);
      expect(gateway.takeWrites().length).toBeGreaterThan(0);
      server.asked.length = 0;
      const second = await place.publish(manifest);
      expect([second.code, second.report.counts]).toMatchObject([0, { dataset: { unchanged: 2 } }]);
      expect(server.asked.map(({ path, headers }) => [server.url + path, headers['if-none-match']])).toEqual([
        [one, '"1"'],
        [two, '"2"'],
      ]);
      expect(gateway.takeWrites()).toEqual([]);
    },
  );

  it.each([
    ['is read again before something is removed, and only then', 'unpublish', [1, 2, 1]],
    ['is read once where nothing is to be removed', 'keep', [1, 1, 1]],
  ])('%s', async (_what, onMissing, requests) => {
    const path = `/again-${onMissing}.json`;
    const manifest = harvest(`again-${onMissing}`, path, { onMissing });
    for (const [run, count] of [20, 19, 19].entries()) {
      serve(path, textOf(count), `"${count}"`);
      server.asked.length = 0;
      expect((await place.publish(manifest)).code).toBe(0);
      expect(askedFor(path), `run ${run + 1}`).toHaveLength(requests[run] ?? 0);
    }
  });

  it('whose kept copy is not what it was is fetched again', async () => {
    serve('/kept.json', textOf(3), '"k"');
    const manifest = harvest('kept');
    await place.publish(manifest);
    const folder = join(place.stateDir, 'catalogues');
    const kept = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('content'));
    for (const path of kept) writeFileSync(join(folder, path), textOf(1));
    const { code, report } = await place.publish(manifest);
    expect([code, report.counts.dataset]).toEqual([0, { unchanged: 3 }]);
    expect(askedFor('/kept.json').map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined]);
  });

  it('whose server calls everything unchanged is fetched anew with --refresh', async () => {
    serve('/fixed.json', textOf(3), '"fixed"');
    const manifest = harvest('fixed');
    await place.publish(manifest);
    serve('/fixed.json', textOf(4), '"fixed"');
    expect((await place.publish(manifest)).report.counts.dataset).toEqual({ unchanged: 3 });
    const { report } = withReport(await place.run(['publish', manifest, '--json', '--refresh']));
    expect(report.counts.dataset).toEqual({ unchanged: 3, done: 1 });
  });

  it('brings its files with `files: fetch`; unchanged, each costs one conditional request', async () => {
    server.on('/trees.csv', fileAnswer('id,kind\n1,oak\n2,elm\n', { etag: '"t"' }));
    const distribution = [
      { downloadURL: `${server.url}/trees.csv`, title: 'Trees', format: 'CSV' },
      { accessURL: `${server.url}/map`, title: 'Map' },
    ];
    serve('/files.json', JSON.stringify({ dataset: [{ identifier: 'trees', title: 'Trees', distribution }] }), '"f"');
    const manifest = place.manifest({ name: 'files', catalogue: { from: `${server.url}/files.json`, files: 'fetch' } });
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    const files = report.items.flatMap(({ file, rows, live }) => (file ? [{ name: file.name, rows, live }] : []));
    expect(files).toEqual([{ name: 'trees.csv', rows: 2, live: true }]);
    gateway.takeWrites();
    server.asked.length = 0;
    const second = await place.publish(manifest);
    expect([second.code, second.report.counts]).toMatchObject([
      0,
      { dataset: { unchanged: 1 }, resource: { unchanged: 2 } },
    ]);
    expect(gateway.takeWrites()).toEqual([]);
    expect(server.asked.map(({ path, headers }) => [path, headers['if-none-match']])).toEqual([
      ['/files.json', '"f"'],
      ['/trees.csv', '"t"'],
    ]);
  });

  it('may come compressed, and by way of a redirect', async () => {
    server.on('/moved.json', (_request, response) => response.writeHead(302, { location: '/packed.json' }).end());
    server.on('/packed.json', (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip', etag: '"p"' }).end(gzipSync(textOf(4))),
    );
    const { code, report } = await place.publish(harvest('moved'));
    expect([code, report.counts.dataset]).toEqual([0, { done: 4 }]);
  });

  const worse: [string, string, () => void][] = [
    ['gone', 'source-missing', () => server.on('/gone.json', (_request, response) => response.writeHead(404).end())],
    [
      'a page about an error',
      'source-refused',
      () =>
        server.on('/page.json', (_, response) =>
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
        ),
    ],
    [
      'down',
      'source-unreachable',
      () => server.on('/down.json', (_request, response) => response.writeHead(503).end()),
    ],
    [
      'leading inside',
      'source-refused',
      () =>
        server.on('/inside.json', (_, response) => response.writeHead(302, { location: 'http://127.0.0.2/a' }).end()),
    ],
    ['empty', 'catalogue-fault', () => serve('/empty.json', '', '"e"')],
    ['cut off', 'catalogue-fault', () => serve('/cut.json', textOf(3).slice(0, -20), '"c"')],
    ['without entries', 'held', () => serve('/none.json', textOf(0), '"n"')],
  ];

  it.each(cases(worse, worse.slice(-2)))('that is %s takes nothing down', async (what, code, worsen) => {
    const path = { gone: '/gone', down: '/down', empty: '/empty', 'cut off': '/cut', 'leading inside': '/inside' }[
      what
    ];
    const file = `${path ?? (code === 'held' ? '/none' : '/page')}.json`;
    serve(file, textOf(8), '"good"');
    const manifest = harvest(file.slice(1, -5), file);
    expect((await place.publish(manifest)).code).toBe(0);
    gateway.takeWrites();
    worsen();
    const { report } = await place.publish(manifest);
    expect(report.reason?.code).toBe(code);
    expect(gateway.takeWrites()).toEqual([]);
    serve(file, textOf(8), '"good"');
    const back = await place.publish(manifest);
    expect([back.code, back.report.counts.dataset]).toEqual([0, { unchanged: 8 }]);
    expect(gateway.takeWrites()).toEqual([]);
  });

  /** How a dataset is named and served, what its server answers once the catalogue drops it, and what is said where it stays. */
  const dropped: [string, Record<string, unknown>, Record<string, number>, RegExp | null][] = [
    ['at-id', { identifier: '/at/id' }, { '/at/id': 200 }, /\/at\/id still shows it$/],
    ['at-page', { landingPage: '/at/page' }, { '/at/page': 200 }, /\/at\/page still shows it$/],
    ['at-own', { '@id': '/at/own' }, { '/at/own': 200 }, /\/at\/own still shows it$/],
    ['at-api', {}, {}, /package_show\?… still shows it$/],
    ['down', { landingPage: '/down' }, { '/down': 503 }, /whether its server has it is not known: .*503/],
    ['secret', { landingPage: '/secret' }, { '/secret': 403 }, null],
    ['gone', { identifier: '/gone', landingPage: '/gone/page' }, { '/gone': 410, '/gone/page': 404 }, null],
    ['left', { landingPage: '/left', distribution: { downloadURL: '/file' } }, { '/left': 404, '/file': 200 }, null],
    ['other', { landingPage: '/other' }, { '/any': 200, '/other': 200 }, null],
    ['unnamed', { title: '???', landingPage: '/unnamed' }, { '/unnamed': 200 }, null],
    ['elsewhere', { landingPage: 'http://127.0.0.2:9/x' }, {}, null],
    ['home', { landingPage: '/' }, { '/': 200 }, null],
    ['unknown', {}, {}, null],
  ];

  it('that drops datasets has them removed unless its server still serves them, or may do so', async () => {
    const absolute = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value).replaceAll(/"(?=\/)/g, `"${server.url}`));
    const entries = dropped.map(([id, more]) => absolute({ identifier: id, title: `Dropped ${id}`, ...more }));
    const kept = { identifier: 'kept', title: 'Kept' };
    serve('/dropped.json', JSON.stringify({ dataset: [kept, ...entries] }), '"all"');
    const guard = { maxRemovals: '100%', min: 100 };
    const manifest = harvest('dropped', '/dropped.json', { guard });
    expect((await place.publish(manifest)).code).toBe(0);

    const answers = dropped.flatMap(([id, , each]) =>
      Object.entries(each).map(([path, status]) => ({ path, status, id })),
    );
    for (const { path, status, id } of answers) {
      const title = path === '/other' ? 'No such page' : `Dropped&nbsp;<b>${id.toUpperCase()}</b>`;
      server.on(path, (_, response) => response.writeHead(status, { 'content-type': 'text/html' }).end(`<h1>${title}`));
    }
    server.on('/api/3/action/package_show', ({ url = '' }, response) =>
      response
        .writeHead(url.endsWith('=at-api') ? 200 : 404, { 'content-type': 'application/json' })
        .end('{"success": true, "result": {"title": "Dropped\\u0020\\u0041t-api"}}'),
    );
    serve('/dropped.json', JSON.stringify({ dataset: [kept] }), '"few"');
    const planned = (await place.run(['plan', manifest])).out;
    const { code, report } = await place.publish(manifest);
    expect(code).toBe(0);
    const left = (report.remarks ?? []).filter((each) => each.includes('stays'));
    const reasons = dropped.flatMap(([id, , , why]) => (why === null ? [] : [{ id, why }]));
    expect(left).toHaveLength(reasons.length);
    for (const { id, why } of reasons) {
      const line = left.find((each) => why.test(each));
      expect(line, id).toBeDefined();
      expect(planned).toContain(line);
    }
    expect(report.counts.actions).toEqual({ deleted: 9 });

    for (const { path } of answers) server.on(path, (_, response) => response.writeHead(404).end());
    server.on('/api/3/action/package_show', (_, response) => response.writeHead(404).end());
    const last = await place.publish(manifest);
    expect([last.code, last.report.remarks ?? [], last.report.counts.actions]).toEqual([0, [], { deleted: 5 }]);
  });

  it('that names a dataset by its `@id` alone for a while goes on with it', async () => {
    const named = {
      identifier: 'n-1',
      '@id': `${server.url}/n/1`,
      title: 'Named',
      distribution: { accessURL: 'https://example.org/n' },
    };
    const { identifier: _, ...addressed } = named;
    const manifest = harvest('named', '/named.json');
    for (const [run, entry] of [named, addressed, named].entries()) {
      serve('/named.json', JSON.stringify({ dataset: [entry] }), `"n${run}"`);
      const { code, report } = await place.publish(manifest);
      expect([code, report.counts.actions?.deleted, report.counts.actions?.created], `run ${run}`).toEqual([
        0,
        undefined,
        run === 0 ? 2 : undefined,
      ]);
    }
  });
});
