import { describe, expect, it } from 'vitest';
import { loadDatasetDetails, loadResourceDetails } from '../../../src/sources/drop/gather-drop.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { problemsOf, writeText } from '../../support/yaml-file.ts';

describe('the YAML file beside dropped data', () => {
  it('gives a title and replaces defaults', async () => {
    const path = writeText(tempDir(), 'dataset.yaml', 'title: Bike counts\ntags: [bikes]\nlicense: cc-zero');
    expect(await loadDatasetDetails(path, { license: 'cc-by', author: 'City' })).toEqual({
      title: 'Bike counts',
      ...{ license: 'cc-zero', author: 'City', tags: ['bikes'] },
    });
  });

  it('of a resource knows only the keys of a resource', async () => {
    const path = writeText(tempDir(), 'june.yaml', 'tags: [x]\nformt: csv');
    expect(await problemsOf(loadResourceDetails(path, {}))).toEqual([
      '1:1 tags: unknown key; known here: title, description, format, published, import, guard, encoding, skipRows, mend, key, table, sheet, member, badRows, maxBadRows, schema, fields',
      '2:1 formt: unknown key; did you mean `format`?',
    ]);
  });

  it('without a title leaves the title to the names of folder and file', async () => {
    const path = writeText(tempDir(), 'june.yaml', 'import: never');
    expect(await loadResourceDetails(path, { format: 'csv' })).toEqual({ format: 'csv', import: 'never' });
  });

  it('limited access needs rights, also where the default limits it', async () => {
    const path = writeText(tempDir(), 'dataset.yaml', 'title: A');
    expect(await problemsOf(loadDatasetDetails(path, { access: 'private' }))).toEqual([
      expect.stringContaining('access: `private` needs the key `rights`'),
    ]);
  });
});

describe('the YAML file beside dropped data that nobody vouches for', () => {
  const only = 'this is only allowed in the manifest, or here with `drop.trusted: true`';

  it('may not refer to nodes, set any field it likes, or choose a text format', async () => {
    const text = [
      'groups: ["12"]',
      'fields:',
      '  field_resources: { und: [{ target_id: "7" }] }',
      '  status: 1',
      '  field_granularity: { und: [{ value: x, format: php_code }] }',
    ].join('\n');
    const path = writeText(tempDir(), 'dataset.yaml', text);
    expect(await problemsOf(loadDatasetDetails(path, {}))).toEqual([
      `1:1 groups: refers to nodes: ${only}`,
      `3:3 fields.field_resources: is not a plain text field: ${only}`,
      `4:3 fields.status: is not a plain text field: ${only}`,
      `5:3 fields.field_granularity: holds more than plain text: ${only}`,
    ]);
    await expect(loadDatasetDetails(path, {}, { trusted: true })).resolves.toMatchObject({ groups: ['12'] });
  });

  it('of a resource may not say which dataset it belongs to', async () => {
    const path = writeText(tempDir(), 'june.yaml', 'fields: { field_dataset_ref: { und: [{ target_id: "7" }] } }');
    expect(await problemsOf(loadResourceDetails(path, {}))).toEqual([
      `1:11 fields.field_dataset_ref: is not a plain text field: ${only}`,
    ]);
  });

  it('may hold a node back, but not release what the manifest holds back', async () => {
    const path = writeText(tempDir(), 'dataset.yaml', 'published: true');
    expect(await problemsOf(loadDatasetDetails(path, { published: false }))).toEqual([
      `1:1 published: releases what the manifest holds back: ${only}`,
    ]);
    await expect(loadDatasetDetails(path, {})).resolves.toMatchObject({ published: true });
  });

  it('may have a megabyte', async () => {
    const path = writeText(tempDir(), 'dataset.yaml', `tags: [${'a,'.repeat(600_000)}a]`);
    expect(await problemsOf(loadDatasetDetails(path, {}))).toEqual([
      expect.stringContaining('the file is larger than 1,048,576 bytes'),
    ]);
  });

  it('may set fields of plain text', async () => {
    const fields = { field_granularity: { und: [{ value: 'Street' }] } };
    const path = writeText(tempDir(), 'dataset.yaml', `fields: ${JSON.stringify(fields)}`);
    await expect(loadDatasetDetails(path, {})).resolves.toEqual({ fields });
  });
});
