import { existsSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SluiceError, SourceRefusedError } from '../../../src/model/errors.ts';
import { addressGuard } from '../../../src/sources/fetch/connect.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import type { FetchPolicy } from '../../../src/sources/fetch/policy.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

describe('the guard', () => {
  const guard = addressGuard(['10.1.0.0/16', '192.168.7.7', 'data.intern.example', 'fd00:1::/32']);

  it.each([
    ['0.0.0.0', 'an unspecified address'],
    ['127.0.0.1', 'a loopback address'],
    ['127.8.8.8', 'a loopback address'],
    ['10.0.0.1', 'a private address'],
    ['172.16.0.1', 'a private address'],
    ['172.31.255.255', 'a private address'],
    ['192.168.0.1', 'a private address'],
    ['169.254.1.1', 'a link-local address'],
    ['169.254.169.254', 'a cloud metadata address'],
    ['100.100.100.200', 'a cloud metadata address'],
    ['fd00:ec2::254', 'a cloud metadata address'],
    ['100.64.0.1', 'an address behind a carrier'],
    ['224.0.0.1', 'a multicast address'],
    ['255.255.255.255', 'a reserved address'],
    ['198.18.0.1', 'a reserved address'],
    ['::', 'an unspecified address'],
    ['::1', 'a loopback address'],
    ['fe80::1', 'a link-local address'],
    ['fe80::1%eth0', 'a link-local address'],
    ['fc00::1', 'a private address'],
    ['ff02::1', 'a multicast address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['::ffff:a00:1', 'a private address'],
    ['::127.0.0.1', 'a reserved address'],
    ['64:ff9b::7f00:1', 'a loopback address'],
    ['64:ff9b::a9fe:a9fe', 'a cloud metadata address'],
    ['2002:7f00:1::1', 'a reserved address'],
    ['2001:0:7f00:1::1', 'a reserved address'],
  ])('keeps away from %s: %s', (address, kind) => {
    expect(guard('somewhere.example', address)).toBe(kind);
  });

  it.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
    'lets %s be reached',
    (address) => {
      expect(guard('somewhere.example', address)).toBeNull();
    },
  );

  it('lets through what is allowed, by network, address and host name, and nothing beside it', () => {
    for (const address of ['10.1.2.3', '192.168.7.7', 'fd00:1::5', '::ffff:10.1.2.3'])
      expect(guard('somewhere.example', address)).toBeNull();
    for (const address of ['10.2.0.0', '192.168.7.8', 'fd00:2::5'])
      expect(guard('somewhere.example', address)).not.toBeNull();
    for (const host of ['data.intern.example', 'DATA.intern.example.']) expect(guard(host, '127.0.0.1')).toBeNull();
    for (const host of ['intern.example', 'x.data.intern.example']) expect(guard(host, '127.0.0.1')).not.toBeNull();
  });
});

const outside = await startSources();
const inside = await startSources('127.0.0.2');
inside.on('/secret.csv', fileAnswer('the,secret\n1,2\n', {}));

const opened: Fetcher[] = [];
const open = (lookup?: LookupFunction, changes: Partial<FetchPolicy> = {}): Fetcher => {
  const fetcher = new Fetcher({ ...fetchPolicy, allowPrivate: ['127.0.0.1'], ...changes }, lookup ? { lookup } : {});
  opened.push(fetcher);
  return fetcher;
};
afterAll(() => Promise.all(opened.map((fetcher) => fetcher.close())));

const refusal = async (url: string, fetcher = open()): Promise<string> => {
  const into = join(tempDir(), 'x');
  const options = { known: null, signal: new AbortController().signal };
  for (const work of [() => fetcher.toFile(url, into, options), () => fetcher.look(url, options)]) {
    const error = await work().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(SourceRefusedError);
  }
  expect(existsSync(into)).toBe(false);
  const error = await fetcher.toFile(url, into, options).catch((caught: unknown) => caught);
  return error instanceof SluiceError ? `${error.message} -> ${error.hint}` : '';
};

