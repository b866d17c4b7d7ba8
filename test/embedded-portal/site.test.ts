// What the operator of a deployed site does beside the service, as its clients meet it.
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openSwitchboard } from '../../src/embedded-portal/faults/switchboard.ts';
import type { ProfileName } from '../../src/embedded-portal/portal.ts';
import { type Caller, type Reply, sendRaw, startTestPortal } from '../support/portal.ts';

const profiles = ['dkan-7.18.16', 'dkan-7.18', 'dkan-7.14'] as const;

/** Status line and body; the head of a page for an HTML body. */
const shown = ({ status, reason, text }: Reply) => [status, reason, /<title>[^|<]*/.exec(text)?.[0] ?? text];

const deleted = /^SESS[0-9a-f]{32}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=\/; HttpOnly$/;

const setCookie = ({ headers }: Reply): string => String(headers['set-cookie']);

const unavailable = [503, 'Service unavailable', '<title>Site under maintenance '];

describe.each(profiles)('maintenance mode of %s', (profile) => {
  it('answers everybody without a session with a page, at every path but those of files', async () => {
    const portal = await startTestPortal({ profile, races: false });
    const creator = await portal.as('creator');
    const nid = await creator.create({ type: 'resource', title: 'Table', uid: '3' });
    await creator.attach(nid, { name: 'a.csv', content: 'a\n1\n' });
    portal.server.site.maintenance = true;
    const login = { body: { username: 'admin', password: 'pass' } };
    for (const [method, path, sent] of [
      ['GET', `/api/dataset/node/${nid}`, {}],
      ['POST', '/api/dataset/user/login', login],
      ['POST', '/services/session/token', {}],
      ['GET', '/data.json', {}],
      ['DELETE', '/nowhere', {}],
    ] as const) {
      const reply = await portal.anonymous.send(method, path, sent);
      expect(shown(reply)).toEqual(unavailable);
      expect(reply.headers['retry-after']).toBeUndefined();
      expect(reply.headers['content-type']).toBe('text/html; charset=utf-8');
    }
    expect((await portal.anonymous.send('GET', '/sites/default/files/a.csv')).text).toBe('a\n1\n');
  });

  it('ends the session of a creator at its first request, which is not carried out', async () => {
    const portal = await startTestPortal({ profile, races: false });
    const [creator, manager] = [await portal.as('creator'), await portal.as('manager')];
    const nid = await creator.create({ type: 'dataset', title: 'City', uid: '3' });
    portal.server.site.maintenance = true;
    const first = await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'Town' } });
    expect([...shown(first), first.headers.location]).toEqual([302, 'Found', '', `${portal.url}/`]);
    expect(setCookie(first)).toMatch(deleted);
    expect(shown(await creator.send('GET', `/api/dataset/node/${nid}`))).toEqual(unavailable);
    expect((await manager.read(nid)).title).toBe('City');
    expect((await manager.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'Hall' } })).status).toBe(200);
    portal.server.site.maintenance = false;
    const after = await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'Town' } });
    expect(shown(after).slice(0, 2)).toEqual([403, ': Access denied for user anonymous']);
    expect((await (await portal.as('creator')).read(nid)).title).toBe('Hall');
  });
});

