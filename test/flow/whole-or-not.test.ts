// Absence is believed only where completeness is proven: sources of each kind that lack something, with the guard off.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/model/report.ts';
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

/** What a source holds, by name; a number is a status. */
type Held = Record<string, string | number>;

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
      else if (content.startsWith('->')) response.writeHead(302, { location: content.slice(2) }).end();
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
      else mkdirSync(join(place.dir, name, path), { recursive: true });
    }
  },
});

const fault = /^catalogue-fault: /;
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
    for (const [sign, held, says] of signs) {
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
