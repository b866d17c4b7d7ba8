import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { SourceRefusedError } from '../../../src/model/errors.ts';
import { proxyOf } from '../../../src/sources/fetch/connect.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import type { Fetched } from '../../../src/sources/fetch/policy.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A proxy for plain HTTP is asked with whole addresses, so a server that is asked with them stands for one. */
const proxy = await startSources('127.0.0.3');
const server = await startSources();
const opened: Fetcher[] = [];
afterAll(() => Promise.all(opened.map((fetcher) => fetcher.close())));
beforeEach(() => {
  proxy.asked.length = 0;
  server.asked.length = 0;
});

const names: Record<string, string> = { 'inside.example': '127.0.0.2', 'near.example': '127.0.0.1' };
const lookup: LookupFunction = (host, _options, done) => {
  const address = names[host];
  if (address === undefined) done(Object.assign(new Error(`no ${host}`), { code: 'ENOTFOUND' }), '', 0);
  else done(null, [{ address, family: 4 }]);
};

const fetchBy = async (settings: ReturnType<typeof proxyOf>, url: string): Promise<Fetched> => {
  const fetcher = new Fetcher({ ...fetchPolicy, proxy: settings }, { lookup });
  opened.push(fetcher);
  return fetcher.toFile(url, join(tempDir(), 'x'), { known: null, signal: new AbortController().signal });
};

const through = (no = '') => proxyOf({ http_proxy: proxy.url, no_proxy: no });

describe('a proxy', () => {
  it('is asked for names that are not known here', async () => {
    proxy.on('http://far.example/x.csv', fileAnswer('a\n1\n', {}));
    expect(await fetchBy(through(), 'http://far.example/x.csv?key=1')).toMatchObject({ status: 'fetched', bytes: 4 });
    expect(proxy.asked.map(({ headers }) => headers.host)).toEqual(['far.example']);
  });

  it('is not asked for what is known to lie inside', async () => {
    for (const host of ['inside.example', '127.0.0.2', '[::1]', '169.254.169.254']) {
      await expect(fetchBy(through(), `http://${host}/x.csv`)).rejects.toBeInstanceOf(SourceRefusedError);
    }
    expect(proxy.asked).toEqual([]);
  });

  it('is judged again at every redirect', async () => {
    proxy.on('http://far.example/moved.csv', (_request, response) =>
      response.writeHead(302, { location: 'http://inside.example/x.csv' }).end(),
    );
    await expect(fetchBy(through(), 'http://far.example/moved.csv')).rejects.toThrow(
      'inside.example leads to 127.0.0.2, a loopback address',
    );
    expect(proxy.asked).toHaveLength(1);
  });

  it('is passed by for hosts that are named, which are guarded as ever', async () => {
    server.on('/x.csv', fileAnswer('a\n1\n2\n', {}));
    const near = `http://near.example:${server.port}/x.csv`;
    expect(await fetchBy(through('near.example'), near)).toMatchObject({ bytes: 6 });
    const inside = fetchBy(through('inside.example'), `http://inside.example:${server.port}/x.csv`);
    await expect(inside).rejects.toBeInstanceOf(SourceRefusedError);
    expect([proxy.asked.length, server.asked.length]).toEqual([0, 1]);
  });

  it('is not used unless it is requested', async () => {
    server.on('/x.csv', fileAnswer('a\n1\n2\n', {}));
    expect(await fetchBy(null, `http://near.example:${server.port}/x.csv`)).toMatchObject({ bytes: 6 });
    expect(proxy.asked).toEqual([]);
  });

  it('is named by the usual variables', () => {
    expect(proxyOf({})).toBeNull();
    expect(proxyOf({ NO_PROXY: 'a' })).toBeNull();
    expect(proxyOf({ HTTPS_PROXY: 'http://p:1', NO_PROXY: 'a,b' })).toEqual({
      httpProxy: '',
      httpsProxy: 'http://p:1',
      noProxy: 'a,b',
    });
    expect(proxyOf({ HTTP_PROXY: 'http://p:1', http_proxy: 'http://q:1' })).toEqual({
      httpProxy: 'http://q:1',
      httpsProxy: 'http://q:1',
      noProxy: '',
    });
  });
});
