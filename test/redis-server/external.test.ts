import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { RedisUnreachableError } from '../../src/model/errors.ts';
import { openRedis, parseRedisUrl, reachExternal } from '../../src/redis-server/embedded.ts';
import { startTestRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { embedded, keptLog } from './embedded-support.ts';

const redis = await startTestRedis();
afterAll(() => redis.close());
const url = `unix://${redis.options.path}`;

const refusal = async (found: Promise<unknown>): Promise<RedisUnreachableError> => {
  const error = await found.catch((thrown: unknown) => thrown);
  if (!(error instanceof RedisUnreachableError))
    throw new Error(`expected RedisUnreachableError, not ${String(error)}`);
  return error;
};

const trying = () => ({ log: keptLog().log, prefix: 'sluice' });

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};

/** A server of another maker that answers INFO with that text, and everything else with OK. */
const serverThatSays = async (info: string): Promise<{ port: number; close: () => void }> => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const command of chunk.toString().split(/(?=^\*\d)/m)) {
        if (/^hello\r$/im.test(command)) socket.write('*2\r\n$5\r\nproto\r\n:3\r\n');
        else if (/^info\r$/im.test(command)) socket.write(`$${Buffer.byteLength(info)}\r\n${info}\r\n`);
        else socket.write('+OK\r\n');
      }
    });
  });
  return { port: await listen(server), close: () => void server.close() };
};

describe('an address', () => {
  test.each([
    ['redis://example.org', { host: 'example.org', port: 6379 }],
    ['redis://:p%40ss@example.org:7000/3', { host: 'example.org', port: 7000, password: 'p@ss', db: 3 }],
    ['redis://[::1]:7000', { host: '::1', port: 7000 }],
    ['redis://me:secret@127.0.0.1?db=2', { host: '127.0.0.1', port: 6379, username: 'me', password: 'secret', db: 2 }],
    ['rediss://example.org', { host: 'example.org', port: 6379, tls: { servername: 'example.org' } }],
    ['unix:///run/redis.sock?db=1', { path: '/run/redis.sock', db: 1 }],
    ['unix:/run/redis.sock', { path: '/run/redis.sock' }],
    [' redis://example.org/3\n', { host: 'example.org', port: 6379, db: 3 }],
  ])('%s is read', (text, options) => {
    expect(parseRedisUrl(text)).toEqual([options]);
  });

  test('the nodes of a cluster are read from one URL, each with the login', () => {
    const login = { username: 'me', password: 'a,b' };
    expect(parseRedisUrl('rediss://me:a,b@one.example.org:7000,[::1]:7001,10.0.0.3')).toEqual([
      { host: 'one.example.org', port: 7000, tls: { servername: 'one.example.org' }, ...login },
      { host: '::1', port: 7001, tls: {}, ...login },
      { host: '10.0.0.3', port: 6379, tls: {}, ...login },
    ]);
  });

  test('sentinels are read with the name of the server that they watch', () => {
    const sentinels = [
      { host: 'a', port: 26379 },
      { host: 'b', port: 5000 },
    ];
    expect(parseRedisUrl('redis+sentinel://:pw@a,b:5000/main/2')).toEqual([
      { sentinels, name: 'main', password: 'pw', db: 2 },
    ]);
    expect(parseRedisUrl('rediss+sentinel://a,b:5000/main')).toEqual([
      { sentinels, name: 'main', tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true },
    ]);
    expect(() => parseRedisUrl('redis+sentinel://a,b:5000')).toThrow('lacks the name');
  });

  test.each(['localhost:6379', 'http://example.org/first'])('%s is told to begin otherwise', (text) => {
    expect(() => parseRedisUrl(text)).toThrow(/begins with (?:localhost|http):, not redis:/);
  });

  test.each([
    'secret@nowhere',
    'redis://me:secret@a,b:x',
    'redis://me:secret@a,',
    'http://me:secret@example.org',
    'redis://:secret@example.org/first',
  ])('%s is refused without showing what may be secret', (text) => {
    expect(() => parseRedisUrl(text)).toThrow(RedisUnreachableError);
    expect(() => parseRedisUrl(text)).not.toThrow('secret');
  });
});

