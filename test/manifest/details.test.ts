import { describe, expect, it } from 'vitest';
import { loadDatasetDetails, loadResourceDetails } from '../../src/manifest/details.ts';
import { tempDir } from '../support/temp-dir.ts';
import { problemsOf, writeText } from '../support/yaml-file.ts';

describe('the YAML file beside dropped data', () => {
  it('gives a title and replaces defaults', async () => {
    const path = writeText(tempDir(), 'dataset.yaml', 'title: Bike counts\ntags: [bikes]\nlicense: cc-zero');
    expect(await loadDatasetDetails(path, { license: 'cc-by', author: 'City' })).toEqual({
      title: 'Bike counts',
      details: { license: 'cc-zero', author: 'City', tags: ['bikes'] },
    });
  });

  it('of a resource knows only the keys of a resource', async () => {
    const path = writeText(tempDir(), 'june.yaml', 'tags: [x]\nformt: csv');
    expect(await problemsOf(loadResourceDetails(path, {}))).toEqual([
      '1:1 tags: unknown key; known here: title, description, format, published, import, table, sheet, member, badRows, maxBadRows, schema, fields',
      '2:1 formt: unknown key; did you mean `format`?',
    ]);
  });

  it('without a title leaves the title to the names of folder and file', async () => {
    const path = writeText(tempDir(), 'june.yaml', 'import: never');
    expect(await loadResourceDetails(path, { format: 'csv' })).toEqual({ details: { format: 'csv', import: 'never' } });
  });

  it('limited access needs rights, also where the default limits it', async () => {
    const path = writeText(tempDir(), 'dataset.yaml', 'title: A');
    expect(await problemsOf(loadDatasetDetails(path, { access: 'private' }))).toEqual([
      expect.stringContaining('access: `private` needs the key `rights`'),
    ]);
  });
});
