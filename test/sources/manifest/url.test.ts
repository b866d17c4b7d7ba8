import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { tempDir } from '../../support/temp-dir.ts';

const load = async (resource: Record<string, unknown>) => {
  const path = join(tempDir(), 'm.yaml');
  const datasets = [{ id: 'd', title: 'D', resources: [{ id: 'r', ...resource }] }];
  writeFileSync(path, JSON.stringify({ name: 'm', datasets }));
  const manifest = await loadManifest(path);
  return 'datasets' in manifest ? manifest.datasets[0]?.resources[0]?.source : null;
};

describe('a resource with a url', () => {
  it.each([
    ['https://a.example/x/spending%202026.csv?v=2', 'spending 2026.csv', true],
    ['https://a.example/data.csv.gz', 'data.csv.gz', true],
    ['https://a.example/export?format=csv', 'export', false],
    ['https://a.example/export.php?format=csv', 'export.php', false],
    ['https://a.example/v1.2', 'v1.2', false],
    ['https://a.example/a%2Fb', 'a_b', false],
    ['https://a.example/%E0%A4%A.csv', '%E0%A4%A.csv', true],
    ['https://a.example/', 'file', false],
  ])('of %s gets the name %s, which is sure: %s', async (url, name, isNamed) => {
    expect(await load({ url })).toEqual({ kind: 'url', url, name, isNamed });
  });

  it('takes the name it is given', async () => {
    expect(await load({ url: 'https://a.example/export', name: 'spending.csv' })).toEqual({
      kind: 'url',
      url: 'https://a.example/export',
      name: 'spending.csv',
      isNamed: true,
    });
  });

  it.each([
    [{ url: 'ftp://a.example/x.csv' }, 'must be a full address that begins with http:// or https://'],
    [{ url: 'x.csv' }, 'must be a full address that begins with http:// or https://'],
    [{ url: 'https://me:geheim@a.example/x.csv' }, 'must not hold a user or password'],
    [{ url: 'https://a.example/x', name: '../x.csv' }, 'must be a file name without folders'],
    [{ url: 'https://a.example/x', name: '..' }, 'must be a file name without folders'],
    [{ url: 'https://a.example/x', file: 'x.csv' }, 'only one of `file`, `url`, `link`, `api` is allowed'],
    [{ file: 'x.csv', name: 'y.csv' }, 'is allowed with `url` only'],
  ])('is refused as %j', async (resource, words) => {
    const error = await load(resource).catch((caught: Error) => caught);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toContain(words); // just checked
    expect((error as Error).message).not.toContain('geheim');
  });
});
