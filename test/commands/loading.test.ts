import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import { tempDir } from '../support/temp-dir.ts';

const cli = join(import.meta.dirname, '../../src/cli.ts');

/** Prints the packages that were loaded, on standard error at the end. */
const listing = `
  import { registerHooks } from 'node:module';
  const names = new Set();
  registerHooks({ resolve(name, context, next) {
    const found = next(name, context);
    const [, owner] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url) ?? [];
    if (owner) names.add(owner);
    return found;
  } });
  process.on('exit', () => process.stderr.write('\\nloaded: ' + [...names].join(' ')));`;

/** What `sluice` with these words loads of the packages for queues, portals and pages. */
const heavyOf = (words: string[]): string[] => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'trees.csv'), 'id,species\n1,Quercus robur\n');
  const { stderr, status } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(listing)}`, cli, ...words],
    { cwd, env: { PATH: process.env.PATH }, encoding: 'utf8' },
  );
  expect(status, stderr).toBe(0);
  const loaded = stderr.split('\nloaded: ')[1]?.split(' ') ?? [];
  expect(loaded).toContain('commander');
  return loaded.filter((name) => ['bullmq', 'ioredis', 'undici', 'fastify', 'jsonld', 'sanitize-html'].includes(name));
};

describe('the first word of a command', () => {
  it.each(
    cases(
      ['--version', 'init --yes', 'check trees.csv', 'publish --help', 'start --help'],
      ['check trees.csv', 'start --help'],
    ),
  )('%s waits for no queue, portal or page', (words) => expect(heavyOf(words.split(' '))).toEqual([]));
});
