// What answers may not do: run, leak, or let what was sent run.

import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, type Reply, sendRaw, startTestPortal, type TestPortal } from '../../support/portal.ts';

let portal: TestPortal;
let creator: Caller;
let nid: string;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
  nid = await creator.create({ type: 'resource', title: 'Target' });
  await creator.attach(nid, { name: 'target.csv', content: 'name,amount\nann,1\nbob,2\n' });
});

/** Nothing of the portal's inside: no folder, no statement, no line of source. */
const expectNoInside = ({ text, reason }: Reply): void => {
  for (const shown of [text, reason]) {
    expect(shown).not.toContain(portal.server.dataDir);
    expect(shown).not.toMatch(
      /node_modules|\.ts:\d|\bat [\w.]+ \(|SQLITE|ENOENT|errcode|SELECT .* FROM|no such (?:table|column)/,
    );
  }
};

describe('JSONP', () => {
  it.each([
    ['alert(1);f', 'alert1f('],
    ['</script><script>x', 'scriptscriptx('],
    ['a\u2028b\r\nc', 'abc('],
    ['f'.repeat(500), `${'f'.repeat(60)}(`],
  ])('the callback "%s" is cleaned', async (callback, start) => {
    const reply = await creator.send('GET', `/api/dataset/node/${nid}.jsonp?callback=${encodeURIComponent(callback)}`);
    expect(reply.text.startsWith(start)).toBe(true);
    expect(reply.text).not.toMatch(/[\u2028\u2029]/);
    expect(reply.headers['x-content-type-options']).toBe('nosniff');
  });
});

describe('What was sent', () => {
  const script = '<script>alert(1)</script>';

  it.each([
    ['GET', `/api/dataset/${encodeURIComponent(script)}`],
    ['GET', `/api/dataset/node/${encodeURIComponent(script)}`],
    ['GET', `/api/dataset/node?fields=${encodeURIComponent(script)}`],
    ['GET', `/api/dataset/node?parameters[${encodeURIComponent(script)}]=1`],
    ['GET', `/api/dataset/user/${encodeURIComponent(script)}`],
    ['GET', `/api/dataset/file/${encodeURIComponent(script)}`],
    ['GET', `/api/action/datastore/search.json?resource_id=${encodeURIComponent(script)}`],
    ['GET', `/${encodeURIComponent(script)}`],
    ['GET', `/sites/default/files/${encodeURIComponent(script)}`],
  ])('comes back escaped or not at all from %s %s', async (method, path) => {
    for (const accept of ['application/json', 'text/html', 'application/xml', 'text/plain']) {
      const reply = await creator.send(method, path, { headers: { accept } });
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.text).not.toContain('<script');
      expect(reply.reason).not.toContain('<');
    }
  });

  it('as a column of a search or a property of a datastore comes back escaped', async () => {
    const { uuid } = await creator.read(nid);
    const path = `/api/action/datastore/search.json?resource_id=${uuid}&filters[${encodeURIComponent(script)}]=1`;
    const configuration = { body: { configuration: { [script]: 1 } } };
    for (const reply of [
      await creator.send('GET', path),
      await creator.send('PUT', `/api/dataset/datastore/${nid}`, configuration),
    ]) {
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.text).toContain('&lt;script');
      expect(reply.text).not.toContain('<script');
    }
  });

  it('as content type, method or name comes back escaped or not at all', async () => {
    const type = { headers: { 'content-type': `text/${script}` }, body: 'x' };
    expect((await creator.send('POST', '/api/dataset/node', type)).text).not.toContain('<script');
    const login = { body: { username: script, password: 'x' } };
    expect((await portal.anonymous.send('POST', '/api/dataset/user/login', login)).text).not.toContain('<script');
    const node = { body: { type: script, title: 'x' } };
    expect((await creator.send('POST', '/api/dataset/node', node)).text).not.toContain('<script');
  });

  it('cannot add a header or end the reason phrase', async () => {
    const reply = await creator.send('GET', `/api/dataset/node/1%0d%0aset-cookie:%20evil=1`);
    expect([reply.status, reply.headers['set-cookie']]).toEqual([404, undefined]);
    const callback = await creator.send('GET', `/api/dataset/node/${nid}.jsonp?callback=a%0d%0ax-evil:%201`);
    expect(callback.headers['x-evil']).toBeUndefined();
  });

  it('as HTML in a formatted text is sanitised where it is shown', async () => {
    const value = [
      'fine **text** <em>kept</em>',
      script,
      '<img src=x onerror=alert(1)>',
      '<a href="javascript:alert(1)">x</a>',
      '<a href="data:text/html,<script>alert(1)</script>">y</a>',
      '<svg/onload=alert(1)>',
      '<iframe src="//evil.example"></iframe>',
      '<p style="background:url(javascript:alert(1))" onclick="alert(1)">z</p>',
      '[md](javascript:alert(1))',
      '<scr<script>ipt>alert(1)</scr</script>ipt>',
      '<math><mtext></p><style><img src=x onerror=alert(1)></style>',
    ].join('\n\n');
    const made = await creator.create({ type: 'dataset', title: 'x', body: { und: [{ value, format: 'html' }] } });
    const { body } = (await creator.read(made)) as { body: { und: { safe_value: string }[] } };
    const safe = body.und[0]?.safe_value ?? '';
    expect(safe).toContain('<em>kept</em>');
    const tags = safe.match(/<[^>]*>/g) ?? [];
    expect(
      tags.filter((tag) =>
        /<\s*\/?(?:script|svg|iframe|style|math)|\son\w+\s*=|javascript:|data:|style\s*=/i.test(tag),
      ),
    ).toEqual([]);
  });
});

