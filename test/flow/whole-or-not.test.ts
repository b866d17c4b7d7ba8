// Absence is believed only where completeness is proven: sources of each kind that lack something, with the guard off.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
import { sampled } from '../support/extent.ts';
import { fileAnswer, startSources } from '../support/source-server.ts';
import { openPortalPlace } from './support/portal-place.ts';
import type { Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

const server = await startSources();
let place: RedisPlace;
let reader: Reader;
beforeAll(async () => {
  ({ place, reader } = await openPortalPlace({
    sources: { allow: ['127.0.0.1'], requestsPerSecond: 0 },
    retry: { attempts: 1 },
  }));
});

const ids = ['g1', 'g2', 'g3', 'g4'];
const entry = (id: string) => ({ '@id': `urn:${id}`, identifier: id, title: `Title ${id}` });
const page = (some: readonly unknown[], more: Record<string, unknown> = {}): string =>
  JSON.stringify({ dataset: some.map((each) => (typeof each === 'string' ? entry(each) : each)), ...more });
const context = {
  dcat: 'http://www.w3.org/ns/dcat#',
  dct: 'http://purl.org/dc/terms/',
  hydra: 'http://www.w3.org/ns/hydra/core#',
};
/** The datasets that are listed, of which some are described, and further nodes. */
const graph = (described: string[], listed: string[], catalogue: object = {}, ...nodes: object[]): string =>
  JSON.stringify({
    '@context': context,
    '@graph': [
      {
        '@id': 'urn:c',
        '@type': 'dcat:Catalog',
        'dcat:dataset': listed.map((id) => ({ '@id': `urn:${id}` })),
        ...catalogue,
      },
      ...described.map((id) => ({
        '@id': `urn:${id}`,
        '@type': 'dcat:Dataset',
        'dct:identifier': id,
        'dct:title': id,
      })),
      ...nodes,
    ],
  });

/** An answer that is more than its text. */
interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body: string | Buffer;
}

