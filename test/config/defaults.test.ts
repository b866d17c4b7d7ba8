import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configFileSchema } from '../../src/config/schema.ts';
import { schemaKeys } from '../support/schema-keys.ts';
import { tempDir } from '../support/temp-dir.ts';

const path = join(import.meta.dirname, '../../config/default.yaml');
const text = readFileSync(path, 'utf8');

/** The file with the lines brought in that show keys without a default. */
const uncommented = load(text.replaceAll(/^( *)# ([a-z][A-Za-z_]*:(?: .*)?)$/gm, '$1$2')) as object;

const valueAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((here, key) => (here as Record<string, unknown> | undefined)?.[key], value);

describe('config/default.yaml', () => {
  it('loads, and says the same as no file at all', async () => {
    const cwd = tempDir();
    const options = { cwd, env: {} };
    const { file: _file, ...written } = await loadConfig({ file: path, ...options });
    const { file: _none, ...built } = await loadConfig({ file: undefined, ...options });
    expect(written).toEqual(built);
  });

  const keys = schemaKeys(configFileSchema).map(({ key, value }) => ({
    key: key
      .replace(/^portals\.<name>\|0/, 'portals.local')
      .replace(/^portals\.<name>\|1/, 'portals.city')
      .replace('credentials.<name>.bearer', 'credentials.api.bearer')
      .replace('credentials.<name>', 'credentials.files')
      .replace('headers.<name>', 'headers.key'),
    value,
  }));

  it.each(keys)('lists $key with its default', ({ key, value }) => {
    const written = valueAt(uncommented, key) ?? valueAt(uncommented, key.replace(/\.file$/, ''));
    expect(written).toBeDefined();
    if (value !== undefined) expect(written).toEqual(value);
  });

  it('lists no key that is unknown once everything is commented in', () => {
    expect(configFileSchema.safeParse(uncommented).error?.issues).toBeUndefined();
  });
});
