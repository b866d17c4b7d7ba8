// A catalogue in 200 pages of 100 datasets: requests, memory, a killed worker, and a page that vanishes.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fileAnswer, startSources } from '../support/source-server.ts';
import { waitUntil } from '../support/wait-until.ts';
import { makePlace, type Place, withReport } from './support/place.ts';

const server = await startSources();
const perPage = 100;

/** A dataset of which the first of each page is wanted. */
const names = (page: number): string[] => Array.from({ length: perPage }, (_, at) => `d-${page}-${at}`);
const themeOf = (id: string): string => (id.endsWith('-0') ? 'first' : 'other');
const about = 'What the city knows about it. '.repeat(20);

const dataJson = (page: number, next: string | null): string =>
  JSON.stringify({
    dataset: names(page).map((id) => ({ identifier: id, title: id, description: about, theme: [themeOf(id)] })),
    ...(next === null ? {} : { 'hydra:next': next }),
  });

const jsonLd = (page: number, next: string | null): string =>
  JSON.stringify({
    '@context': {
      dcat: 'http://www.w3.org/ns/dcat#',
      dct: 'http://purl.org/dc/terms/',
      hydra: 'http://www.w3.org/ns/hydra/core#',
    },
    '@graph': [
      { '@id': 'urn:c', '@type': 'dcat:Catalog', 'dcat:dataset': names(page).map((id) => ({ '@id': `urn:${id}` })) },
      { '@id': 'urn:p', '@type': 'hydra:PartialCollectionView', ...(next === null ? {} : { 'hydra:next': next }) },
      ...names(page).map((id) => ({
        '@id': `urn:${id}`,
        '@type': 'dcat:Dataset',
        'dct:identifier': id,
        'dct:title': id,
        'dct:description': about,
        'dcat:theme': themeOf(id),
      })),
    ],
  });

/** Serves so many pages; returns what decides about each request. */
const serve = (path: string, pages: number, write: typeof dataJson) => {
  const asked: { page: number; isConditional: boolean }[] = [];
  const acts = { asked, gone: -1, at: (_page: number): void => undefined };
  server.on(path, (request, response) => {
    const page = Number(new URL(request.url ?? '', server.url).searchParams.get('p') ?? 0);
    acts.at(page);
    asked.push({ page, isConditional: request.headers['if-none-match'] !== undefined });
    if (page === acts.gone) return response.writeHead(404).end();
    const text = write(page, page + 1 < pages ? `${path}?p=${page + 1}` : null);
    return fileAnswer(text, { etag: `"${page}"`, type: 'application/json' })(request, response);
  });
  return acts;
};

const open = (): Place =>
  makePlace({ sources: { allow: ['127.0.0.1'], requestsPerSecond: 0 }, jobs: {}, retry: { attempts: 1 } });

/** The largest memory of a plan, MB. */
const memoryOf = async (place: Place, manifest: string): Promise<number> => {
  const run = place.spawn(['plan', manifest]);
  let memory = 0;
  await waitUntil(
    'the plan',
    () => {
      if (run.hasEnded()) return true;
      const status = readFileSync(`/proc/${run.pid}/status`, 'utf8');
      memory = Math.max(memory, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
      return undefined;
    },
    400_000,
  );
  expect(await run.ended).toBe(0);
  return memory;
};

describe.each([
  ['data.json', dataJson],
  ['catalogue.jsonld', jsonLd],
] as const)('200 pages of %s', (file, write) => {
  it('take little more memory than 50', { timeout: 900_000 }, async () => {
    serve(`/few/${file}`, 50, write);
    serve(`/many/${file}`, 200, write);
    const place = open();
    const few = await memoryOf(place, place.manifest({ name: 'few', catalogue: `${server.url}/few/${file}` }));
    const many = await memoryOf(place, place.manifest({ name: 'many', catalogue: `${server.url}/many/${file}` }));
    process.stdout.write(`${JSON.stringify({ file, few, many })}\n`);
    expect(many).toBeLessThan(few + 120);
  });

  it('are read once, also across a kill, then by one conditional request each; one that vanishes removes nothing', {
    timeout: 900_000,
  }, async () => {
    const acts = serve(`/all/${file}`, 200, write);
    const place = open();
    const catalogue = { from: `${server.url}/all/${file}`, filters: { theme: ['first'] } };
    const guard = { maxRemovals: '100%', min: 100_000 };
    const manifest = place.manifest({ name: 'all', catalogue, onMissing: 'delete', guard });
    const killed = place.spawn(['publish', manifest, '--json']);
    acts.at = (page) => {
      if (page === 100) killed.child.kill('SIGKILL');
    };
    expect(await killed.ended).toBe('SIGKILL');
    acts.at = () => undefined;

    // The killed run goes on first.
    acts.asked.length = 0;
    const first = withReport(await place.run(['publish', manifest, '--json']));
    expect([first.code, first.report.items.filter(({ live }) => live).length]).toEqual([0, 200]);
    expect(acts.asked.filter(({ page, isConditional }) => page < 100 && !isConditional)).toEqual([]);

    acts.asked.length = 0;
    const second = withReport(await place.run(['publish', manifest, '--json']));
    expect([second.code, second.report.counts.dataset]).toEqual([0, { unchanged: 200 }]);
    expect(acts.asked.map(({ page }) => page)).toEqual(Array.from({ length: 200 }, (_, page) => page));
    expect(acts.asked.filter(({ isConditional }) => !isConditional)).toEqual([]);

    acts.gone = 57;
    const third = withReport(await place.run(['publish', manifest, '--json']));
    expect([third.report.reason?.code, third.report.items]).toEqual(['catalogue-fault', []]);
    acts.gone = -1;
    const fourth = withReport(await place.run(['publish', manifest, '--json']));
    expect([fourth.code, fourth.report.counts.dataset]).toEqual([0, { unchanged: 200 }]);
  });
});