describe('REDIS_URL', () => {
  test('a server that answers is used, and left running on close', async () => {
    const handle = await openRedis(embedded(tempDir(), { env: { REDIS_URL: url } }));
    expect(handle).toMatchObject({ how: 'url', binary: null, options: { path: redis.options.path } });
    expect(handle.describe).toMatch(/^(Redis|Valkey) \d+\.\d+\.\d+ at /);
    await handle.close();
    await handle.close();
    const client = new Redis(redis.options);
    expect(await client.ping()).toBe('PONG');
    await client.quit();
  });

  test('it takes precedence over the address of the configuration', async () => {
    const handle = await openRedis(embedded(tempDir(), { env: { REDIS_URL: url }, url: 'redis://127.0.0.1:1' }));
    expect(handle.options).toEqual({ path: redis.options.path });
    await handle.close();
  });

  test('a server that does not answer is an error that names host and port but no password, and no other is used', async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    const stateDir = tempDir();
    const asked = openRedis(embedded(stateDir, { url: `redis://me:geheim@127.0.0.1:${port}/0` }));
    const error = await refusal(asked);
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(error.message).toContain('ECONNREFUSED');
    expect(`${error.message} ${error.hint} ${error.stack}`).not.toContain('geheim');
    expect(error.hint).toContain('REDIS_URL');
    expect(existsSync(join(stateDir, 'redis'))).toBe(false);
  });

  test('a server that takes the connection and says nothing is given up', async () => {
    const server = createServer(() => {});
    const port = await listen(server);
    const error = await refusal(reachExternal(`redis://127.0.0.1:${port}`, { ...trying(), timeoutMs: 200 }));
    expect(error.message).toContain(`127.0.0.1:${port}`);
    server.close();
  });

  test('a login that is refused is reported in the words of the server, without the password', async () => {
    const admin = new Redis(redis.options);
    await admin.config('SET', 'requirepass', 'right');
    const without = await refusal(reachExternal(url, trying()));
    const wrong = await refusal(reachExternal(url.replace('unix://', 'unix://:geheim@host'), trying()));
    const handle = await reachExternal(url.replace('unix://', 'unix://:right@host'), trying());
    await admin.config('SET', 'requirepass', '');
    await admin.quit();
    expect(without.message).toContain('NOAUTH');
    expect(wrong.message).toContain('WRONGPASS');
    expect(`${wrong.message}${wrong.hint}`).not.toContain('geheim');
    expect(handle.describe).not.toContain('right');
  });

  test('a database that the server does not have is refused, instead of using database 0', async () => {
    const error = await refusal(reachExternal(`${url}?db=99`, trying()));
    expect(error.message).toContain('cannot be used: ERR DB index is out of range');
    expect(error.hint).toContain('database in REDIS_URL');
    expect((await reachExternal(`${url}?db=3`, trying())).options).toMatchObject({ db: 3 });
  });

  test.each([
    ['other keys only', ['~other*', '+@all'], 'NOPERM'],
    ['no scripts', ['~sluice*', '+@all', '-@scripting'], 'NOPERM'],
    ['no streams', ['~sluice*', '+@all', '-@stream'], "can't run this command"],
    ['no blocking reads', ['~sluice*', '+@all', '-bzpopmin'], 'NOPERM'],
    ['no transactions', ['~sluice*', '+@all', '-@transaction'], 'NOPERM'],
  ])('a user who may use %s is refused with the rights he needs', async (_what, rights, words) => {
    const admin = new Redis(redis.options);
    await admin.acl('SETUSER', 'city', 'reset', 'on', '>pw', '&*', ...rights);
    const error = await refusal(reachExternal(url.replace('unix://', 'unix://city:pw@host'), trying()));
    await admin.acl('SETUSER', 'city', 'reset', 'on', '>pw', '&*', '~sluice*', '+@all');
    const handle = await reachExternal(url.replace('unix://', 'unix://city:pw@host'), trying());
    const left = await admin.keys('*');
    await admin.quit();
    expect(error.message).toContain('does not let sluice write');
    expect(error.message).toContain(words);
    expect(error.hint).toContain('~sluice*');
    expect(handle.describe).toContain('Redis');
    expect(left).toEqual([]);
  });

  test('a server that is full is taken: what reads works, and what writes says what to do', async () => {
    const admin = new Redis(redis.options);
    await admin.config('SET', 'maxmemory', '1');
    const handle = await reachExternal(url, trying()).finally(() => admin.config('SET', 'maxmemory', '0'));
    await admin.quit();
    expect(handle.describe).toContain('Redis');
  });

  test.each([
    ['allkeys-lru', '100mb', true],
    ['volatile-ttl', '100mb', true],
    ['allkeys-lru', '0', false],
    ['noeviction', '100mb', false],
  ])('a server by the policy %s, with %s of memory, is refused: %s', async (policy, memory, isRefused) => {
    const admin = new Redis(redis.options);
    await admin.config('SET', 'maxmemory-policy', policy, 'maxmemory', memory);
    const trial = reachExternal(url, trying());
    const error = isRefused ? await refusal(trial) : await trial;
    await admin.config('SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '0');
    await admin.quit();
    if (!isRefused) return;
    expect(error).toMatchObject({
      code: 'redis-unreachable',
      message: expect.stringContaining(`maxmemory-policy ${policy}`),
      hint: expect.stringContaining('noeviction'),
    });
  });

  test('several addresses are refused where they are no cluster', async () => {
    const server = await serverThatSays('redis_version:7.0.15\r\ncluster_enabled:0\r\n');
    const error = await refusal(reachExternal(`redis://127.0.0.1:${server.port},127.0.0.1:1`, trying()));
    server.close();
    expect(error.message).toContain('is not a cluster');
    expect(error.hint).toContain('redis+sentinel://');
  });

  test('a Redis that is too old is refused', async () => {
    const old = await serverThatSays('redis_version:7.0.7\r\nprocess_id:1\r\n');
    const error = await refusal(reachExternal(`redis://127.0.0.1:${old.port}`, trying()));
    old.close();
    expect(error.message).toBe(`127.0.0.1:${old.port} is Redis 7.0.7, older than 7.0.8`);
  });

  test('Valkey is accepted by its name', async () => {
    const valkey = await serverThatSays('redis_version:7.0.1\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\n');
    const { describe: words } = await reachExternal(`redis://127.0.0.1:${valkey.port}`, trying());
    valkey.close();
    expect(words).toBe(`Valkey 8.1.0 at 127.0.0.1:${valkey.port}`);
  });
});