describe('A fault of the portal', () => {
  it('whose file is gone from the disk is 404 without its path, and the portal serves on', async () => {
    const own = await creator.create({ type: 'resource', title: 'Lost' });
    const folder = join(portal.server.dataDir, 'files');
    const before = new Set(readdirSync(folder));
    const attached = await creator.attach(own, { name: 'lost.csv', content: 'a\n1\n' });
    for (const name of readdirSync(folder)) if (!before.has(name)) rmSync(join(folder, name));
    for (const path of [`/api/dataset/file/${attached.json().fid}?file_contents=1`, '/sites/default/files/lost.csv']) {
      const reply = await creator.send('GET', path);
      expect(reply.status).toBe(404);
      expectNoInside(reply);
    }
    expect((await creator.send('GET', '/healthz')).status).toBe(200);
  });

  it('whose table file is gone or spoilt tells nothing of its inside', async () => {
    const own = await creator.create({ type: 'resource', title: 'Spoilt' });
    const folder = join(portal.server.dataDir, 'tables');
    const before = new Set(readdirSync(folder));
    await creator.attach(own, { name: 'spoilt.csv', content: 'a\n1\n' });
    for (const name of readdirSync(folder)) if (!before.has(name)) rmSync(join(folder, name));
    const { uuid } = await creator.read(own);
    const reply = await creator.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&sort=a`);
    expect(reply.status).toBe(500);
    expectNoInside(reply);
  });

  it('in the database tells nothing of its inside', async () => {
    const broken = await startTestPortal();
    const db = new DatabaseSync(join(broken.server.dataDir, 'portal.db'));
    db.exec('DROP TABLE term; DROP TABLE reference');
    db.close();
    const body = { type: 'dataset', title: 'x', field_tags: { und: [{ tid: '1' }] } };
    const own = await broken.as('creator');
    const reply = await own.send('POST', '/api/dataset/node', { body });
    expect(reply.status).toBe(500);
    expectNoInside(reply);
  });
});

describe('SQL', () => {
  const quotes = ["'", '"', '`', "' OR '1'='1", '1; DROP TABLE node', "x' UNION SELECT pass, name --", '1)) --', '%00'];

  it.each(quotes)('as value, column, order or operator of a list stays text: %s', async (text) => {
    const t = encodeURIComponent(text);
    for (const query of [
      `parameters[title]=${t}`,
      `parameters[nid]=${t}`,
      `parameters[${t}]=1`,
      `fields=nid,${t}`,
      `options[orderby][${t}]=asc`,
      `options[orderby][nid]=${t}`,
      `options[parameters_op][nid]=${t}&parameters[nid]=1`,
      `page=${t}`,
      `pagesize=${t}`,
    ]) {
      const reply = await creator.send('GET', `/api/dataset/node?${query}`);
      expect([200, 406]).toContain(reply.status);
      expectNoInside(reply);
      expect(reply.text).not.toContain('scrypt:');
    }
  });

  it.each(quotes)('in a datastore search stays text: %s', async (text) => {
    const t = encodeURIComponent(text);
    const { uuid } = await creator.read(nid);
    for (const query of [
      `filters[name]=${t}`,
      `filters[${t}]=ann`,
      `q=${t}`,
      `sort=${t}`,
      `sort[${t}]=desc`,
      `fields=${t}`,
      `limit=${t}`,
      `offset=${t}`,
    ]) {
      const reply = await creator.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&${query}`);
      expect([200, 400]).toContain(reply.status);
      expectNoInside(reply);
    }
    const all = await creator.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
    expect(all.json()).toMatchObject({ result: { total: 2 } });
  });

  it('as header of a table makes harmless columns', async () => {
    const own = await creator.create({ type: 'resource', title: 'Columns' });
    await creator.attach(own, { name: 'columns.csv', content: '"a"" TEXT); DROP TABLE data; --",b\n1,2\n' });
    const { uuid } = await creator.read(own);
    const reply = await creator.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
    expect(reply.json()).toMatchObject({ result: { total: 1 } });
  });
});

describe('An answer to somebody who is logged in', () => {
  it('is kept by no cache; that to a login neither', async () => {
    const portal = await startTestPortal();
    const creator = await portal.as('creator');
    const reply = await sendRaw(portal.url, 'POST', '/api/dataset/user/login', {
      body: { username: 'creator', password: 'pass' },
    });
    expect(reply.headers['cache-control']).toBe('private, no-store');
    for (const path of ['/api/dataset/node', '/api/dataset/node/1', '/', '/data.json', '/sites/default/files/x.csv']) {
      const { headers } = await creator.send('GET', path);
      expect([path, headers['cache-control']]).toEqual([path, 'private, no-store']);
    }
    expect((await portal.anonymous.send('GET', '/')).headers['cache-control']).not.toContain('no-store');
  });
});

describe('A Host', () => {
  it.each(['evil.example', '203.0.113.9:80', 'localhost.evil.example'])('such as %s is not repeated', async (host) => {
    const portal = await startTestPortal();
    const admin = await portal.as('admin');
    await admin.create({ type: 'dataset', title: 'x', status: 1 });
    for (const path of ['/', '/api/dataset/node', '/data.json', '/api/dataset/node/', '/?q=x']) {
      const { text, headers } = await sendRaw(portal.url, 'GET', path, { headers: { host } });
      expect(`${text}${headers.location}`).not.toContain(host);
    }
  });

  it('of this machine is, so that addresses work through a forwarded port', async () => {
    const portal = await startTestPortal();
    await (await portal.as('admin')).create({ type: 'dataset', title: 'x', status: 1 });
    const { text } = await sendRaw(portal.url, 'GET', '/api/dataset/node', { headers: { host: 'localhost:8123' } });
    expect(text).toContain('http://localhost:8123/api/dataset/node/');
  });
});
