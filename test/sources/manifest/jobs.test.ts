import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../src/model/errors.ts';
import { gatherManifest } from '../../../src/sources/gather/dataset-wish.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { checkTable } from '../../../src/tables/check.ts';
import { gatherAll } from '../catalogue/support/catalogue.ts';

const jobs = join(import.meta.dirname, '../../../jobs');
const manifests = readdirSync(jobs).filter((name) => name.endsWith('.yaml'));

describe('the manifests in jobs/', () => {
  it.each(manifests)('%s is sound and says which JSON Schema it follows', async (name) => {
    expect((await loadManifest(join(jobs, name))).name).toBe(name.replace('.yaml', ''));
    expect(readFileSync(join(jobs, name), 'utf8')).toContain('$schema=../config/manifest.schema.json');
  });

  it('have names of their own', async () => {
    const names = await Promise.all(manifests.map(async (name) => (await loadManifest(join(jobs, name))).name));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('jobs/demo.yaml', () => {
  it('has three datasets with six tables of 10 to 60 rows, all of them there', async () => {
    const wishes = await gatherManifest(await loadManifest(join(jobs, 'demo.yaml')));
    const files = wishes.flatMap(({ resources }) =>
      resources.flatMap(({ source }) => (source.kind === 'file' ? source.path : [])),
    );
    expect([wishes.length, files.length]).toEqual([3, 6]);
    for (const file of files) {
      const rows = readFileSync(file, 'utf8').trim().split('\n').length - 1;
      expect(rows, file).toBeGreaterThanOrEqual(10);
      expect(rows, file).toBeLessThanOrEqual(60);
    }
  });

  it('has exactly one faulty table: a row with a cell too many', async () => {
    const wishes = await gatherManifest(await loadManifest(join(jobs, 'demo.yaml')));
    const checks = wishes.flatMap(({ resources }) =>
      resources.map(async ({ key, source }) => {
        if (source.kind !== 'file') throw new Error(`${key} has no file`);
        const reason = await checkTable(source.path, {}).then(() => null, reasonOf);
        return { key, code: reason?.code, line: reason?.line };
      }),
    );
    const faulty = (await Promise.all(checks)).filter(({ code }) => code !== undefined);
    expect(faulty).toEqual([{ key: 'demo/air-quality/stations', code: 'table-ragged', line: 7 }]);
  });
});

describe('jobs/catalogue.yaml', () => {
  it('takes two of the three entries of its catalogue, and says nothing against them', async () => {
    const manifest = await loadManifest(join(jobs, 'catalogue.yaml'));
    if (!('catalogue' in manifest)) throw new Error('it harvests no catalogue');
    const { wishes, skipped, remarks } = await gatherAll(manifest, createReadStream(manifest.catalogue.from));
    expect(wishes.map(({ title, resources }) => [title, resources.length])).toEqual([
      ['Tide gauges of the harbour', 2],
      ['Bridges', 1],
    ]);
    expect([skipped, remarks]).toEqual([[], []]);
  });
});