describe.each(profiles)('a session that ended on %s', (profile) => {
  it('is anonymous: reads what is published, changes nothing, and is told that its cookie is deleted', async () => {
    const portal = await startTestPortal({ profile, races: false });
    const creator = await portal.as('creator');
    const nid = await creator.create({ type: 'resource', title: 'Table', uid: '3' });
    const draft = await (await portal.as('admin')).create({ type: 'group', title: 'Draft', status: null });
    await portal.server.endSessions();
    const denied = [403, ': Access denied for user anonymous', '["Access denied for user anonymous"]'];
    const body = { type: 'resource', title: 'Other' };
    const check = async (answer: Promise<Reply>, wanted: unknown[]) => {
      const reply = await answer;
      expect(shown(reply)).toEqual(wanted);
      expect(setCookie(reply)).toMatch(deleted);
    };
    for (const path of [`/api/dataset/node/${nid}`, '/api/dataset/node', '/services/session/token']) {
      const reply = await creator.send('GET', path);
      expect([reply.status, setCookie(reply)]).toEqual([200, expect.stringMatching(deleted)]);
    }
    await check(creator.send('GET', `/api/dataset/node/${draft}`), denied);
    await check(creator.send('POST', '/api/dataset/node', { body }), denied);
    await check(creator.send('PUT', `/api/dataset/node/${nid}`, { body }), denied);
    await check(creator.send('DELETE', `/api/dataset/node/${nid}`), denied);
    await check(creator.attach(nid, { name: 'a.csv', content: 'a\n1\n' }), denied);
    if (profile !== 'dkan-7.14') {
      await check(creator.send('GET', `/api/dataset/datastore/${nid}`), denied);
      await check(creator.send('POST', `/api/dataset/datastore/${nid}/import`), denied);
      await check(creator.send('DELETE', `/api/dataset/datastore/${nid}`), denied);
    }
    const words = 'User is not logged in.';
    await check(creator.send('POST', '/api/dataset/user/logout'), [406, `Not Acceptable : ${words}`, `["${words}"]`]);
    expect(await (await portal.as('creator')).read(nid)).toMatchObject({ title: 'Table', field_upload: [] });
  });
});

describe.each(profiles)('the upload limits of %s', (profile) => {
  it('refuse what is above them, and the old file stays', async () => {
    const portal = await startTestPortal({ profile, races: false });
    const creator = await portal.as('creator');
    const nid = await creator.create({ type: 'resource', title: 'Table', uid: '3' });
    await creator.attach(nid, { name: 'old.csv', content: 'a\n1\n' });
    Object.assign(portal.server.site, { uploadMaxFilesize: 1000, postMaxSize: 2000 });
    const attach = async (bytes: number) =>
      shown(await creator.attach(nid, { name: 'new.csv', content: 'x'.repeat(bytes) }));
    expect(await attach(2000)).toEqual([
      401,
      'Unauthorized : Missing required argument field_name',
      '["Missing required argument field_name"]',
    ]);
    const refused = 'Failed to upload file. 1';
    expect(await attach(1001)).toEqual([406, `Not Acceptable : ${refused}`, `["${refused}"]`]);
    expect((await creator.send('GET', '/sites/default/files/old.csv')).text).toBe('a\n1\n');
    expect((await attach(1000))[0]).toBe(200);
    const body = { title: 'Larger', ignored: 'x'.repeat(3000) };
    expect((await creator.send('PUT', `/api/dataset/node/${nid}`, { body })).status).toBe(
      profile === 'dkan-7.14' ? 500 : 200,
    );
  });
});

/** The reply to one request as it comes over the connection, up to its end. */
const overConnection = (url: string, head: string, body = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${head}\r\nhost: x\r\naccept: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.once('error', reject).once('end', () => resolve(text));
  });

describe('a site that closes connections', () => {
  it('ends each with its reply, which tells its length only where it is a file, also behind a switchboard', async () => {
    const portal = await startTestPortal({ profile: 'dkan-7.18', site: { closesConnections: true } });
    const switchboard = await openSwitchboard({ target: portal.url, server: portal.server, plan: null });
    const admin = await portal.as('admin');
    const nid = await admin.create({ type: 'resource', title: 'Table' });
    await admin.attach(nid, { name: 'a.csv', content: 'a\n1\n' });
    for (const url of [portal.url, switchboard.url]) {
      const [head = '', body = ''] = (await overConnection(url, 'GET /api/dataset/node/9 HTTP/1.1')).split('\r\n\r\n');
      expect(head).toMatch(/^connection: close$/im);
      expect(head).not.toMatch(/^(?:content-length|transfer-encoding|keep-alive):/im);
      expect(body).toBe('["Node 9 could not be found"]');
      const file = await overConnection(url, 'GET /sites/default/files/a.csv HTTP/1.1');
      expect(file).toMatch(/\r\ncontent-length: 4\r\n(?:.*\r\n)*\r\na\n1\n$/i);
    }
    await switchboard.close();
  });

  it('lets a client that still sends get the answer', async () => {
    const portal = await startTestPortal({ site: { closesConnections: true } });
    const reply = await overConnection(portal.url, 'POST /api/dataset/nothing HTTP/1.1', 'x'.repeat(20_000_000));
    expect(reply).toMatch(/^HTTP\/1\.1 404 /);
  });
});

