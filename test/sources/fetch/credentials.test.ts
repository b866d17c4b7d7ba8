// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations refer to secrets

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type LookupFunction } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import type { SourceCredentials } from '../../../src/config/source-credentials.ts';
import { createLog } from '../../../src/model/log.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { atFileEnd } from '../../support/file-end.ts';
import { type Asked, fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const env = { TOKEN: 'tok-3f9a', PW: 'pässword: 7', KEY: 'key-51c2' };
const secrets = [env.TOKEN, env.PW, env.KEY, Buffer.from(`ann:${env.PW}`).toString('base64')];

/** The logins of a configuration, by the way that users go. */
const loginsOf = async (credentials: object): Promise<readonly SourceCredentials[]> => {
  const file = join(tempDir(), 'sluice.yaml');
  writeFileSync(file, JSON.stringify({ sources: { credentials } }));
  return (await loadConfig({ file, cwd: tempDir(), env })).sources.credentials;
};

const home = await startSources();
const other = await startSources();
const elsewhere = await startSources('127.0.0.2');
const servers = [home, other, elsewhere];
beforeEach(() => {
  for (const server of servers) server.asked.length = 0;
});

const opened: Fetcher[] = [];
afterAll(() => Promise.all(opened.map((fetcher) => fetcher.close())));

const names: LookupFunction = (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
const fetcherWith = async (credentials: object, more: Partial<typeof fetchPolicy> = {}): Promise<Fetcher> => {
  const policy = { ...fetchPolicy, allowPrivate: ['127.0.0.0/8'], credentials: await loginsOf(credentials), ...more };
  const fetcher = new Fetcher(policy, { lookup: names });
  opened.push(fetcher);
  return fetcher;
};

const lines: string[] = [];
const log = createLog({
  level: 'trace',
  destination: new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  }),
});
const get = (fetcher: Fetcher, url: string) =>
  fetcher.toFile(url, join(tempDir(), 'x'), { known: null, signal: new AbortController().signal, log });

const bearer = `Bearer ${env.TOKEN}`;
const logins = (asked: Asked[]): (string | undefined)[] => asked.map(({ headers }) => headers.authorization);

/** Redirects a path of a server. */
const redirect = (from: typeof home, path: string, to: string): void =>
  from.on(path, (_request, response) => response.writeHead(302, { location: to }).end());

for (const server of servers) server.on('/x.csv', fileAnswer('a\n1\n', {}));
for (const path of ['/exports/x.csv', '/exports2/x.csv', '/exports/own/x.csv', '/exports'])
  home.on(path, fileAnswer('a\n1\n', {}));

describe('a login', () => {
  it.each([
    [
      'a user and password',
      { basic: { username: 'ann', password: '${PW}' } },
      { authorization: `Basic ${secrets[3]}` },
    ],
    ['a token', { bearer: '${TOKEN}' }, { authorization: bearer }],
    [
      'headers',
      { headers: { 'X-Api-Key': '${KEY}', Authorization: 'Token ${TOKEN}' } },
      { 'x-api-key': env.KEY, authorization: `Token ${env.TOKEN}` },
    ],
  ])('goes with each request below its address: %s', async (_what, login, headers) => {
    const fetcher = await fetcherWith({ [`${home.url}/exports`]: login });
    await get(fetcher, `${home.url}/exports/x.csv`);
    await get(fetcher, `${home.url}/exports`);
    expect(home.asked.map((asked) => asked.headers)).toEqual([
      expect.objectContaining(headers),
      expect.objectContaining(headers),
    ]);
  });

  it('goes to no other path, port, host or scheme', async () => {
    const fetcher = await fetcherWith({ [`${home.url}/exports`]: { bearer: '${TOKEN}' } });
    for (const path of ['/x.csv', '/exports2/x.csv', '/exports/../x.csv', '/exports/%2e%2e/x.csv'])
      await get(fetcher, home.url + path);
    for (const server of [other, elsewhere]) await get(fetcher, `${server.url}/x.csv`);
    const ofHttps = await fetcherWith({ [`127.0.0.1:${home.port}`]: { bearer: '${TOKEN}' } });
    await get(ofHttps, `${home.url}/x.csv`);
    expect(new Set(servers.flatMap(({ asked }) => logins(asked)))).toEqual(new Set([undefined]));
  });

  it('is the one with the longest path', async () => {
    const fetcher = await fetcherWith({
      [home.url]: { bearer: '${TOKEN}' },
      [`${home.url}/exports/own/`]: { headers: { authorization: '${KEY}' } },
    });
    for (const path of ['/exports/own/x.csv', '/exports/x.csv']) await get(fetcher, home.url + path);
    expect(logins(home.asked)).toEqual([env.KEY, bearer]);
  });
});

