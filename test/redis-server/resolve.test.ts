import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RedisMissingError } from '../../src/model/errors.ts';
import { type ResolveOptions, resolveBinary } from '../../src/redis-server/resolve.ts';
import { tempDir } from '../support/temp-dir.ts';
import { keptLog } from './embedded-support.ts';

const root = tempDir();
let folders = 0;
const emptyFolder = (): string => {
  folders += 1;
  const path = join(root, String(folders));
  mkdirSync(path);
  return path;
};

const script = (path: string, body: string): string => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
};
const server = (path: string, version: string, name = 'Redis'): string =>
  script(path, `echo '${name} server v=${version} sha=00000000:0 malloc=libc bits=64'`);

const resolve = (env: NodeJS.ProcessEnv, more: Partial<ResolveOptions> = {}) => {
  const { log, lines } = keptLog();
  const found = resolveBinary({ folder: emptyFolder(), fetch: true, env, log, ...more });
  return { found, lines };
};
const refusal = async (found: Promise<unknown>): Promise<RedisMissingError> => {
  const error = await found.catch((thrown: unknown) => thrown);
  if (!(error instanceof RedisMissingError)) throw new Error(`expected RedisMissingError, not ${String(error)}`);
  return error;
};

describe('the order', () => {
  test('REDIS_SERVER_BIN takes precedence over redis-server on PATH', async () => {
    const [bin, path] = [emptyFolder(), emptyFolder()];
    server(join(path, 'redis-server'), '7.2.0');
    const chosen = server(join(bin, 'my-redis'), '7.0.8');
    const { found } = resolve({ PATH: path, REDIS_SERVER_BIN: chosen });
    expect(await found).toEqual({ path: chosen, name: 'Redis', version: '7.0.8' });
  });

  test('redis-server on PATH takes precedence over valkey-server', async () => {
    const path = emptyFolder();
    server(join(path, 'valkey-server'), '8.0.1', 'Valkey');
    const chosen = server(join(path, 'redis-server'), '7.0.15');
    expect((await resolve({ PATH: path }).found).path).toBe(chosen);
  });

  test('valkey-server is taken when redis-server is too old', async () => {
    const path = emptyFolder();
    server(join(path, 'redis-server'), '6.0.16');
    const chosen = server(join(path, 'valkey-server'), '7.2.5', 'Valkey');
    expect(await resolve({ PATH: path }).found).toEqual({ path: chosen, name: 'Valkey', version: '7.2.5' });
  });

  test('a new enough redis-server later on PATH is taken when an earlier one is too old', async () => {
    const [first, second] = [emptyFolder(), emptyFolder()];
    server(join(first, 'redis-server'), '6.2.14');
    const chosen = server(join(second, 'redis-server'), '7.4.1');
    expect((await resolve({ PATH: `${first}:${second}` }).found).path).toBe(chosen);
  });

  test('what was unpacked earlier goes after PATH, and is used where fetching is forbidden', async () => {
    const [path, folder] = [emptyFolder(), emptyFolder()];
    const unpacked = server(join(folder, 'server', 'redis-server'), '7.0.15');
    expect((await resolve({ PATH: path }, { folder, fetch: false }).found).path).toBe(unpacked);
    const onPath = server(join(path, 'redis-server'), '7.0.15');
    expect((await resolve({ PATH: path }, { folder, fetch: false }).found).path).toBe(onPath);
  });

  test('a REDIS_SERVER_BIN that cannot be used is passed over with a warning', async () => {
    const path = emptyFolder();
    const chosen = server(join(path, 'redis-server'), '7.0.15');
    const { found, lines } = resolve({ PATH: path, REDIS_SERVER_BIN: '/nowhere/redis-server' });
    expect((await found).path).toBe(chosen);
    expect(lines.join()).toContain('"level":"warn"');
    expect(lines.join()).toContain('/nowhere/redis-server');
  });
});

describe('nothing found', () => {
  test('the error names everything tried and the three fixes', async () => {
    const path = emptyFolder();
    const old = server(join(path, 'redis-server'), '6.0.16');
    const odd = script(join(path, 'valkey-server'), 'echo what; exit 3');
    const error = await refusal(resolve({ PATH: path, REDIS_SERVER_BIN: join(path, 'gone') }).found);
    expect(error.code).toBe('redis-missing');
    expect(error.message).toContain(`REDIS_SERVER_BIN (${join(path, 'gone')}): does not exist`);
    expect(error.message).toContain(`${old}: is Redis 6.0.16, older than 7.0.8`);
    expect(error.message).toContain(`${odd}: does not report its version (what)`);
    expect(error.message).toContain('unpacked earlier in ');
    expect(error.message).toContain('fetching one: not a Debian-like host (apt-get is not on PATH)');
    expect(error.hint).toMatch(/install .*REDIS_URL.*REDIS_SERVER_BIN/);
  });

  test('an empty PATH is no trouble', async () => {
    const error = await refusal(resolve({}).found);
    expect(error.message).toContain('redis-server: not on PATH');
    expect(error.message).toContain('valkey-server: not on PATH');
    expect(error.message).toContain('REDIS_SERVER_BIN: not set');
  });

  test('apt-get alone does not make a Debian-like host', async () => {
    const path = emptyFolder();
    script(join(path, 'apt-get'), 'exit 0');
    const error = await refusal(resolve({ PATH: path }).found);
    expect(error.message).toContain('dpkg is not on PATH');
  });

  test('where fetching is forbidden apt-get is not run', async () => {
    const path = emptyFolder();
    const trace = join(path, 'trace');
    script(join(path, 'apt-get'), `: > '${trace}'`);
    script(join(path, 'dpkg'), `: > '${trace}'`);
    const error = await refusal(resolve({ PATH: path }, { fetch: false }).found);
    expect(error.message).toContain('fetching one: disabled');
    expect(existsSync(trace)).toBe(false);
  });

  test('a download that fails is reported in the words of apt-get and leaves nothing behind', async () => {
    const [path, folder] = [emptyFolder(), emptyFolder()];
    script(join(path, 'apt-get'), "echo 'E: Unable to locate package redis-tools' >&2; exit 100");
    script(join(path, 'dpkg'), 'exit 0');
    const told: string[] = [];
    const report = (line: string): void => void told.push(line);
    const { found, lines } = resolve({ PATH: path }, { folder, report });
    const error = await refusal(found);
    expect(told).toEqual([expect.stringContaining(`from the Debian archive into ${folder}`)]);
    expect(error.message).toContain('E: Unable to locate package redis-tools');
    expect(lines.filter((line) => line.includes('fetching one from the Debian archive'))).toHaveLength(1);
    expect(existsSync(join(folder, 'server'))).toBe(false);
  });
});