/** A page with further headers. */
const withHeaders = (headers: Record<string, string>, body: string | Buffer, status = 200): Answer => ({
  status,
  headers,
  body,
});
const login: Answer = { headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Log in</title><form>' };
/** The beginning of a body that is compressed. */
const cutGzip = (text: string): Answer =>
  withHeaders({ 'content-encoding': 'gzip' }, gzipSync(text).subarray(0, gzipSync(text).length - 12));

/** What a source holds, by name; a number is a status. */
type Held = Record<string, string | number | Answer>;

interface Source {
  keys: (name: string) => Record<string, unknown>;
  put: (name: string, held: Held) => void;
  whole: Held;
  /** One dataset less, and complete. */
  less: Held;
  /** Signs of incompleteness, with what the run says. */
  signs: [sign: string, held: Held, says: RegExp][];
}

const web: Pick<Source, 'keys' | 'put'> = {
  keys: (name) => ({ catalogue: `${server.url}/${name}/c.json` }),
  put: (name, held) => {
    server.on(`/${name}/c.json`, (request, response) => {
      const [path = ''] = Object.keys(held).filter((key) => request.url === `/${name}/${key}`);
      const content = held[path] ?? 404;
      if (typeof content === 'number') response.writeHead(content).end();
      else if (typeof content === 'object') {
        const { status = 200, headers = {}, body } = content;
        response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
        response.end(body);
      } else if (content.startsWith('->')) response.writeHead(302, { location: content.slice(2) }).end();
      else fileAnswer(content, { type: 'application/json' })(request, response);
    });
  },
};
const folder = (keys: Source['keys']): Pick<Source, 'keys' | 'put'> => ({
  keys,
  put: (name, held) => {
    rmSync(join(place.dir, name), { recursive: true, force: true });
    for (const [path, content] of Object.entries(held)) {
      if (typeof content === 'string') place.write(join(name, path), content);
      else if (typeof content === 'object') place.write(join(name, path), content.body);
      else mkdirSync(join(place.dir, name, path), { recursive: true });
    }
  },
});

const fault = /^catalogue-fault: /;
const unread = /^source-(?:refused|unreachable): /;
const unproven = /^nothing counts as missing: /;
const faulty = /^entry-fault: .*it is named, but not described/;
const row = (id: string): string => `${id},r,https://example.org/${id}`;
const pack = (id: string): string =>
  JSON.stringify({ name: id, resources: [{ name: 'r', path: `https://example.org/${id}.csv` }] });
const packs = (some: string[]): Held =>
  Object.fromEntries(some.map((id) => [`${id === 'g4' ? 'far' : 'near'}/${id}/datapackage.json`, pack(id)]));

const sources: Record<string, Source> = {
  'a catalogue': {
    ...web,
    whole: { 'c.json': page(ids) },
    less: { 'c.json': page(ids.slice(1)) },
    signs: [
      ['a next page that is gone', { 'c.json': page(['g1'], { next: 'c.json?p=2' }) }, fault],
      ['a next page that fails', { 'c.json': page(['g1'], { next: 'c.json?p=2' }), 'c.json?p=2': 503 }, fault],
      ['a next page without address', { 'c.json': page(['g1'], { hasMore: true }) }, fault],
      ['a count', { 'c.json': page(['g1'], { 'hydra:totalItems': 4 }) }, fault],
      ['a slice', { 'c.json': '->c.json?page=0', 'c.json?page=0': page(['g1', 'g2']) }, unproven],
      ['a cut body', { 'c.json': page(ids).slice(0, 100) }, fault],
      ['a limit', { 'c.json': page(['g1'], { limit: 1 }) }, unproven],
      ['names only', { 'c.json': page(['g1', { '@id': 'g2' }, { '@id': 'g3' }, 'g4']) }, faulty],
      ['other names', { 'c.json': page(['g1', { '@id': 'https://example.org/2' }]) }, faulty],
      [
        'a part elsewhere',
        { 'c.json': page(['g1'], { catalog: ['c.json?part'] }) },
        /^source-missing: a part of the catalogue/,
      ],
      ['a part without address', { 'c.json': page(['g1'], { catalog: [{ '@id': 'urn:part' }] }) }, unproven],
      [
        'a next page among several relations',
        { 'c.json': withHeaders({ link: '<?p=2>; rel="last next", <?p=1>; rel="first"' }, page(['g1'])) },
        fault,
      ],
      ['a next page in capitals', { 'c.json': withHeaders({ link: '<?p=2> ; REL=Next' }, page(['g1'])) }, fault],
      ['a count in a header', { 'c.json': withHeaders({ 'x-total-count': '4' }, page(['g1'])) }, fault],
      ['a count as text', { 'c.json': page(['g1'], { totalItems: '4' }) }, fault],
      ['a page of a login', { 'c.json': page(['g1'], { next: 'c.json?p=2' }), 'c.json?p=2': login }, fault],
      ['a login', { 'c.json': login }, unread],
      [
        'an empty page in the middle',
        { 'c.json': page(['g1'], { next: 'c.json?p=2' }), 'c.json?p=2': page([], { next: 'c.json?p=3' }) },
        fault,
      ],
      [
        'a page without datasets',
        { 'c.json': page(['g1'], { next: 'c.json?p=2' }), 'c.json?p=2': '{"error": "busy"}' },
        fault,
      ],
      ['a cut compressed body', { 'c.json': cutGzip(page(['g1'])) }, unread],
      [
        'a cut compressed page',
        { 'c.json': page(['g1'], { next: 'c.json?p=2' }), 'c.json?p=2': cutGzip(page(['g2'])) },
        fault,
      ],
      [
        'a part of the bytes',
        { 'c.json': withHeaders({ 'content-range': 'bytes 0-99/400' }, page(['g1']), 206) },
        unread,
      ],
      ['a part of the bytes that says less', { 'c.json': withHeaders({}, page(['g1']), 206) }, unread],
      ['no content', { 'c.json': withHeaders({}, '', 204) }, unread],
      ['fewer bytes than stated', { 'c.json': withHeaders({ 'content-length': '5000' }, page(['g1'])) }, unread],
      ['more, as text', { 'c.json': page(['g1'], { has_more: 'true' }) }, fault],
      ['more, as a number', { 'c.json': page(['g1'], { hasMore: 1 }) }, fault],
      ['that it is not the last page', { 'c.json': page(['g1'], { page: { isLast: false } }) }, fault],
      ['the number of its last page', { 'c.json': page(['g1'], { meta: { current_page: 1, last_page: 3 } }) }, fault],
      ['a count as an object', { 'c.json': page(['g1'], { total: { value: 4, relation: 'eq' } }) }, fault],
      ['a next page by number', { 'c.json': withHeaders({ 'x-next-page': '2' }, page(['g1'])) }, fault],
      [
        'a count in JSON in a header',
        { 'c.json': withHeaders({ 'x-pagination': '{"TotalCount":4}' }, page(['g1'])) },
        fault,
      ],
      [
        'a count in a header of another name',
        { 'c.json': withHeaders({ 'x-pagination-total-count': '4' }, page(['g1'])) },
        fault,
      ],
      ['a next page in single quotes', { 'c.json': withHeaders({ link: "<?p=2>; rel='next'" }, page(['g1'])) }, fault],
      ['two documents', { 'c.json': page(['g1']) + page(ids) }, fault],
      ['datasets that are none', { 'c.json': '{"dataset": null}' }, fault],
      ['an error in place of datasets', { 'c.json': '{"success": false, "error": "busy"}' }, fault],
      ['an offset and a count', { 'c.json': page(['g1'], { offset: 0, count: 4 }) }, fault],
      [
        'the same page again',
        { 'c.json': page(['g1'], { next: 'c.json?p=2' }), 'c.json?p=2': page(['g1'], { next: 'c.json' }) },
        fault,
      ],
    ],
  },
  'a catalogue in JSON-LD': {
    ...web,
    whole: { 'c.json': graph(ids, ids) },
    less: { 'c.json': graph(ids.slice(1), ids.slice(1)) },
    signs: [
      [
        'a next page that is gone',
        { 'c.json': graph(['g1'], ['g1'], {}, { '@id': 'urn:p', 'hydra:next': { '@id': 'c.json?p=2' } }) },
        fault,
      ],
      ['a count', { 'c.json': graph(['g1'], ['g1'], { 'hydra:totalItems': 4 }) }, fault],
      ['names only', { 'c.json': graph(['g1', 'g4'], ids) }, faulty],
      [
        'a part elsewhere',
        { 'c.json': graph(['g1'], ['g1'], { 'dcat:catalog': { '@id': `${server.url}/no` } }) },
        /^source-missing: /,
      ],
      ['a cut body', { 'c.json': graph(ids, ids).slice(0, -20) }, fault],
      [
        'a next page in a header',
        { 'c.json': withHeaders({ link: '<?p=2>; rel=next' }, graph(['g1'], ['g1'])) },
        fault,
      ],
      ['a count as text', { 'c.json': graph(['g1'], ['g1'], { 'hydra:totalItems': '4' }) }, fault],
      ['a typed count', { 'c.json': graph(['g1'], ['g1'], { 'hydra:totalItems': { '@value': '4' } }) }, fault],
      [
        'a page of a login',
        {
          'c.json': graph(['g1'], ['g1'], {}, { '@id': 'urn:p', 'hydra:next': { '@id': 'c.json?p=2' } }),
          'c.json?p=2': login,
        },
        fault,
      ],
      ['a cut compressed body', { 'c.json': cutGzip(graph(ids, ids)) }, unread],
      ['a part of the bytes', { 'c.json': withHeaders({}, graph(['g1'], ['g1']), 206) }, unread],
    ],
  },
  'a catalogue file': {
    ...folder((name) => ({ catalogue: `${name}/c.json` })),
    whole: { 'c.json': page(ids) },
    less: { 'c.json': page(ids.slice(1)) },
    signs: [
      ['a next page', { 'c.json': page(['g1'], { next: 'c2.json' }) }, fault],
      ['a cut file', { 'c.json': page(ids).slice(0, 100) }, fault],
      ['a part elsewhere', { 'c.json': page(['g1'], { catalog: 'part.json' }) }, unproven],
    ],
  },
  'an index': {
    ...folder((name) => ({ index: `${name}/list.csv` })),
    whole: { 'list.csv': `${['dataset,resource,link', ...ids.map(row)].join('\n')}\n` },
    less: { 'list.csv': `${['dataset,resource,link', ...ids.slice(1).map(row)].join('\n')}\n` },
    signs: [
      ['a cut last cell', { 'list.csv': `dataset,resource,link\n${row('g1')}\n${row('g2').slice(0, -1)}` }, unproven],
      ['a cut row', { 'list.csv': `dataset,resource,link\n${row('g1')}\ng2` }, /^entry-fault: /],
      ['nothing', { 'list.csv': '' }, /^manifest: /],
      ['a web page', { 'list.csv': '<!doctype html>\n<title>Log in</title>' }, /^manifest: /],
      ['bytes of nothing at the end', { 'list.csv': `dataset,resource,link\n${row('g1')}\n\0\0\0\0` }, unproven],
      ['an open quote', { 'list.csv': `dataset,resource,link\n${row('g1')}\ng2,r,"https` }, /^manifest: /],
    ],
  },
  'data packages': {
    ...folder((name) => ({ datapackage: [`${name}/near/*/datapackage.json`, `${name}/far/*/datapackage.json`] })),
    whole: packs(ids),
    less: packs(ids.slice(1)),
    signs: [
      ['a disk that is not mounted', { ...packs(ids.slice(0, 3)), far: 0 }, unproven],
      ['a folder that is gone', packs(ids.slice(0, 3)), unproven],
      ['an empty package', { ...packs(['g1', 'g2', 'g4']), 'near/g3': 0 }, unproven],
      ['a package of nothing', { ...packs(ids), 'near/g3/datapackage.json': '' }, /^entry-fault: /],
      [
        'a package that became a folder',
        { ...packs(['g1', 'g2', 'g4']), 'near/g3/datapackage.json': 0 },
        /^entry-fault: /,
      ],
      ['a cut package', { ...packs(ids), 'near/g3/datapackage.json': pack('g3').slice(0, 20) }, /^entry-fault: /],
    ],
  },
};

const saidOf = ({ reason, remarks = [], items }: Report): string[] => [
  ...[reason, ...items.map((item) => item.reason)].flatMap((each) => (each ? [`${each.code}: ${each.message}`] : [])),
  ...remarks,
];

describe.each(Object.entries(sources))('%s', (kind, { keys, put, whole, less, signs }) => {
  const harvest = async (name: string, held: Held): Promise<Report> => {
    put(name, held);
    const guard = { maxRemovals: '100%', min: 1000 };
    return (await place.publish(place.manifest({ name, onMissing: 'delete', guard, ...keys(name) }))).report;
  };
  const removals = ({ items }: Report): number => items.filter(({ actions }) => actions.includes('deleted')).length;
  const name = kind.replaceAll(' ', '-').toLowerCase();

  it('that lacks something removes nothing, and says so; one that is whole removes what is gone', async () => {
    expect((await harvest(name, whole)).counts.dataset).toMatchObject({ done: 4 });
    const before = (await reader.list()).length;
    for (const [sign, held, says] of sampled(signs, 4)) {
      const report = await harvest(name, held);
      expect(removals(report), sign).toBe(0);
      expect(saidOf(report), sign).toContainEqual(expect.stringMatching(says));
    }
    const known = (await reader.list()).length;
    expect(known).toBeGreaterThanOrEqual(before);
    const report = await harvest(name, less);
    expect(saidOf(report).filter((text) => unproven.test(text))).toEqual([]);
    expect(report.items.filter(({ key, actions }) => key.endsWith('/g1') && actions.includes('deleted'))).toHaveLength(
      1,
    );
  });
});
