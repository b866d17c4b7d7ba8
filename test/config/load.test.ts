// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations hold references in this form
import { PassThrough } from 'node:stream';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/model/log.ts';
import { tempDir } from '../support/temp-dir.ts';
import { problemsOf, writeText } from '../support/yaml-file.ts';

/** Loads `text` as `config/sluice.yaml` of a new folder. */
const load = async (text: string, env: NodeJS.ProcessEnv = {}, portal?: string): Promise<Config> => {
  const cwd = tempDir();
  writeText(cwd, 'config/sluice.yaml', text);
  return await loadConfig({ file: undefined, cwd, env, ...(portal === undefined ? {} : { portal }) });
};

const city = 'portals:\n  city:\n    kind: remote\n    url: https://data.example.org/\n    username: publisher\n';

describe('redis.prefix', () => {
  it.each(['sluice', '{sluice}', 'a-{b_1}-c'])('%s is taken', async (prefix) => {
    expect((await load(`redis: { prefix: "${prefix}" }`)).redis.prefix).toBe(prefix);
  });

  it.each(['', 'a b', '{}', '{a', 'a}', '{a}{b}', 'a'.repeat(65), `{${'a'.repeat(63)}}`])(
    '%s is refused',
    async (prefix) => {
      expect(await problemsOf(load(`redis: { prefix: "${prefix}" }`))).toHaveLength(1);
    },
  );
});

describe('web', () => {
  it('listens on loopback without a login', async () => {
    const { web } = await load('log: {}');
    expect(web).toMatchObject({ host: '127.0.0.1', port: 4283, username: 'operator', password: null, publicUrl: null });
  });

  it.each(['host: 0.0.0.0', 'host: sluice.example.org', 'publicUrl: https://sluice.example.org', 'public: true'])(
    '%s needs a password, which is never shown',
    async (key) => {
      const [problem, ...more] = await problemsOf(load(`web:\n  ${key}\n`));
      expect(more).toEqual([]);
      expect(problem).toMatch(/^2:\d+ web\..*: also set `web\.password`/);
      const { web } = await load(`web:\n  ${key}\n  password: \${WEB_PASSWORD}\n`, { WEB_PASSWORD: 'hidden-word' });
      expect(web.password).toBe('hidden-word');
      expect(inspect(web) + JSON.stringify(web)).not.toContain('hidden-word');
    },
  );

  it('health.port is no longer known', async () => {
    const [problem] = await problemsOf(load('health: { port: 0 }'));
    expect(problem).toMatch(/^1:1 health: unknown key/);
  });
});

describe('finding the configuration', () => {
  it('without any file there is one embedded portal, and every key has its default', async () => {
    const cwd = tempDir();
    const config = await loadConfig({ file: undefined, cwd, env: {} });
    expect(config).toMatchObject({ file: null, stateDir: `${cwd}/.sluice`, portal: null, manifests: [] });
    expect(config.portals).toMatchObject({
      local: {
        name: 'local',
        kind: 'embedded',
        username: 'admin',
        password: null,
        concurrency: 8,
        requestsPerSecond: 0,
      },
    });
    expect(config.retry).toEqual({ attempts: 8, backoffMs: 1_000, maxBackoffMs: 60_000 });
  });

  it('config/sluice.yaml of the working directory is found by itself', async () => {
    const cwd = tempDir();
    const path = writeText(cwd, 'config/sluice.yaml', 'retry: { attempts: 3 }');
    const config = await loadConfig({ file: undefined, cwd, env: {} });
    expect(config).toMatchObject({ file: path, retry: { attempts: 3, backoffMs: 1_000 } });
  });

  it('--config takes precedence over it, --state is relative to the working directory', async () => {
    const cwd = tempDir();
    writeText(cwd, 'config/sluice.yaml', 'retry: { attempts: 3 }');
    writeText(cwd, 'other/x.yaml', 'retry: { attempts: 5 }');
    const config = await loadConfig({ file: 'other/x.yaml', cwd, env: {}, stateDir: 'state' });
    expect(config).toMatchObject({ retry: { attempts: 5 }, stateDir: `${cwd}/state` });
  });

  it('a --config that does not exist is a clear fault, not a silent default', async () => {
    expect(await problemsOf(loadConfig({ file: 'none.yaml', cwd: tempDir(), env: {} }))).toEqual([
      '1:1 : there is no such file',
    ]);
  });
});

