import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cases } from '../support/extent.ts';
import { tempDir } from '../support/temp-dir.ts';

const cli = join(import.meta.dirname, '../../src/cli.ts');

/**
 * Prints the packages that were loaded, on standard error at the end; and as others the `fetch` of Node, and `Intl`, whose
 * tables of all languages take as long as many modules.
 */
const listing = `
  import { registerHooks } from 'node:module';
  const names = new Set();
  registerHooks({ resolve(name, context, next) {
    const found = next(name, context);
    const [, owner] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url) ?? [];
    if (owner) names.add(owner);
    return found;
  } });
  for (const name of ['Collator', 'DateTimeFormat', 'NumberFormat', 'Segmenter'])
    Intl[name] = new Proxy(Intl[name], { construct: (made, args) => (names.add('Intl'), new made(...args)) });
  for (const [owner, name] of [[Number, 'toLocaleString'], [Date, 'toLocaleString'], [String, 'localeCompare']]) {
    const original = owner.prototype[name];
    owner.prototype[name] = function (...args) { names.add('Intl'); return original.apply(this, args); };
  }
  process.on('exit', () => {
    if (process.moduleLoadList.some((name) => name.endsWith('internal/deps/undici/undici'))) names.add('node fetch');
    process.stderr.write('\\nloaded: ' + [...names].join('; '));
  });`;

/** What a script with these words loads. */
const loadedBy = (words: string[]): string[] => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'trees.csv'), 'id,species\n1,Quercus robur\n');
  const { stderr, status } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(listing)}`, ...words],
    { cwd, env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }, encoding: 'utf8' },
  );
  expect(status, stderr).toBe(0);
  return stderr.split('\nloaded: ')[1]?.split('; ') ?? [];
};

const large = 'bullmq ioredis undici fastify jsonld sanitize-html piscina nodemailer'
  .split(' ')
  .concat('node fetch', 'Intl');

describe('the first word of a command', () => {
  it.each(
    cases(
      ['--version', 'init --yes', 'check trees.csv', 'publish --help', 'start --help'],
      ['check trees.csv', 'start --help'],
    ),
  )('%s waits for no queue, portal or page', (words) => {
    const loaded = loadedBy([cli, ...words.split(' ')]);
    expect(loaded).toContain('commander');
    expect(loaded.filter((name) => large.includes(name))).toEqual([]);
  });
});

it('the service waits neither for what renders texts, compiles schemas and sends mail, nor for a second fetch', () => {
  const modules = ['service/service.ts', 'web/server.ts', 'embedded-portal/supervisor.ts'];
  const imports = modules.map((name) => `await import(${JSON.stringify(join(cli, '..', name))});`);
  const serving = `const { serverOptions } = await import(${JSON.stringify(join(cli, '../util/connections.ts'))});
    (await import(${JSON.stringify(join(cli, '../../node_modules/fastify/fastify.js'))})).fastify(serverOptions([]));`;
  const loaded = loadedBy(['--input-type=module', '-e', `${imports.join('\n')}${serving}`]);
  expect(loaded).toContain('fastify');
  const unwanted = ['sanitize-html', 'marked', 'nodemailer', 'ajv', '@fastify/ajv-compiler', 'node fetch'];
  expect(loaded.filter((name) => unwanted.includes(name))).toEqual([]);
});