describe('a fetch', () => {
  it.each([
    ['http://127.0.0.2/x', '127.0.0.2 is a loopback address'],
    ['http://2130706434/x', '127.0.0.2 is a loopback address'],
    ['http://0x7f.2/x', '127.0.0.2 is a loopback address'],
    ['http://0177.0.0.2/x', '127.0.0.2 is a loopback address'],
    ['http://127.2/x', '127.0.0.2 is a loopback address'],
    ['http://0/x', '0.0.0.0 is an unspecified address'],
    ['http://[::1]/x', '[::1] is a loopback address'],
    ['http://[::ffff:127.0.0.2]/x', '[::ffff:7f00:2] is a loopback address'],
    ['http://169.254.169.254/latest/meta-data/', '169.254.169.254 is a cloud metadata address'],
    ['file:///etc/passwd', 'addresses that begin with file: are not fetched'],
    ['ftp://example.org/x', 'addresses that begin with ftp: are not fetched'],
    ['http://user:geheim@example.org/x', 'holds a user name or password'],
    ['nonsense', 'invalid address'],
  ])('does not go to %s', async (url, words) => {
    const message = await refusal(url);
    expect(message).toContain(words);
    expect(message).not.toContain('geheim');
  });

  it('does not follow a redirect inside, and says where from', async () => {
    outside.on('/moved.csv', (_request, response) =>
      response.writeHead(302, { location: `${inside.url}/secret.csv` }).end(),
    );
    const message = await refusal(`${outside.url}/moved.csv`);
    expect(message).toBe(
      `${inside.url}/secret.csv (redirected from ${outside.url}/moved.csv): 127.0.0.2 is a loopback address: it is not fetched -> ` +
        'only public addresses are fetched; if this is intended, add the host or its network to `sources.allow` in the configuration',
    );
    for (const [location, words] of [
      ['file:///etc/passwd', 'redirects: addresses that begin with file:'],
      [outside.url.replace('http://', 'http://a:b@'), 'holds a user name or password'],
      ['http://', 'redirects: invalid address'],
    ] as const) {
      outside.on('/odd.csv', (_request, response) => response.writeHead(301, { location }).end());
      expect(await refusal(`${outside.url}/odd.csv`)).toContain(words);
    }
    expect(inside.asked).toEqual([]);
  });

  it('does not follow redirects forever', async () => {
    outside.on('/round.csv', (_request, response) => response.writeHead(307, { location: '/round.csv' }).end());
    expect(await refusal(`${outside.url}/round.csv`)).toContain('redirects more than 3 times');
  });

  it('judges a name by the addresses it has, all of them', async () => {
    const lookup: LookupFunction = (_host, _options, done) =>
      done(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ]);
    expect(await refusal(`http://two.example:${outside.port}/x`, open(lookup))).toContain(
      'two.example leads to 127.0.0.2, a loopback address',
    );
  });

  it('connects to the address that it judged, whatever the name says a moment later', async () => {
    const answers = ['127.0.0.1', '127.0.0.2', '127.0.0.2'];
    let asked = 0;
    const lookup: LookupFunction = (_host, _options, done) => {
      done(null, [{ address: answers[asked++] ?? '', family: 4 }]);
    };
    outside.on('/x.csv', (_request, response) => response.writeHead(200, { connection: 'close' }).end('a\n1\n'));
    const fetcher = open(lookup);
    const options = { known: null, signal: new AbortController().signal };
    const url = `http://rebound.example:${outside.port}/x.csv`;
    expect(await fetcher.toFile(url, join(tempDir(), 'x'), options)).toMatchObject({ bytes: 4 });
    expect(asked).toBe(1);
    await expect(fetcher.toFile(url, join(tempDir(), 'x'), options)).rejects.toThrow(
      'rebound.example leads to 127.0.0.2, a loopback address',
    );
  });

  it('goes to a host inside that is allowed by name', async () => {
    const lookup: LookupFunction = (_host, _options, done) => done(null, [{ address: '127.0.0.2', family: 4 }]);
    const fetcher = open(lookup, { allowPrivate: ['data.intern.example'] });
    const options = { known: null, signal: new AbortController().signal };
    const fetched = await fetcher.toFile(
      `http://data.intern.example:${inside.port}/secret.csv`,
      join(tempDir(), 'x'),
      options,
    );
    expect(fetched).toMatchObject({ status: 'fetched', bytes: 15 });
  });
});