describe('what a file becomes', () => {
  it('durations and sizes are numbers, paths are absolute from the file', async () => {
    const cwd = tempDir();
    writeText(
      cwd,
      'config/sluice.yaml',
      [
        'portals: { local: { kind: embedded, users: users.yaml, dataDir: ../data, importTimeout: 1h } }',
        'manifests: ["../jobs/*.yaml", /srv/a.yaml]',
        'inbox: { settle: 500ms, archiveKeep: 2 }',
        'limits: { row: 2 MiB }',
      ].join('\n'),
    );
    const config = await loadConfig({ file: undefined, cwd, env: {} });
    expect(config.portals.local).toMatchObject({
      users: `${cwd}/config/users.yaml`,
      dataDir: `${cwd}/data`,
      importTimeoutMs: 3_600_000,
    });
    expect(config.manifests).toEqual([`${cwd}/jobs/*.yaml`, '/srv/a.yaml']);
    expect(config.inbox).toEqual({ settleMs: 500, rescanMs: 60_000, poll: false, archiveKeep: 2 });
    expect(config.limits).toEqual({ tableBytes: 10_000_000_000, rowBytes: 2 * 1024 ** 2 });
  });

  it('a remote portal is treated gently by default, and its address loses the last slash', async () => {
    const config = await load(`${city}    password: \${PW}\n`, { PW: 's3cret' });
    expect({ ...config.portals.city }).toMatchObject({
      kind: 'remote',
      url: 'https://data.example.org',
      username: 'publisher',
      password: 's3cret',
      concurrency: 4,
      requestsPerSecond: null,
    });
  });

  it('a token stands for username and password, and shows nowhere', async () => {
    const text = 'portals: { city: { kind: remote, url: "https://data.example.org", token: "${TOKEN}" } }';
    const { city: portal } = (await load(text, { TOKEN: 'hunter2' })).portals;
    expect({ ...portal }).toMatchObject({ username: '', password: '', token: 'hunter2' });
    for (const shown of [JSON.stringify(portal), inspect(portal)]) expect(shown).not.toContain('hunter2');
    const clear = await problemsOf(load(text.replace('${TOKEN}', 'hunter2')));
    expect(clear).toEqual([expect.stringMatching(/^1:\d+ portals\.city\.token: must be a reference/)]);
    expect(clear.join()).not.toContain('hunter2');
  });

  it('numbers of vocabularies and terms become text', async () => {
    const keys = 'vocabularies: { formats: 7, tags: 8 }, terms: { topics: { transport: 23, "2024": 24 } }';
    const config = await load(`portals: { a: { kind: embedded, ${keys} }, b: { kind: embedded } }`);
    expect(config.portals.a).toMatchObject({
      vocabularies: { format: '7', tags: '8' },
      terms: { dkan_topics: { transport: '23', '2024': '24' } },
    });
    expect(config.portals.b).toMatchObject({ vocabularies: {}, terms: {} });
    const wrong = 'portals: { a: { kind: embedded, vocabularies: { tags: 0, other: 1 }, terms: { tags: { x: y } } } }';
    expect(await problemsOf(load(wrong))).toHaveLength(3);
  });

  it('imports run one after the other elsewhere, concurrently on the embedded portal, unless told', async () => {
    const config = await load(
      `${city}    password: \${PW}\n  a: { kind: embedded }\n  b: { kind: embedded, imports: serial }\n`,
      { PW: 'x' },
    );
    expect(Object.values(config.portals).map(({ name, imports }) => [name, imports])).toEqual([
      ['city', 'serial'],
      ['a', 'parallel'],
      ['b', 'serial'],
    ]);
  });

  it('environment variables stand for any text', async () => {
    const config = await load('portals: { a: { kind: embedded, host: "${HOST}", dataDir: "${DIR}/p" } }', {
      HOST: '0.0.0.0',
      DIR: '/srv',
    });
    expect(config.portals.a).toMatchObject({ host: '0.0.0.0', dataDir: '/srv/p' });
  });

  it('REDIS_URL takes precedence over redis.url, and redis.url may hold a referenced password', async () => {
    const text = 'redis: { url: "redis://:${RP}@queue:6379" }';
    expect((await load(text, { RP: 'pw' })).redis.url).toBe('redis://:pw@queue:6379');
    expect((await load(text, { RP: 'pw', REDIS_URL: 'redis://other' })).redis.url).toBe('redis://other');
    expect((await load('log: { level: info }', {})).redis.url).toBeUndefined();
    const socket = 'unix:///run/redis/redis.sock';
    expect((await load(`redis: { url: "${socket}" }`, {})).redis.url).toBe(socket);
  });

  it.each([
    'redis://one:6379,two:6379,three:6379',
    'redis://one,two/0',
    'redis+sentinel://one:26379,two:26379/mymaster',
    'rediss+sentinel://one/mymaster/2',
  ])('redis.url may name a cluster or sentinels: %s', async (url) => {
    expect((await load(`redis: { url: "${url}" }`, {})).redis.url).toBe(url);
    const secret = url.replace('//', '//:${RP}@');
    expect((await load(`redis: { url: "${secret}" }`, { RP: 'p%2Cw' })).redis.url).toBe(url.replace('//', '//:p%2Cw@'));
    const inClear = url.replace('//', '//user:hunter,2@');
    const problems = await problemsOf(load(`redis: { url: "${inClear}" }`));
    expect(problems).toEqual([expect.stringContaining('redis.url: a password must be a reference')]);
  });
});

