import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { configFileSchema } from '../../src/config/schema.ts';
import { manifestFileSchema } from '../../src/sources/manifest/schema.ts';
import { schemaKeys } from '../support/schema-keys.ts';

const cli = join(import.meta.dirname, '../../src/cli.ts');

const help = (topic: string): string =>
  spawnSync(process.execPath, [cli, 'help', topic], { encoding: 'utf8', cwd: import.meta.dirname }).stdout;

/** Keys as the topics write them, without those that are described once for all. */
const keysOf = (schema: z.ZodType): string[] => [
  ...new Set(
    schemaKeys(schema)
      .map(({ key }) => key.replace(/\|\d/, ''))
      .filter(
        (key) =>
          !/^defaults\.(dataset|resource)\.|^drop\.folders\.<name>\.|^sources\.credentials\.<name>\.|\.(password|token|url|secret)\.file$/.test(
            key,
          ),
      ),
  ),
];

describe.each([
  { topic: 'manifest', schema: manifestFileSchema },
  { topic: 'config', schema: configFileSchema },
])('sluice help $topic', ({ topic, schema }) => {
  const text = help(topic);

  it('lists every key', () => {
    const listed = new Set([...text.matchAll(/^ {2}([^\s(]+) {2}\(/gm)].map(([, key]) => key));
    expect(keysOf(schema).filter((key) => !listed.has(key))).toEqual([]);
  });

  it('says of every key what it means', () => {
    expect(text.match(/^ {2}\S+ {2}\(.*\)\n(?! {6}[`'A-Z][^\n]{3})/gm) ?? []).toEqual([]);
  });
});