describe('the pages of a catalogue', () => {
  const fill = async (profile: ProfileName, count: number) => {
    const portal = await startTestPortal({ profile, races: false });
    const admin = await portal.as('admin');
    for (let at = 0; at < count; at += 1) await admin.create({ type: 'dataset', title: `D${at}`, uid: '1' });
    const read = async (path: string) => {
      const reply = await portal.anonymous.send('GET', path);
      if (reply.status === 302) return String(reply.headers.location).replace(portal.url, '');
      const { dataset, result } = reply.json<{ dataset?: { title: string }[]; result?: { title: string }[][] }>();
      return (dataset ?? result?.[0] ?? []).map(({ title }) => title);
    };
    return { portal, read };
  };

  it('of 7.18.16 are as long as the site says, and the last one stands for those beyond it', async () => {
    const { portal, read } = await fill('dkan-7.18.16', 5);
    const all = ['D0', 'D1', 'D2', 'D3', 'D4'];
    const list = '/api/3/action/current_package_list_with_resources';
    expect(await read('/data.json')).toBe('/data.json?page=0');
    expect(await read('/data.json?page=7')).toEqual(all);
    portal.server.site.datasetsPerPage = 2;
    for (const path of ['/data.json', list]) {
      expect(await read(`${path}?page=0`)).toEqual(['D0', 'D1']);
      expect(await read(`${path}?page=2`)).toEqual(['D4']);
      expect(await read(`${path}?a=b&page=3`)).toBe(`${path}?a=b&page=2`);
    }
    const names = await portal.anonymous.send('GET', '/api/3/action/package_list?page=1');
    expect(names.json<{ result: string[] }>().result).toHaveLength(5);
    portal.server.site.datasetsPerPage = 5;
    expect(await read('/data.json?page=1')).toEqual([]);
    expect(await read('/data.json?page=2')).toBe('/data.json?page=1');
  });

  it('of 7.18 are one', async () => {
    const { portal, read } = await fill('dkan-7.18', 3);
    portal.server.site.datasetsPerPage = 2;
    for (const query of ['', '?page=1']) expect(await read(`/data.json${query}`)).toEqual(['D0', 'D1', 'D2']);
  });
});

describe('the page cache', () => {
  const paths = [
    '/api/dataset/node',
    '/data.json?page=0',
    '/ctools/autocomplete/taxonomy_term/city',
    '/api/action/datastore/search.json?resource_id=x',
  ];

  it.each(profiles)('of %s keeps what visitors see, whatever is written, until cron runs', async (profile) => {
    const portal = await startTestPortal({ profile, races: false, site: { pageCacheMaximumAge: 300_000 } });
    const read = async (caller: Caller, path: string) => {
      const { headers, text } = await caller.send('GET', path);
      return [headers['x-drupal-cache'], headers['cache-control'], text];
    };
    const admin = await portal.as('admin');
    const list = '/api/dataset/node';
    const [miss, control, before] = await read(portal.anonymous, list);
    expect([miss, control, before]).toEqual(['MISS', 'public, max-age=300', '[]']);
    await admin.create({ type: 'dataset', title: 'City', uid: '1' });
    expect(await read(portal.anonymous, list)).toEqual(['HIT', control, before]);
    const [none, uncached, now] = await read(admin, list);
    expect([none, uncached]).toEqual([undefined, 'no-cache, must-revalidate']);
    expect(now).toContain('City');
    await portal.server.runCron();
    expect(await read(portal.anonymous, list)).toEqual(['MISS', control, now]);
  });

  it('holds for every kind of address, not for posts, and ends with its age', async () => {
    const portal = await startTestPortal({ profile: 'dkan-7.18', site: { pageCacheMaximumAge: 300_000 } });
    const hits = async (method: string) => {
      const seen = [];
      for (const path of paths) seen.push((await portal.anonymous.send(method, path)).headers['x-drupal-cache']);
      return seen;
    };
    expect(await hits('GET')).toEqual(paths.map(() => 'MISS'));
    expect(await hits('GET')).toEqual(paths.map(() => 'HIT'));
    expect(await hits('POST')).toEqual(paths.map(() => undefined));
    portal.server.site.pageCacheMaximumAge = 1;
    await expect.poll(async () => (await hits('GET')).includes('MISS')).toBe(true);
  });
});