describe('secrets', () => {
  it('a file of secrets is relative to the configuration and loses one newline', async () => {
    const cwd = tempDir();
    writeText(cwd, 'config/sluice.yaml', `${city}    password: { file: pw }\n`);
    writeText(cwd, 'config/pw', ' with spaces \n\n');
    const config = await loadConfig({ file: undefined, cwd, env: {} });
    expect(config.portals.city?.password).toBe(' with spaces \n');
  });

  it('never show when a configuration is printed, serialised or logged', async () => {
    const config = await load(`${city}    password: \${PW}\nredis: { url: "redis://:\${PW}@queue:6379" }\n`, {
      PW: 'hunter2',
    });
    const destination = new PassThrough({ encoding: 'utf8' });
    const log = createLog({ level: 'info', destination });
    log.info(config, 'as it is');
    for (const shown of [config, config.redis, config.portals, { ...config.portals.city }]) {
      log.info({ shown }, 'in an object');
      log.info({ deep: { down: { shown } } }, 'far down');
    }
    const lines = String(destination.read()).trim().split('\n');
    expect(lines).toHaveLength(9);
    for (const shown of [JSON.stringify(config), inspect(config, { depth: 9 }), ...lines]) {
      expect(shown).toContain('[redacted]');
      expect(shown).not.toContain('hunter2');
    }
    expect(config.portals.city?.password).toBe('hunter2');
  });

  it('a password in clear is refused, and not repeated', async () => {
    const problems = await problemsOf(load(`${city}    password: hunter2\n`));
    expect(problems).toEqual([expect.stringMatching(/^6:15 portals\.city\.password: must be a reference/)]);
    expect(problems.join()).not.toContain('hunter2');
  });

  it.each([
    ['${NOT_SET}', '6:15 portals.city.password: the environment variable NOT_SET is not set'],
    ['${EMPTY}', '6:15 portals.city.password: the environment variable EMPTY is empty'],
    ['{ file: nothing-here }', '6:23 portals.city.password.file: '],
    ['{ fiel: x }', '6:15 portals.city.password: must be a reference'],
    ['12345', '6:15 portals.city.password: must be a reference'],
  ])('%s is a fault at its line', async (password, fault) => {
    const problems = await problemsOf(load(`${city}    password: ${password}\n`, { EMPTY: '' }));
    expect(problems).toEqual([expect.stringContaining(fault)]);
    expect(problems.join()).not.toContain('12345');
  });

  it('the login of a source is a reference, and shows nowhere', async () => {
    const config = await load(
      [
        'sources:',
        '  credentials:',
        '    Data.Example.org: { basic: { username: ann, password: "${PW}" } }',
        '    http://intern:8080/exports: { headers: { X-Api-Key: "key ${PW}" } }',
      ].join('\n'),
      { PW: 'hunter2' },
    );
    expect(config.sources.credentials.map((login) => ({ ...login }))).toMatchObject([
      { origin: 'https://data.example.org', path: '/', headers: { authorization: 'Basic YW5uOmh1bnRlcjI=' } },
      { origin: 'http://intern:8080', path: '/exports', headers: { 'x-api-key': 'key hunter2' } },
    ]);
    for (const shown of [JSON.stringify(config), inspect(config, { depth: 9 })])
      expect(shown).not.toMatch(/hunter2|YW5uOmh1bnRlcjI=/);
  });

  it.each([
    ['a.org: { bearer: hunter2 }', /bearer: must be a reference/],
    ['a.org: { headers: { X-Key: hunter2 } }', /headers\.X-Key: must hold a reference/],
    ['a.org: { headers: { Host: "${PW}" } }', /headers\.Host: is a header that sluice sets itself/],
    ['a.org: { bearer: "${LINES}" }', /bearer: holds something that no header may hold/],
    ['a.org: { bearer: "${PW}", basic: { username: a, password: "${PW}" } }', /one `Authorization` at most/],
    ['a.org: {}', /needs `basic`, `bearer` or `headers`/],
    ['ftp://a.org: { bearer: "${PW}" }', /must be a host/],
    ['https://u:hunter2@a.org: { bearer: "${PW}" }', /must be a host/],
    ['a.org: { bearer: "${NOT_SET}" }', /NOT_SET is not set/],
  ])('of the login of a source, %s is a fault', async (login, fault) => {
    const env = { PW: 'hunter2', LINES: 'a\nb' };
    const problems = await problemsOf(load(`sources:\n  credentials:\n    ${login}\n`, env));
    expect(problems).toEqual([expect.stringMatching(fault)]);
  });

  it('what a reference stands for is not quoted when it is a wrong value', async () => {
    const problems = await problemsOf(load('log: { level: "${PW}" }', { PW: 'hunter2' }));
    expect(problems.join()).toContain('1:15 log.level: `${PW}` is not allowed');
    expect(problems.join()).not.toContain('hunter2');
  });

  it('a Redis address with a password in clear is refused', async () => {
    const problems = await problemsOf(load('redis: { url: "redis://:hunter2@queue:6379" }'));
    expect(problems).toEqual([expect.stringContaining('redis.url: a password must be a reference')]);
    expect(problems.join()).not.toContain('hunter2');
  });
});