describe('a redirect', () => {
  it('does not take a login to another port, host, or path without one', async () => {
    const fetcher = await fetcherWith({ [`${home.url}/exports`]: { bearer: '${TOKEN}' } });
    for (const to of [`${other.url}/x.csv`, `${elsewhere.url}/x.csv`, '/x.csv']) {
      redirect(home, '/exports/moved.csv', to);
      await get(fetcher, `${home.url}/exports/moved.csv`);
    }
    expect(logins(other.asked)).toEqual([undefined]);
    expect(logins(elsewhere.asked)).toEqual([undefined]);
    expect(home.asked.map(({ path, headers }) => [path, headers.authorization])).toEqual(
      [...Array(3).fill(['/exports/moved.csv', bearer]), ['/x.csv', undefined]].toSorted(([a], [b]) =>
        a > b ? 1 : -1,
      ),
    );
  });

  it('keeps the login within its address', async () => {
    const fetcher = await fetcherWith({ [`${home.url}/exports`]: { bearer: '${TOKEN}' } });
    redirect(home, '/exports/moved.csv', '/exports/x.csv');
    await get(fetcher, `${home.url}/exports/moved.csv`);
    expect(logins(home.asked)).toEqual([bearer, bearer]);
  });

  it('of another server is not answered with a login, nor one that leads back', async () => {
    const fetcher = await fetcherWith({
      [home.url]: { bearer: '${TOKEN}' },
      [other.url]: { headers: { 'x-api-key': '${KEY}' } },
    });
    redirect(elsewhere, '/trap.csv', `${home.url}/x.csv`);
    await get(fetcher, `${elsewhere.url}/trap.csv`);
    redirect(home, '/out.csv', `${other.url}/back.csv`);
    redirect(other, '/back.csv', `${home.url}/x.csv`);
    await get(fetcher, `${home.url}/out.csv`);
    expect(home.asked.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/x.csv', undefined],
      ['/out.csv', bearer],
      ['/x.csv', undefined],
    ]);
    expect(other.asked[0]?.headers).not.toHaveProperty('x-api-key');
  });

  it('from https to http does not take the login along; neither does a proxy see it', async () => {
    const [key, cert] = ['tls-key.pem', 'tls-cert.pem'].map((name) =>
      readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8'),
    );
    const before = getCACertificates('default');
    onTestFinished(() => setDefaultCACertificates(before)); // other files share this process
    setDefaultCACertificates([cert ?? '']);
    const secure: (string | undefined)[] = [];
    const tls = createTlsServer({ key, cert }, ({ headers }, response) => {
      secure.push(headers.authorization);
      response.writeHead(302, { location: `http://data.example:${home.port}/x.csv` }).end();
    });
    const port = await listening(tls);
    const connects: unknown[] = [];
    const proxy = createServer();
    proxy.on('connect', ({ url, rawHeaders }, socket, head) => {
      connects.push([url, ...rawHeaders]);
      // Everything that is asked for by name is on this host.
      const tunnel = connect(Number(url?.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        tunnel.write(head);
        tunnel.pipe(socket).pipe(tunnel);
      });
      for (const end of [tunnel, socket]) end.on('error', () => undefined);
    });
    const through = `http://127.0.0.1:${await listening(proxy)}`;
    const login = { [`data.example:${port}`]: { bearer: '${TOKEN}' } };
    const viaProxy = await fetcherWith(login, {
      allowPrivate: ['127.0.0.0/8', 'data.example'],
      proxy: { httpProxy: '', httpsProxy: through, noProxy: '' },
    });
    for (const fetcher of [await fetcherWith(login), viaProxy])
      await get(fetcher, `https://data.example:${port}/x.csv`);
    expect(secure).toEqual([bearer, bearer]);
    expect(logins(home.asked)).toEqual([undefined, undefined]);
    expect(connects.length).toBeGreaterThan(0);
    expect(JSON.stringify(connects)).not.toContain(env.TOKEN);
  });
});

const listening = async (server: Server): Promise<number> => {
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port; // it listens on a port
};

describe('what people read', () => {
  it('does not repeat a login that a server echoes', async () => {
    const fetcher = await fetcherWith({ [home.url]: { basic: { username: 'ann', password: '${PW}' } } });
    home.on('/page.csv', (_request, response) =>
      response.end(`<title>${'no '.repeat(36)}${env.PW} ${secrets[3]}</title>`),
    );
    home.on('/file', (_request, response) =>
      response.writeHead(200, { 'content-disposition': `attachment; filename="${secrets[3]}.csv"` }).end('a\n1\n'),
    );
    redirect(home, '/path.csv', `/${secrets[3]}/gone.csv`);
    const found = await Promise.all(
      ['/page.csv', '/file', '/path.csv'].map((path) => get(fetcher, home.url + path).catch(String)),
    );
    expect(found[0]).toMatch(/is a web page titled "[no ]+\[redac/);
    expect(found[1]).toMatchObject({ fileName: '[redacted].csv' });
    expect(found[2]).toContain('/[redacted]/gone.csv');
    for (const part of ['päss', secrets[3]]) expect([found[0], found[2]].join()).not.toContain(part);
  });

  it('says which login was refused, or that one is missing, and never what it is', async () => {
    for (const path of ['/closed.csv', '/exports/closed.csv'])
      home.on(path, (_request, response) => response.writeHead(401).end(bearer));
    const own = `${home.url}/exports`;
    const fetcher = await fetcherWith({
      [own]: { basic: { username: 'ann', password: '${PW}' }, headers: { 'X-Api-Key': '${KEY}' } },
      [other.url]: { bearer: '${TOKEN}' },
    });
    const failures = await Promise.all(
      [`${own}/closed.csv`, `${home.url}/closed.csv`, `${other.url}/none.csv`, 'http://ann:pw@127.0.0.1/x.csv'].map(
        (url) => get(fetcher, url).catch((error: unknown) => error),
      ),
    );
    expect(failures).toMatchObject([
      { hint: `check the login for ${own} in \`sources.credentials\` of the configuration` },
      { hint: expect.stringContaining('add the login of the server to `sources.credentials`') },
      { code: 'source-missing' },
      { hint: expect.stringContaining('write the login into `sources.credentials`') },
    ]);
    const { policy } = fetcher;
    log.info({ policy, copy: { ...policy.credentials?.[0] } }, 'policy');
    const seen = [inspect(failures, { depth: 9 }), inspect(policy, { depth: 9 }), JSON.stringify(policy), ...lines];
    expect(seen.join('\n')).toContain('[redacted]');
    for (const secret of secrets) expect(seen.join('\n')).not.toContain(secret);
  });
});