describe.each(['dkan-7.18.16', 'dkan-7.18'] as const)('the groups of many resources on %s', (profile) => {
  it.each([20, 21])('%i: more than twenty get them by cron only', async (count) => {
    const portal = await startTestPortal({ profile, races: false });
    const admin = await portal.as('admin');
    const group = await admin.create({ type: 'group', title: 'Harbour', uid: '1' });
    const nids: string[] = [];
    for (let at = 0; at < count; at += 1)
      nids.push(await admin.create({ type: 'resource', title: `R${at}`, uid: '1' }));
    const field_resources = { und: nids.map((target_id) => ({ target_id })) };
    const dataset = await admin.create({ type: 'dataset', title: 'City', uid: '1', field_resources });
    const og_group_ref = { und: [{ target_id: group }] };
    const reply = await admin.send('PUT', `/api/dataset/node/${dataset}`, { body: { og_group_ref } });
    expect(reply.status).toBe(200);
    const grouped = async () =>
      (await Promise.all(nids.map((nid) => admin.read(nid)))).filter((node) => !Array.isArray(node.og_group_ref))
        .length;
    expect(await grouped()).toBe(count > 20 ? 0 : count);
    await portal.server.runCron();
    expect(await grouped()).toBe(count);
    // One that is created below the dataset does not wait.
    const field_dataset_ref = { und: [{ target_id: dataset }] };
    const late = await admin.create({ type: 'resource', title: 'Late', uid: '1', field_dataset_ref });
    expect((await admin.read(late)).og_group_ref).toEqual(og_group_ref);
  });
});

describe('a switchboard before a site', () => {
  const behind = async (rules: Parameters<typeof openSwitchboard>[0]['plan']) => {
    const portal = await startTestPortal({ profile: 'dkan-7.18', races: false });
    const switchboard = await openSwitchboard({ target: portal.url, server: portal.server, plan: rules });
    const creator = await portal.as('creator');
    // The name of the cookie is that of the address: the session is of the other one.
    const host = new URL(portal.url).host;
    const send = (method: string, path: string): Promise<Reply> =>
      sendRaw(switchboard.url, method, path, {
        headers: { host, cookie: creator.cookie, 'x-csrf-token': creator.token },
      });
    return { portal, switchboard, send };
  };

  it('ends all sessions before every n-th request that matches', async () => {
    const { switchboard, send } = await behind({
      seed: 1,
      rules: [{ route: '* /api/**', every: 3, fault: 'end-sessions' }],
    });
    const dead = [];
    for (let at = 0; at < 4; at += 1) dead.push(setCookie(await send('GET', '/api/dataset/node')) !== 'undefined');
    expect([dead, switchboard.counts()]).toEqual([[false, false, true, true], { 'end-sessions': 1 }]);
    await switchboard.close();
  });

  it('ends them once the time has passed, and lets maintenance last as long as it says', async () => {
    const { portal, switchboard, send } = await behind({
      seed: 1,
      rules: [
        { route: 'GET /api/**', every: '1ms', times: 1, fault: 'end-sessions' },
        { route: 'POST /services/**', times: 1, fault: 'maintenance', lasts: '2s' },
      ],
    });
    await expect.poll(async () => setCookie(await send('GET', '/api/dataset/node'))).toMatch(deleted);
    expect(shown(await send('POST', '/services/session/token'))).toEqual(unavailable);
    await expect.poll(() => portal.server.site.maintenance, { timeout: 60_000 }).toBe(false);
    expect((await send('POST', '/services/session/token')).status).toBe(200);
    await switchboard.close();
  });
});