describe('faults', () => {
  it('of every kind come at once, in the order of their lines', async () => {
    const text = [
      'portals:',
      '  city: { kind: remote, url: ftp://x, username: u, password: "${NONE}" }',
      '  Town: { kind: embedded }',
      '  twin: { kind: embedded, profile: dkan-8, prot: 1 }',
      'retry: { attempts: 0, backoff: 1 second }',
      'redis: { url: nowhere }',
      'logs: {}',
    ].join('\n');
    expect(await problemsOf(load(text))).toEqual([
      '2:30 portals.city.url: must be a full address that begins with http:// or https://',
      expect.stringMatching(/^2:62 portals\.city\.password: the environment variable NONE is not set/),
      expect.stringMatching(/^3:3 portals\.Town: must be 1 to 64 characters from/),
      '4:36 portals.twin.profile: `dkan-8` is not allowed; allowed: spec, dkan-7.18.16, dkan-7.18, dkan-7.14',
      '4:44 portals.twin.prot: unknown key; did you mean `port`?',
      '5:20 retry.attempts: must be at least 1',
      '5:32 retry.backoff: must be a duration such as `500ms`, `2s`, `15m`, `6h` or `7d`',
      '6:15 redis.url: must be an address such as `redis://host:6379`, `rediss://…` or `unix:///path/to/socket`',
      '7:1 logs: unknown key; did you mean `log`?',
    ]);
  });

  it.each([
    ['https://u:p@data.example.org', 'must not hold a user or password'],
    ['https://data.example.org/api/dataset', 'leave out `/api/dataset`'],
    ['https://data.example.org/?q=1', 'no `?` and no `#`'],
    ['data.example.org', 'must be a full address'],
  ])('the portal address %s is refused', async (url, fault) => {
    const text = `portals: { city: { kind: remote, url: "${url}", username: u, password: "\${PW}" } }`;
    expect(await problemsOf(load(text, { PW: 'x' }))).toEqual([expect.stringContaining(fault)]);
  });

  it('a remote portal needs an address, and a whole login or none', async () => {
    expect(await problemsOf(load('portals: { city: { kind: remote } }'))).toEqual([
      '1:12 portals.city.url: this key is required',
    ]);
    const url = 'url: https://data.example.org';
    const login = expect.stringMatching(/^1:18 portals.city: needs username and password, or a token/);
    for (const half of [', username: me', ', password: "${PW}"']) {
      const text = `portals: { city: { kind: remote, ${url}${half} } }`;
      expect(await problemsOf(load(text, { PW: 'x' }))).toEqual([login]);
    }
    const open = `portals: { city: { kind: remote, ${url} } }`;
    expect((await load(open, {})).portals.city).toMatchObject({ username: '', token: null });
    expect((await load(open, { SLUICE_USERNAME: 'me', SLUICE_PASSWORD: 'x' }, 'city')).portals.city).toMatchObject({
      username: 'me',
    });
  });
});

describe('--portal', () => {
  const login = { SLUICE_USERNAME: 'me', SLUICE_PASSWORD: 'hunter2' };

  it('an address needs no configuration; the login comes from the environment', async () => {
    const portal = 'https://data.example.org:8443/open/';
    const config = await loadConfig({ file: undefined, cwd: tempDir(), env: login, portal });
    expect(config.portal).toBe('data.example.org-8443-open');
    const chosen = config.portals['data.example.org-8443-open'];
    expect({ ...chosen }).toMatchObject({
      kind: 'remote',
      url: 'https://data.example.org:8443/open',
      username: 'me',
      password: 'hunter2',
    });
    expect(JSON.stringify(config)).not.toContain('hunter2');
  });

  it('an address without login says which variables to set', async () => {
    await expect(load('log: { level: info }', {}, 'https://data.example.org')).rejects.toMatchObject({
      code: 'usage',
      hint: expect.stringContaining('SLUICE_USERNAME and SLUICE_PASSWORD'),
    });
  });

  it('the address of a configured portal is that portal', async () => {
    const config = await load(`${city}    password: \${PW}\n`, { PW: 'x' }, 'https://data.example.org');
    expect(config.portal).toBe('city');
  });

  it('a name must be configured; the nearest one is suggested', async () => {
    await expect(load('log: { level: info }', {}, 'locl')).rejects.toThrow('did you mean `local`?');
    expect((await load('log: { level: info }', {}, 'local')).portal).toBe('local');
  });

  it('a named portal without a password takes the login of the environment', async () => {
    const config = await load('log: { level: info }', login, 'local');
    expect({ ...config.portals.local }).toMatchObject({ username: 'me', password: 'hunter2' });
    expect(inspect(config, { depth: 9 })).not.toContain('hunter2');
  });

  it('an address with a password is refused without repeating it', async () => {
    const refused = load('log: { level: info }', login, 'https://me:hunter2@data.example.org');
    await expect(refused).rejects.toThrow('must not hold a user or password');
    await expect(refused).rejects.not.toThrow('hunter2');
  });
});

describe('sources', () => {
  it('are fetched from public addresses only unless the configuration allows more', async () => {
    expect((await load('{}')).sources).toEqual({
      allow: [],
      credentials: [],
      maxBytes: 10e9,
      maxRedirects: 5,
      connectMs: 10_000,
      headersMs: 60_000,
      bodyMs: 60_000,
      requestsPerSecond: 10,
      proxy: 'none',
    });
    const allow = ['data.intern.example', 'localhost', '10.1.0.0/16', '127.0.0.1', 'fd00::/8', '::1'];
    expect((await load(JSON.stringify({ sources: { allow, requestsPerSecond: 0.5 } }))).sources.allow).toEqual(allow);
  });

  it.each(['10.0.0.0/33', '10.1.0', 'http://intern.example', 'intern.example:8080', '*.example', '', 'fd00::/129'])(
    'name hosts and networks, not %j',
    async (entry) => {
      await expect(load(JSON.stringify({ sources: { allow: [entry] } }))).rejects.toThrow(
        'must be a host name, an address or a network such as `10.1.0.0/16`',
      );
    },
  );
});
